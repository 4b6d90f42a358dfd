/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trial is served as any guest is, with a job, streams and a channel, but stays where the
 * interpreter is: nobody's code runs in it.
 */
#include "interpreter/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/own.h"
#include "interpreter/habit.h"
#include "jail/jail.h"

#define PLACE "/tmp/trial"
#define FILE_NAME "main.py"

enum { PATIENCE_MS = 5000, JOB_MAX = 1 << 16 };

static int write_code(const char *code)
{
	if (mkdir(PLACE, 0700) < 0)
		return -errno;
	auto_fd int fd = open(PLACE "/" FILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : io_write(fd, code, strlen(code));
}

static int make_job(struct buf *job, const char *code)
{
	char *const words[] = { (char *)FILE_NAME };
	const struct strings argv = { (char **)words, 1 };
	struct strings env = { environ, 0 };
	while (environ[env.count])
		env.count++;
	int r = job_write(job, PLACE, &argv, &env);
	return r < 0 ? r : job_add_code(job, code, strlen(code));
}

static int send_job(struct trial *trial, const char *code)
{
	auto_buf struct buf job;
	buf_init(&job, JOB_MAX);
	auto_fd int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	auto_fd int out_fd = memfd_create("hotcell-trial", MFD_CLOEXEC);
	int r = null_fd < 0 || out_fd < 0 ? -errno : make_job(&job, code);
	const int fds[] = {
		[GATE_FD_STDIN] = null_fd,
		[GATE_FD_STDOUT] = out_fd,
		[GATE_FD_STDERR] = out_fd,
	};
	return r < 0 ? r : job_send(trial->gate_fds[0], &job, GATE_IS_CHANNEL, fds, COUNT_OF(fds));
}

int trial_open(struct trial *trial, const char *code)
{
	*trial = (struct trial){ { -1, -1 } };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, trial->gate_fds) < 0)
		return -errno;
	int r = write_code(code);
	return r < 0 ? r : send_job(trial, code);
}

void trial_watch(struct trial *trial, pid_t pid)
{
	struct pollfd word = { .fd = trial->gate_fds[0], .events = POLLIN };
	own_close(&trial->gate_fds[1]);
	/* one that ends without a word hangs up, and has left nothing to look at */
	if (poll(&word, 1, PATIENCE_MS) == 1 && (word.revents & POLLIN)) {
		auto_fd int proc_fd = jail_open_proc();
		if (proc_fd >= 0) {
			habit_note(proc_fd, pid);
			habit_pin();
		}
	}
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void trial_close(struct trial *trial)
{
	for (int i = 0; i < 2; i++)
		own_close(&trial->gate_fds[i]);
	(void)unlink(PLACE "/" FILE_NAME);
	(void)rmdir(PLACE);
}
