/* SPDX-License-Identifier: Apache-2.0 */
/* A run as JSON lines, one event each, while it runs: what --stream prints and a worker says. */
#pragma once

#include "keeper/keeper.h"
#include "model/result.h"
#include "wire/utf8.h"

struct events {
	const char *id; /* of the run; borrowed */
	int fd;         /* where the lines go; borrowed */
	int interrupt_fd;
	int64_t seq;
	struct utf8_stream streams[STREAM_COUNT];
	bool has_begun;
	int64_t queued_us; /* since when; 0: it was not */
};

/* Has the run's outlet write events. Starts from the id, fd and interrupt_fd that are set. */
void events_follow(struct events *events, struct outlet *outlet);

/* The last ones: what a stream held back, hoping for the rest of a character, and `result` as JSON
 * text. 0, or -errno when the result did not reach its reader. */
int events_finish(struct events *events, const char *result);
