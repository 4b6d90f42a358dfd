/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/own.h"
#include "relay/talk.h"

enum { CHECK_MS = 5000 };

/* As a program expects it: no signal blocked or ignored, a group of its own. */
static void set_manners(posix_spawnattr_t *attributes)
{
	sigset_t all, none;
	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	(void)posix_spawnattr_init(attributes);
	(void)posix_spawnattr_setsigdefault(attributes, &all);
	(void)posix_spawnattr_setsigmask(attributes, &none);
	(void)posix_spawnattr_setpgroup(attributes, 0);
	(void)posix_spawnattr_setflags(
		attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
}

/* Starts it with these descriptors as its 0, 1, … (-1: /dev/null below 3, else none). */
static int spawn(char *const *argv, const int *fds, size_t fd_count, pid_t *ret_pid)
{
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_t actions;
	set_manners(&attributes);
	(void)posix_spawn_file_actions_init(&actions);
	for (size_t i = 0; i < fd_count; i++) {
		if (fds[i] >= 0)
			(void)posix_spawn_file_actions_adddup2(&actions, fds[i], (int)i);
		else if (i < 3)
			(void)posix_spawn_file_actions_addopen(
				&actions, (int)i, "/dev/null", O_RDWR, 0);
	}
	int r = posix_spawn(ret_pid, argv[0], &actions, &attributes, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	return -r;
}

static int watch_signals(void)
{
	sigset_t interrupt;
	(void)sigemptyset(&interrupt);
	(void)sigaddset(&interrupt, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &interrupt, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &interrupt, SFD_CLOEXEC | SFD_NONBLOCK);
}

int start_child(struct relay *relay, char **argv)
{
	auto_fd int in = -1, frames = -1, alarm_fd = -1, out = -1, complaints = -1;
	int pipes[2][2];
	const char *slash = strrchr(argv[0], '/');
	relay->program = slash ? slash + 1 : argv[0];
	relay->signal_fd = watch_signals();
	if (relay->talk->open(relay, &in, &frames, &alarm_fd) < 0 ||
		pipe2(pipes[0], O_CLOEXEC) < 0 || pipe2(pipes[1], O_CLOEXEC) < 0) {
		relay_break(
			relay, "cannot make the pipes of %s: %s", relay->program, strerror(errno));
		return -1;
	}
	out = pipes[0][1];
	complaints = pipes[1][1];
	for (size_t i = 0; i < COUNT_OF(relay->flows); i++)
		relay->flows[i] = (struct flow){ .from = pipes[i][0], .to = -1 };
	const int fds[] = { in, out, complaints, frames, alarm_fd };
	int r = spawn(argv, fds, COUNT_OF(fds), &relay->pid);
	if (r < 0) {
		relay_break(relay, "cannot start %s: %s", argv[0], strerror(-r));
		return -1;
	}
	relay->pid_fd = (int)syscall(SYS_pidfd_open, relay->pid, 0);
	if (relay->pid_fd < 0) {
		relay_break(relay, "cannot watch %s: %s", relay->program, strerror(errno));
		return -1;
	}
	return 0;
}

/* Until it closes its stderr; false when the time is up before. */
static bool hear(int fd, struct buf *said)
{
	char part[1024];
	int64_t deadline_us = clock_us() + CHECK_MS * 1000;
	for (;;) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		int64_t left_us = deadline_us - clock_us();
		if (left_us <= 0 || poll(&ready, 1, (int)(left_us / 1000) + 1) < 0)
			return false;
		ssize_t n = ready.revents ? read(fd, part, sizeof(part)) : -1;
		if (n == 0)
			return true;
		if (n > 0)
			(void)buf_append(said, part, (size_t)n);
	}
}

int start_check(char *const *argv, struct buf *said)
{
	int ends[2];
	int status = 0;
	pid_t pid = -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	auto_fd int from = ends[0], to = ends[1];
	const int fds[] = { -1, -1, to };
	if (spawn(argv, fds, COUNT_OF(fds), &pid) < 0)
		return -1;
	own_close(&to);
	if (!hear(from, said))
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
