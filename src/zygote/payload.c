/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload before it is one: pid 2 of the cell. It raises the walls that bind itself, tells
 * the supervisor at the gate, waits for the word, and executes the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/io.h"
#include "base/own.h"
#include "zygote/parts.h"
#include "zygote/zygote.h"

enum { AWAKE_US = 300 }; /* who rouses us is at work on the rest */

static int come_to_gate(struct raising *raising)
{
	const struct gate_message message = { .kind = GATE_READY };
	int gate_fd = raising->fds[CELL_FD_GATE];
	size_t fd_count = raising->listener_fd >= 0 ? 1 : 0;
	if (io_send(gate_fd, &message, sizeof(message), &raising->listener_fd, fd_count) < 0)
		return -1;
	own_close(&raising->listener_fd);
	return 0;
}

/* A processor that sleeps takes as long to wake up as a short program takes to run. */
static void stay_awake(int gate_fd)
{
	char byte;
	int64_t end_us = clock_us() + AWAKE_US;
	while (recv(gate_fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN &&
		clock_us() < end_us)
		;
}

static ssize_t hear(int gate_fd, struct gate_message *message, struct delivery *delivery)
{
	delivery->count = GATE_FD_COUNT;
	return io_recv(gate_fd, message, sizeof(*message), delivery->fds, &delivery->count);
}

int payload_await_word(const struct raising *raising, struct delivery *delivery)
{
	struct gate_message message = { .kind = GATE_NONE };
	int gate_fd = raising->fds[CELL_FD_GATE];
	ssize_t n = hear(gate_fd, &message, delivery);
	while (n == sizeof(message) && message.kind == GATE_ROUSE && delivery->count == 0) {
		stay_awake(gate_fd);
		n = hear(gate_fd, &message, delivery);
	}
	bool is_warm = message.kind == GATE_WARM && delivery->count == 0;
	if (n != sizeof(message) || (message.kind != GATE_GO && !is_warm))
		return -1;
	return is_warm ? 1 : 0;
}

static int read_job(int fd, struct job *job)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size > LIMIT_JOB_BYTES)
		return -EBADMSG;
	/* read, not mapped: for what is so short a mapping takes longer. It lasts as long as we do.
	 */
	size_t size = (size_t)st.st_size;
	auto_free char *data = xcalloc(1, size + 1);
	if (pread(fd, data, size, 0) != (ssize_t)size)
		return -EBADMSG;
	int r = job_read(data, size, job);
	if (r == 0)
		(void)take_ptr(&data);
	return r;
}

/* Puts the program's descriptors where it expects them; the first that is not its own is
 * *ret_end. All of them are above 3: the zygote keeps those taken. */
static int place_fds(const struct delivery *delivery, unsigned *ret_end)
{
	unsigned count = (unsigned)delivery->count - GATE_FD_STDIN;
	for (unsigned i = 0; i < count; i++)
		if (dup2(delivery->fds[GATE_FD_STDIN + i], (int)i) < 0)
			return -errno;
	*ret_end = count;
	return 0;
}

static const char *find_variable(char *const *env, const char *name)
{
	size_t len = strlen(name);
	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return "";
}

/* A bare name is looked up along the cell's own PATH. Returns -errno: success does not return. */
static int execute(const struct job *job)
{
	const char *name = job->argv[0];
	if (strchr(name, '/')) {
		(void)execve(name, job->argv, job->env);
		return -errno;
	}
	int worst = -ENOENT;
	for (const char *dir = find_variable(job->env, "PATH"); *dir;) {
		char path[PATH_MAX];
		size_t len = strcspn(dir, ":");
		if ((size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)len, dir, name) <
			sizeof(path)) {
			(void)execve(path, job->argv, job->env);
			if (errno != ENOENT && errno != ENOTDIR)
				worst = -errno;
		}
		dir += len + (dir[len] == ':');
	}
	return worst;
}

/* Everything between the gate and the program itself: from here on the descriptors are its own. */
int payload_take_job(struct raising *raising, const struct delivery *delivery, struct job *job)
{
	if (delivery->count <= GATE_FD_STDERR)
		return -EBADMSG;
	int r = read_job(delivery->fds[GATE_FD_JOB], job);
	if (r < 0 || !job->cwd)
		return r < 0 ? r : -EBADMSG;
	if (chdir(job->cwd) < 0)
		return -errno;
	unsigned end = 0;
	r = place_fds(delivery, &end);
	if (r < 0)
		return r;
	cpus_place(0, raising->processors); /* who made us may be kept to one: keeper/apart.h */
	/* everything else goes when the program starts; the gate must last until then */
	if (close_range(end, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return -errno;
	if (raising->page) /* else who calls us has another way to tell */
		raising->page->report.started_us = clock_us();
	return 0;
}

int payload_confine(struct raising *raising)
{
	struct err err = { 0 };
	(void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* short waits are to be short */
	if (jail_walk(raising, STAGE_PAYLOAD, &err) < 0 ||
		jail_await(raising, STEP_PROC, &err) < 0 ||
		jail_walk(raising, STAGE_LANDLOCK, &err) < 0 ||
		jail_await(raising, STEP_INIT_GUARD, &err) < 0)
		return -1;
	(void)prctl(PR_SET_TIMERSLACK, 0, 0, 0, 0);
	return come_to_gate(raising);
}

_Noreturn void payload_run(struct raising *raising)
{
	struct delivery delivery;
	struct job job = { 0 };
	int gate_fd = raising->fds[CELL_FD_GATE];
	bool is_probe = raising->page->plan.is_probe;
	if (payload_confine(raising) < 0 || payload_await_word(raising, &delivery) != 0)
		_exit(1);
	if (is_probe)
		_exit(0);
	struct gate_message message = { .kind = GATE_EXEC_FAILED };
	int r = payload_take_job(raising, &delivery, &job);
	message.sys = r < 0 ? -r : -execute(&job);
	(void)io_send(gate_fd, &message, sizeof(message), NULL, 0);
	_exit(127);
}
