/* SPDX-License-Identifier: Apache-2.0 */
/* The cell of a session and of its branches, and the processes in it that serve a line. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "keeper/sample.h"
#include "keeper/session.h"
#include "keeper/watch.h"
#include "wire/json.h"

enum { ANCESTORS_MAX = 4 };

/* ---- runners ----------------------------------------------------------------------------------
 */

static void hear_line(void *context, uint32_t events)
{
	struct runner *runner = context;
	struct line_word word;
	(void)events;
	int r = line_receive(runner->fd, &word);
	if (r == -EAGAIN)
		return;
	if (r < 1)
		word = (struct line_word){ .kind = LINE_NONE, .number = r < 0 };
	errand_hear(runner, &word);
	line_word_done(&word);
}

struct runner *runner_new(struct family *family, int fd)
{
	struct runner *runner = xcalloc(1, sizeof(*runner));
	*runner = (struct runner){ .family = family, .fd = fd, .pidfd = -1, .slot = -1 };
	runner->watch = (struct watch){ fd, hear_line, runner };
	if (loop_add(&family->sessions->loop, &runner->watch, EPOLLIN) == 0)
		return runner;
	own_close(&runner->fd);
	free(runner);
	return NULL;
}

static void unlist(struct runner *runner)
{
	struct orders *orders = &runner->family->cell->page->orders;
	if (runner->slot >= 0)
		__atomic_store_n(&orders->watched[runner->slot], 0, __ATOMIC_RELEASE);
	runner->slot = -1;
}

/* From now on init tells when it ends. Where the table is full it is found out later. */
static void enlist(struct runner *runner)
{
	struct orders *orders = &runner->family->cell->page->orders;
	for (int i = 0; i < LIMIT_WATCHED && runner->slot < 0; i++)
		if (orders->watched[i] == 0)
			runner->slot = i;
	if (runner->slot >= 0)
		__atomic_store_n(&orders->watched[runner->slot], runner->number, __ATOMIC_RELEASE);
}

void runner_rest(struct runner *runner)
{
	unlist(runner);
	loop_remove(&runner->family->sessions->loop, &runner->watch);
}

void runner_free(struct runner *runner)
{
	if (!runner)
		return;
	runner_rest(runner);
	runner_signal(runner, SIGKILL);
	own_close(&runner->fd);
	own_close(&runner->pidfd);
	json_free(&runner->notes);
	free(runner);
}

void runner_signal(const struct runner *runner, int signal)
{
	if (runner->pidfd >= 0)
		(void)pidfd_send_signal(runner->pidfd, signal, NULL, 0);
}

static bool is_dead(int pidfd)
{
	struct pollfd death = { .fd = pidfd, .events = POLLIN };
	return poll(&death, 1, 0) != 0;
}

/* The number behind a key of /proc/PID/status; the last one of its line when there are many. */
static long last_number(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	long number = -1;
	if (!at)
		return -1;
	at += strlen(key);
	for (char *end = NULL; *at != '\n' && *at != '\0'; at = end) {
		number = strtol(at, &end, 10);
		if (end == at)
			return -1;
	}
	return number;
}

