/* SPDX-License-Identifier: Apache-2.0 */
/* How a program of ours begins and ends. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "cli/cli.h"

int cli_finish(int status)
{
	struct err err = { 0 };
	struct pollfd reader = { .fd = STDOUT_FILENO, .events = POLLOUT };
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR))
		return status;
	(void)err_set(&err, ERR_SYSTEM, "the answer could not be written to standard output");
	return cli_fail(&err);
}

/* A closed 0, 1 or 2 would be given to the next thing we open, and output would go there. */
static bool is_open(int fd)
{
	if (fcntl(fd, F_GETFD) >= 0)
		return true;
	int lowest_fd = open("/dev/null", O_RDWR);
	return lowest_fd == fd; /* and stays open */
}

bool cli_begin(void)
{
	if (!is_open(STDIN_FILENO) || !is_open(STDOUT_FILENO) || !is_open(STDERR_FILENO))
		return false;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* a small ulimit -f shall be an error, not our end */
	return true;
}
