/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a shell reports through its pipe. Code that runs in the shell can write there too, so
 * anything may come: it is bounded, and what is none of the two words is passed over.
 *
 *     s                     the line was read and the code begins: from here on it can be
 * interrupted eTURN STATUS FLAGS    the shell is back at its prompt
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REPORT_LINE_MAX = 4096, REPORT_FLAGS_MAX = 64 };

enum report_kind {
	REPORT_NONE = 0, /* nothing yet, or nonsense */
	REPORT_BEGUN,
	REPORT_ENDED,
};

struct report_end {
	int64_t turn;
	int status; /* 0 to 255 */
	char flags[REPORT_FLAGS_MAX];
};

/* What was said and is not a whole line yet. A line that is too long is none. */
struct report_reader {
	size_t len;
	bool is_over;
	char line[REPORT_LINE_MAX];
};

/* Takes one byte; *ret_end is filled with REPORT_ENDED. */
enum report_kind report_take(struct report_reader *reader, char byte, struct report_end *ret_end);
