/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cell's init: pid 1 of the cell, forked from the zygote and never executed. It raises the
 * walls that need privilege, forks the payload, gives up everything, and from then on only reaps
 * and tells how the payload ended. When it leaves, the kernel ends all that is left in the cell.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

/* The payload is not our child: its supervisor hears of its end, and then ends us. */
static void outlast_guest(const struct raising *raising)
{
	struct init_message message;
	while (io_recv(raising->fds[CELL_FD_STATUS], &message, sizeof(message), NULL, NULL) ==
		-EINTR)
		;
}

static void reap(pid_t payload, struct raising *raising)
{
	struct init_message message = { .kind = INIT_ENDED };
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
		if (pid != payload)
			continue;
		message.wait_status = status;
		count_io(raising->io_fd, &message);
		message.read_bytes -= before.read_bytes;
		message.write_bytes -= before.write_bytes;
		(void)io_send(raising->fds[CELL_FD_STATUS], &message, sizeof(message), NULL, 0);
		return;
	}
}

/* Only what init needs stays open; the lock keeps the cell's slot taken as long as init lives. */
static void close_others(const struct raising *raising)
{
	const int keep[] = { raising->fds[CELL_FD_STATUS], raising->fds[CELL_FD_LOCK],
		raising->io_fd, raising->life_fd };
	int highest = 2;
	for (size_t i = 0; i < COUNT_OF(keep); i++)
		if (keep[i] > highest)
			highest = keep[i];
	for (int fd = 0; fd <= highest; fd++) {
		bool is_kept = false;
		for (size_t i = 0; i < COUNT_OF(keep); i++)
			is_kept |= keep[i] == fd;
		if (!is_kept)
			(void)close(fd);
	}
	(void)close_range((unsigned int)highest + 1, ~0U, 0);
}

_Noreturn void init_run(struct raising *raising)
{
	struct err err = { 0 };
	/* what the zygote set for itself */
	(void)signal(SIGCHLD, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	if (jail_walk(raising, STAGE_INIT, &err) < 0)
		_exit(1);
	bool has_guest = raising->page->plan.has_guest;
	pid_t payload = has_guest ? 0 : fork();
	if (payload == 0 && !has_guest)
		payload_run(raising);
	cpu_set_t cpus = { 0 };
	if (payload > 0)
		cpus_send_away(payload, &cpus);
	if (payload < 0 || jail_walk(raising, STAGE_MOUNT, &err) < 0)
		_exit(1);
	if (payload > 0)
		cpus_give_back(payload, &cpus);
	close_others(raising);
	/* when memory runs out the kernel should look there first, not at init or the host */
	if (!has_guest)
		(void)io_write_at(AT_FDCWD, "/proc/2/oom_score_adj", "500");
	else
		(void)signal(SIGCHLD, SIG_IGN); /* orphans need no burial */
	if (jail_walk(raising, STAGE_GUARD, &err) < 0)
		_exit(1);
	if (has_guest)
		outlast_guest(raising);
	else
		reap(payload, raising);
	/* not _exit(): a sanitizer's does more than init's filter lets it */
	(void)syscall(SYS_exit_group, 0);
	__builtin_unreachable();
}
