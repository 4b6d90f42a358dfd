/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "server/queue.h"

enum { MANY = 64, BOUND = 40, STEPS = 20000 };

struct person {
	struct waiter waiter; /* first, so that a waiter is its person */
	uint64_t client;
	int number;    /* in the order of coming */
	size_t pops;   /* since it came */
	size_t behind; /* how many of its own client were before it when it came */
};

static struct queue queue;

static struct person *person_of(struct waiter *waiter)
{
	return (struct person *)waiter;
}

static int pop(void)
{
	struct waiter *waiter = queue_pop(&queue);
	return waiter ? person_of(waiter)->number : -1;
}

static void push(struct person *person, uint64_t client, int number)
{
	*person = (struct person){ .client = client, .number = number };
	ASSERT(queue_push(&queue, &person->waiter, client, MANY));
}

static void note(void *context, struct waiter *waiter, size_t before)
{
	int *order = context;
	order[before] = person_of(waiter)->number;
}

TEST(one_client_is_served_in_the_order_of_coming)
{
	struct person people[4];
	for (int i = 0; i < 4; i++)
		push(&people[i], 7, i);
	for (int i = 0; i < 4; i++)
		ASSERT_EQ(pop(), i);
	ASSERT_EQ(pop(), -1);
	ASSERT_EQ(queue.count, 0);
}

TEST(clients_are_served_in_turn)
{
	struct person people[7];
	const uint64_t clients[] = { 1, 1, 1, 1, 2, 2, 3 };
	const int wanted[] = { 0, 4, 6, 1, 5, 2, 3 };
	for (int i = 0; i < 7; i++)
		push(&people[i], clients[i], i);
	for (int i = 0; i < 7; i++)
		ASSERT_EQ(pop(), wanted[i]);
}

TEST(who_was_served_and_comes_again_has_the_last_turn)
{
	struct person people[5];
	push(&people[0], 1, 0);
	push(&people[1], 1, 1);
	push(&people[2], 2, 2);
	ASSERT_EQ(pop(), 0);
	ASSERT_EQ(pop(), 2);
	push(&people[3], 2, 3);
	push(&people[4], 3, 4);
	ASSERT_EQ(pop(), 1);
	ASSERT_EQ(pop(), 3);
	ASSERT_EQ(pop(), 4);
}

TEST(a_full_queue_takes_nobody_and_is_unchanged)
{
	struct person people[3];
	push(&people[0], 1, 0);
	push(&people[1], 2, 1);
	people[2] = (struct person){ .number = 2 };
	ASSERT(!queue_push(&queue, &people[2].waiter, 3, 2));
	ASSERT(people[2].waiter.lane == NULL);
	ASSERT(!queue_push(&queue, &people[2].waiter, 3, 0));
	ASSERT_EQ(queue.count, 2);
	ASSERT_EQ(pop(), 0);
	ASSERT_EQ(pop(), 1);
}

TEST(who_leaves_is_not_served_wherever_he_stood)
{
	for (int leaver = 0; leaver < 5; leaver++) {
		struct person people[5];
		const uint64_t clients[] = { 1, 1, 1, 2, 3 };
		for (int i = 0; i < 5; i++)
			push(&people[i], clients[i], i);
		queue_remove(&queue, &people[leaver].waiter);
		queue_remove(&queue, &people[leaver].waiter);
		ASSERT_EQ(queue.count, 4);
		int served = 0;
		for (int number = pop(); number >= 0; number = pop()) {
			ASSERT(number != leaver);
			served++;
		}
		ASSERT_EQ(served, 4);
		ASSERT_EQ(queue.lane_count, 0);
	}
}

TEST(the_visited_order_is_the_order_of_service)
{
	struct person people[BOUND];
	int order[BOUND];
	srandom(3);
	for (int round = 0; round < 200; round++) {
		int count = (int)(random() % BOUND);
		for (int i = 0; i < count; i++)
			push(&people[i], (uint64_t)(random() % 9), i);
		queue_visit(&queue, note, order);
		for (int i = 0; i < count; i++)
			ASSERT_EQ(pop(), order[i]);
		ASSERT_EQ(pop(), -1);
	}
}

/* People come, leave and are served at random, from few clients and from many. Whoever waits is
 * served after as many turns as there can be clients, for each of his own who came before. */
static void try_at_random(unsigned seed, uint64_t client_count)
{
	static struct person people[MANY];
	int last_served[MANY];
	size_t lanes_max = client_count < BOUND ? client_count : BOUND;
	int number = 0;
	srandom(seed);
	for (size_t i = 0; i < MANY; i++) {
		people[i] = (struct person){ 0 };
		last_served[i] = -1;
	}
	for (int step = 0; step < STEPS; step++) {
		struct person *person = &people[random() % MANY];
		int what = (int)(random() % 8);
		if (what < 4 && !person->waiter.lane) {
			uint64_t client = (uint64_t)random() % client_count;
			*person = (struct person){ .client = client, .number = number++ };
			for (size_t i = 0; i < MANY; i++)
				person->behind +=
					people[i].waiter.lane && people[i].client == client;
			bool is_full = queue.count == BOUND;
			ASSERT(queue_push(&queue, &person->waiter, client, BOUND) == !is_full);
		} else if (what == 4) {
			queue_remove(&queue, &person->waiter);
		} else if (what > 4 && queue.count > 0) {
			struct person *served = person_of(queue_peek(&queue));
			ASSERT(queue_pop(&queue) == &served->waiter);
			ASSERT(served->number > last_served[served->client]);
			ASSERT(served->pops < (served->behind + 1) * lanes_max);
			last_served[served->client] = served->number;
			for (size_t i = 0; i < MANY; i++)
				people[i].pops += people[i].waiter.lane != NULL;
		}
		ASSERT(queue.count <= BOUND);
		ASSERT(queue.lane_count <= queue.count);
		ASSERT((queue.turn == NULL) == (queue.count == 0));
	}
	while (queue_pop(&queue))
		;
	ASSERT_EQ(queue.lane_count, 0);
}

TEST(nobody_starves_and_order_within_a_client_is_kept)
{
	for (unsigned seed = 1; seed <= 8; seed++) {
		try_at_random(seed, 1);
		try_at_random(seed, 3);
		try_at_random(seed, MANY);
	}
}

TEST(a_greedy_client_delays_the_first_of_another_by_one_place)
{
	struct person greedy[MANY - 1], modest;
	for (int i = 0; i < MANY - 1; i++)
		push(&greedy[i], 1, i);
	push(&modest, 2, MANY);
	ASSERT_EQ(pop(), 0);
	ASSERT_EQ(pop(), MANY);
	while (queue_pop(&queue))
		;
}
