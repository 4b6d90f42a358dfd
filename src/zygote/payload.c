/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload before it is one: pid 2 of the cell. It raises the walls that bind itself, tells
 * the supervisor at the gate, waits for the word, and executes the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
	struct gate_message message = { .kind = GATE_READY };
	int gate_fd = raising->fds[CELL_FD_GATE];
	int fds[GATE_GIFTS_MAX];
	size_t fd_count = 0;
	if (raising->listener_fd >= 0) {
		message.has |= GATE_HAS_LISTENER;
		fds[fd_count++] = raising->listener_fd;
	}
	if (raising->io_fd >= 0) {
		message.has |= GATE_HAS_ACCOUNT;
		fds[fd_count++] = raising->io_fd;
	}
	if (io_send(gate_fd, &message, sizeof(message), fds, fd_count) < 0)
		return -1;
	own_close(&raising->listener_fd);
	own_close(&raising->io_fd);
	return 0;
}

/* Its supervisor would have to look for it. To have it, a guest must be readable again: changing
 * the user put an end to that, and executing a program would have changed it back. */
static void open_account(struct raising *raising)
{
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	raising->io_fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
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

/* Whether the descriptors that came are as many as a program has. */
static bool is_set(const struct delivery *delivery)
{
	return delivery->count == GATE_FD_CHANNEL ||
	       (delivery->count == GATE_FD_COUNT && !delivery->has_channel);
}

static bool makes_sense(enum gate_kind kind, const struct delivery *delivery)
{
	bool has_job = delivery->job || delivery->job_fd >= 0;
	if (delivery->has_channel && delivery->count == 0)
		return false;
	switch (kind) {
	case GATE_GO:
		return has_job && (delivery->count == 0 || is_set(delivery));
	case GATE_HAND:
		return !has_job && is_set(delivery);
	case GATE_WARM:
	case GATE_ROUSE:
		return !has_job && delivery->count == 0;
	default:
		return false;
	}
}

/* The gate that is a channel as well does not block. */
static void await_word(int gate_fd)
{
	struct pollfd word = { .fd = gate_fd, .events = POLLIN };
	while (poll(&word, 1, -1) < 0 && errno == EINTR)
		;
}

/* It was sent with its word, and not a byte more is taken: what follows is the runner's. */
static int take_short_job(int gate_fd, size_t size, struct delivery *delivery)
{
	if (size > JOB_SHORT)
		return -1;
	delivery->job = xcalloc(1, size);
	delivery->job_size = size;
	ssize_t n = recv(gate_fd, delivery->job, size, MSG_DONTWAIT);
	return n == (ssize_t)size ? 0 : -1;
}

/* A kind, or less. What makes no sense is the end: whatever came with it goes with us. */
static int hear(int gate_fd, struct delivery *delivery)
{
	struct gate_message message = { 0 };
	int fds[GATE_FD_COUNT + 1];
	size_t count = COUNT_OF(fds);
	ssize_t n = io_recv(gate_fd, &message, sizeof(message), fds, &count);
	*delivery = (struct delivery){ .job_fd = -1 };
	if (n == -EAGAIN) {
		await_word(gate_fd);
		return hear(gate_fd, delivery);
	}
	if (n != sizeof(message))
		return -1;
	delivery->cpu = message.cpu;
	delivery->has_channel = message.has & GATE_IS_CHANNEL;
	if (message.size > 0 && take_short_job(gate_fd, message.size, delivery) < 0)
		return -1;
	if (message.size == 0 && message.kind == GATE_GO && count > 0)
		delivery->job_fd = fds[--count];
	if (count > GATE_FD_COUNT)
		return -1;
	memcpy(delivery->fds, fds, count * sizeof(fds[0]));
	delivery->count = count;
	return makes_sense(message.kind, delivery) ? (int)message.kind : -1;
}

int payload_await_word(const struct raising *raising, struct delivery *delivery)
{
	int gate_fd = raising->fds[CELL_FD_GATE];
	int kind = hear(gate_fd, delivery);
	while (kind == GATE_ROUSE) {
		stay_awake(gate_fd);
		kind = hear(gate_fd, delivery);
	}
	return kind;
}

/* What is in a file is read, not mapped: it lasts as long as we do. */
static int open_job(struct delivery *delivery)
{
	struct stat st;
	if (delivery->job)
		return 0;
	if (fstat(delivery->job_fd, &st) < 0)
		return -errno;
	if (st.st_size > LIMIT_JOB_BYTES)
		return -EBADMSG;
	delivery->job_size = (size_t)st.st_size;
	delivery->job = xcalloc(1, delivery->job_size + 1);
	ssize_t n = pread(delivery->job_fd, delivery->job, delivery->job_size, 0);
	return n == (ssize_t)delivery->job_size ? 0 : -EBADMSG;
}

size_t delivery_count(const struct delivery *delivery)
{
	return delivery->has_channel ? GATE_FD_COUNT : delivery->count;
}

/* Puts the program's descriptors where it expects them. All that come are above 3: the zygote keeps
 * those taken. */
static int place(struct raising *raising, const struct delivery *delivery)
{
	for (size_t i = 0; i < delivery->count; i++)
		if (dup2(delivery->fds[i], (int)i) < 0)
			return -errno;
	if (delivery->has_channel && dup2(raising->fds[CELL_FD_GATE], GATE_FD_CHANNEL) < 0)
		return -errno;
	if (raising->processors) { /* who made us may be set apart: keeper/apart.h */
		cpus_make_impatient(0);
		cpus_place(0, raising->processors);
	}
	/* everything else goes when the program starts; the gate must last until then */
	if (close_range((unsigned)delivery_count(delivery), ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return -errno;
	raising->has_fds = true;
	return 0;
}

/* Nobody waits yet. Who will, will be at work when we are roused, and the kernel would let us wait
 * for that on the same processor though another one is idle. */
int payload_settle(struct raising *raising, const struct delivery *delivery)
{
	raising->is_home = chdir(HOME_DIR) == 0;
	free(xcalloc(1, JOB_SHORT)); /* who writes there first waits for a page */
	int r = place(raising, delivery);
	cpus_leave(delivery->cpu);
	/* what we had then may have been the least of it: keeper/elsewhere.h */
	cpus_place(0, raising->processors);
	return r;
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
int payload_take_job(struct raising *raising, struct delivery *delivery, struct job *job)
{
	int r = delivery->count > 0 ? place(raising, delivery) : 0;
	if (r == 0)
		r = raising->has_fds ? open_job(delivery) : -EBADMSG;
	if (r == 0)
		r = job_read(delivery->job, delivery->job_size, job);
	if (r < 0 || !job->cwd)
		return r < 0 ? r : -EBADMSG;
	if (!(raising->is_home && strcmp(job->cwd, HOME_DIR) == 0) && chdir(job->cwd) < 0)
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
	if (raising->page->plan.has_guest)
		open_account(raising);
	return come_to_gate(raising);
}

static int await_job(struct raising *raising, struct delivery *delivery)
{
	int kind = payload_await_word(raising, delivery);
	while (kind == GATE_HAND && payload_settle(raising, delivery) == 0)
		kind = payload_await_word(raising, delivery);
	return kind == GATE_GO ? 0 : -1;
}

_Noreturn void payload_run(struct raising *raising)
{
	struct delivery delivery;
	struct job job = { 0 };
	int gate_fd = raising->fds[CELL_FD_GATE];
	bool is_probe = raising->page->plan.is_probe;
	if (payload_confine(raising) < 0 || await_job(raising, &delivery) < 0)
		_exit(1);
	if (is_probe)
		_exit(0);
	struct gate_message message = { .kind = GATE_EXEC_FAILED };
	int r = payload_take_job(raising, &delivery, &job);
	message.sys = r < 0 ? -r : -execute(&job);
	(void)io_send(gate_fd, &message, sizeof(message), NULL, 0);
	_exit(127);
}
