/* SPDX-License-Identifier: Apache-2.0 */
/* One thread that waits for many descriptors. What belongs to a moment, not to a descriptor, is the
 * caller's: it says how long to wait. */
#pragma once

#include <stdint.h>
#include <sys/epoll.h>

struct watch {
	int fd; /* borrowed; -1: not watched */
	void (*wake)(void *context, uint32_t events);
	void *context;
};

enum { LOOP_BATCH = 64 };

struct loop {
	int epoll_fd; /* owned */
	int count;    /* of the events that are being told */
	struct epoll_event events[LOOP_BATCH];
};

/* All return 0 or -errno. */
int loop_init(struct loop *loop);

/* Watches watch->fd for `events` (EPOLLIN …); level-triggered. The watch must stay where it is. */
int loop_add(struct loop *loop, struct watch *watch, uint32_t events);
int loop_change(struct loop *loop, struct watch *watch, uint32_t events);

/* Before the descriptor is closed: a copy of it in another process would keep it watched. Nothing
 * is told to this watch any more, also not what has happened already. */
void loop_remove(struct loop *loop, struct watch *watch);

/* Waits at most that long (-1: for ever) and wakes whoever something happened to. */
int loop_turn(struct loop *loop, int timeout_ms);

void loop_done(struct loop *loop);
