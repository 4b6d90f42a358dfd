/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits, and who is next. Everybody belongs to a client; clients are served in turn, one of
 * theirs each time, and those of one client in the order in which they came. A client with a
 * thousand waiting so delays another's first by one place, not by a thousand.
 *
 * Pure: no clock, no descriptor. It owns nobody who waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded in whoever waits. */
struct waiter {
	struct lane *lane; /* NULL: does not wait */
	struct waiter *next, *prev;
};

struct queue {
	struct lane
		*turn; /* whose turn it is, in a ring of the clients who have somebody waiting */
	size_t lane_count;
	size_t count;
};

/* Puts it behind the others of its client; a client who had nobody waiting gets the last turn.
 * False: `bound` wait already. */
bool queue_push(struct queue *queue, struct waiter *waiter, uint64_t client, size_t bound);

/* The one who is served next; NULL: nobody waits. */
struct waiter *queue_peek(const struct queue *queue);

/* Takes that one out, and it is the next client's turn. */
struct waiter *queue_pop(struct queue *queue);

/* Takes out one who waits no longer. Fine when it does not wait. */
void queue_remove(struct queue *queue, struct waiter *waiter);

/* Everybody in the order in which they will be served if nobody comes or leaves; `before` counts
 * from 0. `visit` must not change the queue. */
void queue_visit(const struct queue *queue,
	void (*visit)(void *context, struct waiter *waiter, size_t before), void *context);
