/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of a file a client wants. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct range {
	uint64_t from, len;
	bool is_part; /* it was asked for, and is told as one */
};

/* Reads a Range header; NULL, more than one range, and what is none mean the whole. False: there is
 * nothing of it in the file. */
bool range_read(const char *header, uint64_t size, struct range *ret_range);
