/* SPDX-License-Identifier: Apache-2.0 */
#include "server/queue.h"

#include "base/own.h"

/* Those of one client who wait. It exists while there are any. */
struct lane {
	uint64_t client;
	struct waiter *first, *last;
	struct lane *next, *prev; /* the ring */
};

static struct lane *find_lane(const struct queue *queue, uint64_t client)
{
	struct lane *lane = queue->turn;
	for (size_t i = 0; i < queue->lane_count; i++, lane = lane->next)
		if (lane->client == client)
			return lane;
	return NULL;
}

/* Before the one whose turn it is: that is the end of the ring. */
static struct lane *add_lane(struct queue *queue, uint64_t client)
{
	struct lane *lane = xcalloc(1, sizeof(*lane));
	lane->client = client;
	if (!queue->turn) {
		lane->next = lane->prev = lane;
		queue->turn = lane;
	} else {
		lane->next = queue->turn;
		lane->prev = queue->turn->prev;
		lane->prev->next = lane;
		lane->next->prev = lane;
	}
	queue->lane_count++;
	return lane;
}

static void drop_lane(struct queue *queue, struct lane *lane)
{
	queue->lane_count--;
	if (queue->turn == lane)
		queue->turn = queue->lane_count > 0 ? lane->next : NULL;
	lane->next->prev = lane->prev;
	lane->prev->next = lane->next;
	free(lane);
}

bool queue_push(struct queue *queue, struct waiter *waiter, uint64_t client, size_t bound)
{
	if (queue->count >= bound)
		return false;
	struct lane *lane = find_lane(queue, client);
	if (!lane)
		lane = add_lane(queue, client);
	*waiter = (struct waiter){ .lane = lane, .prev = lane->last };
	if (lane->last)
		lane->last->next = waiter;
	else
		lane->first = waiter;
	lane->last = waiter;
	queue->count++;
	return true;
}

struct waiter *queue_peek(const struct queue *queue)
{
	return queue->turn ? queue->turn->first : NULL;
}

struct waiter *queue_pop(struct queue *queue)
{
	struct waiter *waiter = queue_peek(queue);
	if (!waiter)
		return NULL;
	queue->turn = queue->turn->next;
	queue_remove(queue, waiter);
	return waiter;
}

void queue_remove(struct queue *queue, struct waiter *waiter)
{
	struct lane *lane = waiter->lane;
	if (!lane)
		return;
	if (waiter->prev)
		waiter->prev->next = waiter->next;
	else
		lane->first = waiter->next;
	if (waiter->next)
		waiter->next->prev = waiter->prev;
	else
		lane->last = waiter->prev;
	*waiter = (struct waiter){ 0 };
	queue->count--;
	if (!lane->first)
		drop_lane(queue, lane);
}

void queue_visit(const struct queue *queue,
	void (*visit)(void *context, struct waiter *waiter, size_t before), void *context)
{
	/* who comes next of each client that still has one, in the order of the ring */
	auto_free struct waiter **fronts = xcalloc(queue->lane_count + 1, sizeof(void *));
	size_t front_count = queue->lane_count;
	size_t before = 0;
	const struct lane *lane = queue->turn;
	for (size_t i = 0; i < front_count; i++, lane = lane->next)
		fronts[i] = lane->first;
	while (front_count > 0) {
		size_t kept = 0;
		for (size_t i = 0; i < front_count; i++) {
			visit(context, fronts[i], before++);
			if (fronts[i]->next)
				fronts[kept++] = fronts[i]->next;
		}
		front_count = kept;
	}
}
