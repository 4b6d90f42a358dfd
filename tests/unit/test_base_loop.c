/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/loop.h"

struct listener {
	struct watch watch;
	int count;
	uint32_t events;
	struct listener *victim; /* is removed when this one wakes */
};

static struct loop loop;

static void wake(void *context, uint32_t events)
{
	struct listener *listener = context;
	listener->count++;
	listener->events = events;
	if (listener->victim)
		loop_remove(&loop, &listener->victim->watch);
}

static void open_pair(struct listener *listener, int *ret_other)
{
	int ends[2];
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	*listener = (struct listener){ .watch = { ends[0], wake, listener } };
	*ret_other = ends[1];
}

TEST(whoever_something_happened_to_is_woken)
{
	struct listener quiet, loud;
	int quiet_other, loud_other;
	ASSERT_EQ(loop_init(&loop), 0);
	open_pair(&quiet, &quiet_other);
	open_pair(&loud, &loud_other);
	ASSERT_EQ(loop_add(&loop, &quiet.watch, EPOLLIN), 0);
	ASSERT_EQ(loop_add(&loop, &loud.watch, EPOLLIN), 0);
	ASSERT_EQ(send(loud_other, "x", 1, 0), 1);
	ASSERT_EQ(loop_turn(&loop, -1), 0);
	ASSERT_EQ(loud.count, 1);
	ASSERT_EQ(loud.events, EPOLLIN);
	ASSERT_EQ(quiet.count, 0);
	/* what was not read is told again, unless it is not wanted any more */
	ASSERT_EQ(loop_turn(&loop, 0), 0);
	ASSERT_EQ(loud.count, 2);
	ASSERT_EQ(loop_change(&loop, &loud.watch, EPOLLRDHUP), 0);
	ASSERT_EQ(loop_turn(&loop, 0), 0);
	ASSERT_EQ(loud.count, 2);
	(void)close(loud_other);
	ASSERT_EQ(loop_turn(&loop, 0), 0);
	ASSERT(loud.events & EPOLLRDHUP);
	loop_done(&loop);
}

TEST(a_turn_in_which_nothing_happens_ends_in_time)
{
	ASSERT_EQ(loop_init(&loop), 0);
	int64_t started_us = clock_us();
	ASSERT_EQ(loop_turn(&loop, 20), 0);
	ASSERT(clock_us() - started_us >= 20000);
	loop_done(&loop);
}

TEST(one_that_was_removed_hears_nothing_not_even_of_the_past)
{
	struct listener one, two;
	int one_other, two_other;
	ASSERT_EQ(loop_init(&loop), 0);
	open_pair(&one, &one_other);
	open_pair(&two, &two_other);
	one.victim = &two;
	two.victim = &one;
	ASSERT_EQ(loop_add(&loop, &one.watch, EPOLLIN), 0);
	ASSERT_EQ(loop_add(&loop, &two.watch, EPOLLIN), 0);
	ASSERT_EQ(send(one_other, "x", 1, 0), 1);
	ASSERT_EQ(send(two_other, "x", 1, 0), 1);
	ASSERT_EQ(loop_turn(&loop, 0), 0);
	ASSERT_EQ(one.count + two.count, 1);
	loop_done(&loop);
}

TEST(a_copy_of_the_descriptor_does_not_keep_it_watched)
{
	struct listener listener;
	int other;
	ASSERT_EQ(loop_init(&loop), 0);
	open_pair(&listener, &other);
	int fd = listener.watch.fd;
	int copy = dup(fd);
	ASSERT_EQ(loop_add(&loop, &listener.watch, EPOLLIN), 0);
	loop_remove(&loop, &listener.watch);
	ASSERT_EQ(listener.watch.fd, -1);
	(void)close(fd);
	ASSERT_EQ(send(other, "x", 1, 0), 1);
	ASSERT_EQ(loop_turn(&loop, 0), 0);
	ASSERT_EQ(listener.count, 0);
	loop_remove(&loop, &listener.watch); /* once more is fine */
	(void)close(copy);
	loop_done(&loop);
}

TEST(what_cannot_be_watched_is_told)
{
	struct listener listener = { .watch = { 999, wake, &listener } };
	ASSERT_EQ(loop_init(&loop), 0);
	ASSERT_EQ(loop_add(&loop, &listener.watch, EPOLLIN), -EBADF);
	loop_done(&loop);
}
