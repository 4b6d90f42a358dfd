/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/scribe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"

struct scribe_wait {
	struct scribe_wait *next;
	scribe_told *told;
	void *context;
};

struct scribe_answer {
	int32_t r;
	struct snapshot_report report;
	struct err err;
};

/* ---- in the child ---------------------------------------------------------------------------- */

static int carry_out(const struct scribe_order *order, int workspace_fd, struct scribe_answer *ret)
{
	const struct workspace workspace = {
		.fd = workspace_fd, .uid = order->uid, .gid = order->gid
	};
	switch (order->work) {
	case SCRIBE_TAKE:
		return snapshot_take(
			&workspace, order->id, order->previous, &ret->report, &ret->err);
	case SCRIBE_RESTORE:
		return snapshot_restore(&workspace, order->id, &ret->report, &ret->err);
	case SCRIBE_DROP:
		return snapshot_drop(&workspace, order->id, &ret->err);
	default:
		return err_set(&ret->err, ERR_BROKEN, "no such work");
	}
}

_Noreturn static void serve(int fd)
{
	for (;;) {
		struct scribe_order order = { 0 };
		struct scribe_answer answer = { 0 };
		int workspace_fd = -1;
		size_t fd_count = 1;
		ssize_t n = io_recv(fd, &order, sizeof(order), &workspace_fd, &fd_count);
		if (n != sizeof(order) || fd_count != 1)
			_exit(0);
		answer.r = carry_out(&order, workspace_fd, &answer);
		(void)close(workspace_fd);
		if (io_send(fd, &answer, sizeof(answer), NULL, 0) < 0)
			_exit(0);
	}
}

/* The keeper's descriptors are not for a child: a line that it held would never hang up. */
_Noreturn static void become_scribe(int fd)
{
	sigset_t none;
	(void)sigemptyset(&none);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "hotcell-scribe");
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(fd, STDERR_FILENO + 1) < 0)
		_exit(1);
	(void)close_range(STDERR_FILENO + 2, ~0U, 0);
	serve(STDERR_FILENO + 1);
}

/* ---- in the keeper --------------------------------------------------------------------------- */

static struct scribe_wait *take_first(struct scribe *scribe)
{
	struct scribe_wait *wait = scribe->first;
	scribe->first = wait->next;
	if (!scribe->first)
		scribe->last = NULL;
	scribe->count--;
	return wait;
}

static void tell_first(struct scribe *scribe, const struct scribe_answer *answer)
{
	auto_free struct scribe_wait *wait = take_first(scribe);
	if (wait->told)
		wait->told(wait->context, answer->r, &answer->report, &answer->err);
}

static void lose(struct scribe *scribe)
{
	struct scribe_answer answer = { .r = -1 };
	(void)err_set(&answer.err, ERR_BROKEN, "the process that copies files ended");
	loop_remove(scribe->scribes->loop, &scribe->watch);
	own_close(&scribe->fd);
	(void)kill(scribe->pid, SIGKILL);
	while (waitpid(scribe->pid, NULL, 0) < 0 && errno == EINTR)
		;
	while (scribe->first)
		tell_first(scribe, &answer);
}

static void hear(void *context, uint32_t events)
{
	struct scribe *scribe = context;
	struct scribe_answer answer;
	size_t fd_count = 0;
	(void)events;
	ssize_t n = io_recv(scribe->fd, &answer, sizeof(answer), NULL, &fd_count);
	if (n == -EAGAIN)
		return;
	if (n == sizeof(answer) && scribe->first)
		tell_first(scribe, &answer);
	else
		lose(scribe);
}

static int start(struct scribe *scribe)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		become_scribe(pair[1]);
	int sys = errno;
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		return -sys;
	}
	(void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
	scribe->fd = pair[0];
	scribe->pid = pid;
	scribe->watch = (struct watch){ scribe->fd, hear, scribe };
	int r = loop_add(scribe->scribes->loop, &scribe->watch, EPOLLIN);
	if (r < 0)
		lose(scribe);
	return r;
}

/* One that has nothing to do, else a new one, else the one with the least. */
static struct scribe *choose(struct scribes *scribes)
{
	struct scribe *best = NULL;
	struct scribe *missing = NULL;
	for (size_t i = 0; i < SCRIBES_MAX; i++) {
		struct scribe *scribe = &scribes->items[i];
		if (scribe->fd < 0)
			missing = missing ? missing : scribe;
		else if (!best || scribe->count < best->count)
			best = scribe;
	}
	if (missing && (!best || best->count > 0) && start(missing) == 0)
		return missing;
	return best;
}

void scribes_init(struct scribes *scribes, struct loop *loop)
{
	scribes->loop = loop;
	for (size_t i = 0; i < SCRIBES_MAX; i++)
		scribes->items[i] =
			(struct scribe){ .scribes = scribes, .fd = -1, .watch.fd = -1, .pid = -1 };
}

void scribes_done(struct scribes *scribes)
{
	for (size_t i = 0; i < SCRIBES_MAX; i++)
		if (scribes->items[i].fd >= 0)
			lose(&scribes->items[i]);
}

void scribes_order(struct scribes *scribes, const struct workspace *workspace,
	const struct scribe_order *order, scribe_told *told, void *context)
{
	struct scribe *scribe = choose(scribes);
	struct scribe_order whole = *order;
	struct err err = { 0 };
	whole.uid = workspace->uid;
	whole.gid = workspace->gid;
	int r = scribe ? io_send(scribe->fd, &whole, sizeof(whole), &workspace->fd, 1) : -EAGAIN;
	if (r < 0) {
		(void)err_sys(&err, -r, "have files copied");
		if (told)
			told(context, -1, &(struct snapshot_report){ 0 }, &err);
		return;
	}
	struct scribe_wait *wait = xcalloc(1, sizeof(*wait));
	*wait = (struct scribe_wait){ .told = told, .context = context };
	if (scribe->last)
		scribe->last->next = wait;
	else
		scribe->first = wait;
	scribe->last = wait;
	scribe->count++;
}

void scribes_forget(struct scribes *scribes, const void *context)
{
	for (size_t i = 0; i < SCRIBES_MAX; i++)
		for (struct scribe_wait *wait = scribes->items[i].first; wait; wait = wait->next)
			if (wait->context == context)
				wait->told = NULL;
}