static int read_status(pid_t pid, long *ret_parent, long *ret_number)
{
	char path[64];
	char text[4096];
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (io_read_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return -ESRCH;
	*ret_parent = last_number(text, "\nPPid:");
	*ret_number = last_number(text, "\nNSpid:");
	return 0;
}

/* A copy is init's child, or where it could not be made so a child of what it is a copy of. */
static bool descends_from(long parent, pid_t init_pid)
{
	long number = 0;
	for (int i = 0; i < ANCESTORS_MAX && parent != init_pid; i++)
		if (parent <= 1 || read_status((pid_t)parent, &parent, &number) < 0)
			return false;
	return parent == init_pid;
}

/* The kernel says who spoke, but by the time we look the number may be another's. Who descends from
 * the cell's init belongs to the cell, and one that lives after we looked is the one we looked at.
 */
int runner_meet(struct runner *runner, pid_t pid)
{
	long parent = 0;
	long number = 0;
	auto_fd int pidfd = pidfd_open(pid, 0);
	if (pidfd < 0)
		return -errno;
	if (read_status(pid, &parent, &number) < 0)
		return -ESRCH;
	if (number < 2 || !descends_from(parent, runner->family->init_pid))
		return -EPERM;
	runner->number = (int32_t)number;
	enlist(runner);
	if (is_dead(pidfd)) {
		unlist(runner);
		return -ESRCH;
	}
	runner->pid = pid;
	runner->pidfd = take_fd(&pidfd);
	return 0;
}

/* ---- how processes end ------------------------------------------------------------------------
 */

/* How many were killed for want of memory since we last looked. */
static bool has_lost_memory(struct family *family)
{
	struct cgroup_usage usage = { -1, -1, -1, -1, -1 };
	if (!family->cell->has_group)
		return false;
	cgroup_read(&family->cell->group, NULL, &usage);
	bool has = usage.oom_kills > family->oom_kills;
	family->oom_kills = usage.oom_kills > 0 ? usage.oom_kills : 0;
	return has;
}

static void describe_end(int status, bool is_oom, char *why, size_t size)
{
	if (is_oom)
		(void)snprintf(why, size, "it ran out of memory");
	else if (WIFSIGNALED(status))
		(void)snprintf(why, size, "its process was ended by signal %d (%s)",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		(void)snprintf(why, size, "its process left with status %d", WEXITSTATUS(status));
}

static void take_end(struct family *family, int32_t number, int status)
{
	char why[128];
	bool is_oom = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && has_lost_memory(family);
	describe_end(status, is_oom, why, sizeof(why));
	for (struct session *session = family->members; session; session = session->sibling) {
		if (session->live && session->live->number == number) {
			const struct ending ending = { why, status, is_oom, is_oom };
			errand_lose_live(session, &ending);
			return;
		}
		if (ahead_lose(session, number))
			return;
		for (struct point *point = session->points; point; point = point->next)
			if (point->runner && point->runner->number == number) {
				point_lose(point);
				return;
			}
	}
}

/* The whole cell is gone: somebody ended init, or there was nobody left in it. */
static void lose_cell(struct family *family)
{
	struct err err = { 0 };
	const char *name =
		family->cell->exec_errno != 0 ? strerror(family->cell->exec_errno) : NULL;
	loop_remove(&family->sessions->loop, &family->status);
	family->is_dying = true;
	if (name)
		(void)err_set(&err, ERR_BROKEN, "its program could not be executed: %s", name);
	else if (!family->cell->is_ready)
		(void)cell_failure(family->cell, &err);
	else
		(void)err_set(&err, ERR_BROKEN, "its cell ended");
	for (struct session *session = family->members, *next; session; session = next) {
		next = session->sibling; /* the family goes with the last of them */
		session_end(session, "%s", err.text);
	}
}

static void hear_status(void *context, uint32_t events)
{
	struct family *family = context;
	struct cell *cell = family->cell;
	(void)events;
	cell_hear_init(cell);
	if (cell->status_fd < 0) {
		lose_cell(family);
		return;
	}
	if (!cell->has_ended)
		return;
	cell->has_ended = false;
	take_end(family, cell->end.pid, cell->end.wait_status);
}

static void answer_calls(void *context, uint32_t events)
{
	struct family *family = context;
	struct result result; /* who made them is not known any more */
	(void)events;
	result_init(&result);
	int n = watch_answer(family->cell->listener_fd, &result);
	result_done(&result);
	family->denied_calls += n > 0 ? n : 0;
	if (n >= 0 && family->denied_calls < LIMIT_DENIED_CALLS)
		return;
	loop_remove(&family->sessions->loop, &family->listener);
	own_close(&family->cell->listener_fd);
}

/* While a client has a turn it answers, and tells of them in its result. */
void family_watch_calls(struct family *family, bool is_ours)
{
	if (family->listener.fd >= 0)
		(void)loop_change(
			&family->sessions->loop, &family->listener, is_ours ? EPOLLIN : 0);
}

static void start_listening(struct family *family)
{
	if (family->listener.fd >= 0 || family->cell->listener_fd < 0)
		return;
	family->listener = (struct watch){ family->cell->listener_fd, answer_calls, family };
	if (loop_add(&family->sessions->loop, &family->listener, EPOLLIN) < 0)
		family->listener.fd = -1;
}

static void hear_gate(void *context, uint32_t events)
{
	struct family *family = context;
	struct cell *cell = family->cell;
	(void)events;
	cell_hear_gate(cell);
	start_listening(family);
	if (cell->gate_fd < 0) /* closed, and so not watched any more: nobody else has it */
		family->gate.fd = -1;
}

void family_settle(struct family *family)
{
	while (cell_collect(family->cell))
		;
	if (family->cell->gate_fd < 0)
		family->gate.fd = -1;
	start_listening(family);
}

/* ---- from a request to a cell, and its end ----------------------------------------------------
 */

/* Given directories are mapped to one user when they are mounted: as root, a session with any has a
 * zygote of its own. An interpreter just for it would take longer than it gains. */
static int find_pool(struct family *family, const struct session_request *request, struct err *err)
{
	const struct sessions_host *host = &family->sessions->host;
	struct policy policy;
	policy_init(&policy);
	int r = policy_from_json(&policy, request->policy, request->policy_len, err);
	bool is_own =
		machine_mode() == MODE_ROOT && policy.spec.ro.count + policy.spec.rw.count > 0;
	policy_done(&policy);
	TRY(r);
	family->owns_pool = is_own;
	if (is_own)
		return pool_open_own(request->policy, request->policy_len, &family->pool, err);
	family->pool = host->find_pool(host->context, request->policy, request->policy_len, err);
	return family->pool ? 0 : -1;
}

static int watch_cell(struct family *family)
{
	struct loop *loop = &family->sessions->loop;
	struct cell *cell = family->cell;
	family->status = (struct watch){ cell->status_fd, hear_status, family };
	int r = loop_add(loop, &family->status, EPOLLIN);
	if (r == 0 && cell->gate_fd >= 0) {
		family->gate = (struct watch){ cell->gate_fd, hear_gate, family };
		r = loop_add(loop, &family->gate, EPOLLIN);
	}
	start_listening(family);
	return r;
}

/* A session holds few descriptors: there may be hundreds. */
static void let_go(struct cell *cell)
{
	if (cell->has_group)
		own_close(&cell->group.oom_fd);
}

/* A runner that looks at code itself is told what the guard goes by. */
static void list_argv(
	const struct session_request *request, bool is_guest, struct strings *ret_argv)
{
	if (is_guest)
		strings_add(ret_argv, "--session");
	for (size_t i = 0; i < request->argv.count && !is_guest; i++)
		strings_add(ret_argv, request->argv.items[i]);
	if (request->guard && request->is_told)
		strings_add(ret_argv, request->guard);
}

static int start(struct family *family, const struct session_request *request,
	struct runner **ret_runner, bool *ret_is_warm, struct err *err)
{
	struct strings argv = { 0 };
	int line_fd = -1;
	TRY(find_pool(family, request, err));
	TRY(pool_take(family->pool, &family->cell, ret_is_warm, err));
	struct cell *cell = family->cell;
	family->init_pid = sample_pid(cell->pidfd);
	let_go(cell);
	bool is_guest = cell->walls.form == FORM_GUEST;
	list_argv(request, is_guest, &argv);
	int r = cell_start_session(cell, &argv, &request->env, &line_fd, err);
	strings_done(&argv);
	if (r == 0 && watch_cell(family) < 0)
		r = err_set(err, ERR_SYSTEM, "watch the cell of a session");
	*ret_runner = line_fd >= 0 ? runner_new(family, line_fd) : NULL;
	if (r == 0 && !*ret_runner)
		r = err_set(err, ERR_SYSTEM, "watch the line of a session");
	return r;
}

int family_open(struct sessions *sessions, const struct session_request *request,
	struct family **ret_family, struct runner **ret_runner, bool *ret_is_warm, struct err *err)
{
	struct family *family = xcalloc(1, sizeof(*family));
	*family = (struct family){ .sessions = sessions,
		.next = sessions->families,
		.status.fd = -1,
		.gate.fd = -1,
		.listener.fd = -1,
		.death.fd = -1 };
	sessions->families = family;
	*ret_runner = NULL;
	if (start(family, request, ret_runner, ret_is_warm, err) == 0) {
		*ret_family = family;
		return 0;
	}
	runner_free(*ret_runner);
	family_end(family);
	return -1;
}

static void unwatch(struct family *family)
{
	struct loop *loop = &family->sessions->loop;
	loop_remove(loop, &family->status);
	loop_remove(loop, &family->gate);
	loop_remove(loop, &family->listener);
	loop_remove(loop, &family->death);
}

void family_free(struct family *family)
{
	struct family **at = &family->sessions->families;
	while (*at != family)
		at = &(*at)->next;
	*at = family->next;
	unwatch(family);
	if (family->cell) {
		cell_free(family->cell);
		family->pool->lent--;
	}
	if (family->owns_pool && family->pool)
		pool_close(family->pool);
	free(family);
}

static void bury(void *context, uint32_t events)
{
	(void)events;
	family_free(context);
}

void family_end(struct family *family)
{
	unwatch(family);
	family->is_dying = true;
	if (family->cell) {
		cell_strike(family->cell);
		family->death = (struct watch){ family->cell->pidfd, bury, family };
		if (family->cell->pidfd >= 0 &&
			loop_add(&family->sessions->loop, &family->death, EPOLLIN) == 0)
			return;
		family->death.fd = -1;
	}
	family_free(family); /* and wait for its death here */
}
