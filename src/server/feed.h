/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs in the body of a batch, one after the other, as they stand there: the items of a JSON
 * array, or lines. Whether one makes sense is seen when its turn comes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct feed {
	const char *text; /* borrowed */
	size_t len;
	size_t at;
	bool is_array, is_over;
	size_t line;  /* of the job that was given last, from 1; of an array 0 */
	size_t index; /* of the next one */
	size_t total;
};

/* Counts them. ERR_INVALID: it is an array that does not end, or more than that. */
int feed_open(struct feed *feed, const char *text, size_t len, struct err *err);

/* The next one; false: there is none. */
bool feed_next(struct feed *feed, const char **ret_job, size_t *ret_len);
