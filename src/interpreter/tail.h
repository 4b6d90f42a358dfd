/* SPDX-License-Identifier: Apache-2.0 */
/* How a program ends, as far as its last lines tell. */
#pragma once

#include <stddef.h>

enum tail {
	TAIL_UNCLEAR,   /* somebody has to look closer */
	TAIL_STATEMENT, /* not with a constant, nor with a call that fills its last line */
	TAIL_CALL,      /* with such a call: `print(x)`, `df.head(3)` */
};

enum tail tail_read(const char *source, size_t size);
