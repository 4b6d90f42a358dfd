/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cell's init: pid 1 of the cell, forked from the zygote and never executed. It raises the
 * walls that need privilege, forks the payload or waits for a guest, gives up everything, and from
 * then on only reaps and tells how the payload ended. When it leaves, the kernel ends all that is
 * left in the cell.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/io.h"
#include "base/own.h"
#include "zygote/parts.h"
#include "zygote/zygote.h"

enum { LINGER_MS = 1000 }; /* should the lender forget it */

static int64_t time_us(struct timeval time)
{
	return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

/* The kernel adds what a reaped child read and wrote to its parent: init's own file has it all. */
static void count_io(int io_fd, struct init_message *message)
{
	char text[512];
	ssize_t n = io_fd < 0 ? -1 : pread(io_fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return;
	text[n] = '\0';
	const char *read_at = strstr(text, "rchar: ");
	const char *write_at = strstr(text, "wchar: ");
	if (read_at)
		message->read_bytes = strtoll(read_at + 7, NULL, 10);
	if (write_at)
		message->write_bytes = strtoll(write_at + 7, NULL, 10);
}

static bool is_watched(const struct orders *orders, pid_t pid)
{
	for (size_t i = 0; i < LIMIT_WATCHED; i++)
		if (__atomic_load_n(&orders->watched[i], __ATOMIC_ACQUIRE) == pid)
			return true;
	return false;
}

/* In a session the payload is one process among others. True: init goes on. */
static bool does_stay(struct raising *raising, pid_t pid, int status, const struct rusage *usage)
{
	const struct orders *orders = &raising->page->orders;
	const struct init_message message = { .kind = INIT_ENDED,
		.pid = pid,
		.wait_status = status,
		.cpu_us = time_us(usage->ru_utime) + time_us(usage->ru_stime),
		.max_rss_kb = usage->ru_maxrss };
	if (!__atomic_load_n(&orders->is_session, __ATOMIC_ACQUIRE))
		return false;
	if (is_watched(orders, pid))
		(void)io_send(raising->status_fd, &message, sizeof(message), NULL, 0);
	return true;
}

/* The result is out: there is nobody to tell, and nobody to wait for. */
static bool is_answered(const struct cell_page *page)
{
	return __atomic_load_n(&page->orders.is_answered, __ATOMIC_RELAXED);
}

static void reap(pid_t payload, struct raising *raising)
{
	struct init_message message = { .kind = INIT_ENDED, .pid = payload };
	struct init_message before = { 0 };
	count_io(raising->io_fd, &before);
	for (;;) {
		struct rusage usage;
		int status = 0;
		pid_t pid = wait4(-1, &status, 0, &usage);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return;
		message.cpu_us += time_us(usage.ru_utime) + time_us(usage.ru_stime);
		if (usage.ru_maxrss > message.max_rss_kb)
			message.max_rss_kb = usage.ru_maxrss;
		if (does_stay(raising, pid, status, &usage) || pid != payload)
			continue;
		if (is_answered(raising->page))
			return;
		message.wait_status = status;
		count_io(raising->io_fd, &message);
		message.read_bytes -= before.read_bytes;
		message.write_bytes -= before.write_bytes;
		(void)io_send(raising->status_fd, &message, sizeof(message), NULL, 0);
		return;
	}
}

/* To take a cell down keeps all processors busy, just when its client writes the result. The lender
 * ends a cell that is given back; if nobody is left to, both have hung up. One whose payload ended
 * at its gate is of no use to anybody. */
static void linger(const struct raising *raising)
{
	const struct cell_page *page = raising->page;
	struct pollfd end = { .fd = raising->status_fd, .events = POLLRDHUP };
	if (page->plan.is_lent && !is_answered(page) &&
		__atomic_load_n(&page->report.started_us, __ATOMIC_RELAXED) != 0)
		(void)poll(&end, 1, LINGER_MS);
}

/* Only what init needs stays open; the lock keeps the cell's slot taken as long as init lives. */
static void close_others(const struct raising *raising)
{
	const int keep[] = { raising->status_fd, raising->fds[CELL_FD_LOCK], raising->io_fd,
		raising->life_fd };
	int first = 0; /* of those that are not looked at yet */
	for (size_t left = COUNT_OF(keep); left > 0; left--) {
		int next = INT_MAX;
		for (size_t i = 0; i < COUNT_OF(keep); i++)
			if (keep[i] >= first && keep[i] < next)
				next = keep[i];
		if (next == INT_MAX)
			break;
		if (next > first)
			(void)close_range((unsigned int)first, (unsigned int)next - 1, 0);
		first = next + 1;
	}
	(void)close_range((unsigned int)first, ~0U, 0);
}

/* When memory runs out the kernel should look there first, not at init or the host. A guest has
 * this from its interpreter. */
static void offer_to_oom_killer(const struct raising *raising, pid_t payload)
{
	char path[64];
	if (raising->page->plan.has_guest)
		return;
	(void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)payload);
	(void)io_write_at(AT_FDCWD, path, OOM_SCORE);
}

_Noreturn void init_run(struct raising *raising)
{
	struct err err = { 0 };
	/* what the zygote set for itself */
	(void)signal(SIGCHLD, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	if (jail_take_users(raising, &err) < 0 || jail_walk(raising, STAGE_INIT, &err) < 0)
		_exit(1);
	pid_t payload = raising->page->plan.has_guest ? 0 : fork();
	if (payload == 0 && !raising->page->plan.has_guest)
		payload_run(raising);
	cpu_set_t cpus = { 0 };
	if (payload > 0)
		cpus_send_away(payload, &cpus);
	if (payload < 0 || jail_walk(raising, STAGE_MOUNT, &err) < 0)
		_exit(1);
	if (payload > 0)
		cpus_give_back(payload, &cpus);
	/* the gate with them: whose guest does not come learns it by its closing */
	close_others(raising);
	/* a guest without privilege must see us to enter; any other need not wait for the guard */
	if (payload == 0 && raising->page->plan.mode != MODE_ROOT)
		payload = jail_await_guest(raising);
	offer_to_oom_killer(raising, payload);
	if (jail_walk(raising, STAGE_GUARD, &err) < 0)
		_exit(1);
	if (payload == 0)
		payload = jail_await_guest(raising);
	reap(payload, raising);
	linger(raising);
	/* not _exit(): a sanitizer's does more than init's filter lets it */
	(void)syscall(SYS_exit_group, 0);
	__builtin_unreachable();
}
