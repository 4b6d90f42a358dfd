/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"

enum { ANSWER_S = 5 }; /* who waits longer for the servant does without it */

static void become_servant(char *const *argv, int line_fd)
{
	int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null_fd < 0 || dup2(line_fd, STDIN_FILENO) < 0 || dup2(line_fd, STDOUT_FILENO) < 0 ||
		dup2(null_fd, STDERR_FILENO) < 0 || close_range(STDERR_FILENO + 1, ~0U, 0) < 0)
		_exit(127);
	(void)execv(argv[0], argv);
	_exit(127);
}

/* A child that leaves at once bears it. Its number, or -1. */
static pid_t start_servant(char *const *argv, int line_fd)
{
	int ends[2];
	pid_t pid = -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	auto_fd int from = ends[0], to = ends[1];
	pid_t midwife = fork();
	if (midwife < 0)
		return -1;
	if (midwife == 0) {
		pid = fork();
		if (pid == 0)
			become_servant(argv, line_fd);
		_exit(write(to, &pid, sizeof(pid)) == sizeof(pid) ? 0 : 1);
	}
	own_close(&to);
	if (read(from, &pid, sizeof(pid)) != sizeof(pid))
		pid = -1;
	while (waitpid(midwife, NULL, 0) < 0 && errno == EINTR)
		;
	return pid;
}

static pid_t open_line(char *const *servant)
{
	const struct timeval patience = { .tv_sec = ANSWER_S };
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	auto_fd int ours = ends[0], theirs = ends[1];
	(void)setsockopt(ours, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(ours, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	pid_t pid = start_servant(servant, theirs);
	if (pid < 0)
		return -1;
	if (theirs == BESIDE_FD)
		own_close(&theirs);
	if (ours == BESIDE_FD) /* the program inherits it */
		return fcntl(take_fd(&ours), F_SETFD, 0) < 0 ? -1 : pid;
	return dup2(ours, BESIDE_FD) < 0 ? -1 : pid;
}

int beside_execute(char *const *servant, char *const *program)
{
	char number[16];
	size_t count = 0;
	while (program[count])
		count++;
	auto_free char **argv = xcalloc(count + 2, sizeof(*argv));
	memcpy(argv, program, count * sizeof(*argv));
	pid_t pid = open_line(servant);
	if (pid > 0) {
		(void)snprintf(number, sizeof(number), "%d", pid);
		argv[count] = number;
	}
	(void)execv(argv[0], argv);
	return -errno;
}
