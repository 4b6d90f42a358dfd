/* SPDX-License-Identifier: Apache-2.0 */
#include "base/loop.h"

#include <errno.h>
#include <stddef.h>

#include "base/own.h"

int loop_init(struct loop *loop)
{
	loop->count = 0;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return loop->epoll_fd < 0 ? -errno : 0;
}

static int control(struct loop *loop, int operation, struct watch *watch, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watch };
	return epoll_ctl(loop->epoll_fd, operation, watch->fd, &event) < 0 ? -errno : 0;
}

int loop_add(struct loop *loop, struct watch *watch, uint32_t events)
{
	return control(loop, EPOLL_CTL_ADD, watch, events);
}

int loop_change(struct loop *loop, struct watch *watch, uint32_t events)
{
	return control(loop, EPOLL_CTL_MOD, watch, events);
}

void loop_remove(struct loop *loop, struct watch *watch)
{
	if (watch->fd < 0)
		return;
	(void)control(loop, EPOLL_CTL_DEL, watch, 0);
	watch->fd = -1;
	for (int i = 0; i < loop->count; i++)
		if (loop->events[i].data.ptr == watch)
			loop->events[i].data.ptr = NULL;
}

int loop_turn(struct loop *loop, int timeout_ms)
{
	int n = epoll_wait(loop->epoll_fd, loop->events, LOOP_BATCH, timeout_ms);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	loop->count = n;
	for (int i = 0; i < loop->count; i++) {
		const struct watch *watch = loop->events[i].data.ptr;
		if (watch)
			watch->wake(watch->context, loop->events[i].events);
	}
	loop->count = 0;
	return 0;
}

void loop_done(struct loop *loop)
{
	own_close(&loop->epoll_fd);
}
