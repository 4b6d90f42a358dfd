/* SPDX-License-Identifier: Apache-2.0 */
/* The owner's side. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/place.h"
#include "wire/json.h"
#include "worker/protocol.h"
#include "worker/worker.h"

enum { CHUNK = 64 << 10, PATIENCE_MS = 5000, POLL_MS = 2, INPUT_MAX = 32 << 10 };

struct worker {
	struct workers *owner;
	struct worker *next;
	pid_t pid;
	int sock;      /* owned */
	int cancel_fd; /* owned */
	struct watch watch;
	struct work *work; /* what it is at; NULL: nothing */
	struct buf heard;  /* what it said and nobody was told yet */
	size_t searched;   /* of that, for the end of a line */
	bool is_telling;
	size_t sent;        /* of the job, with its head */
	uint32_t interests; /* what the loop watches for */
};

struct work {
	struct workers *owner;
	struct work *next; /* among those that wait */
	struct worker *worker;
	struct work_head head;
	char *job; /* owned */
	struct listener listener;
	bool is_cancelled, is_paused;
};

struct workers {
	struct loop *loop;
	size_t most, count;
	struct worker *first;
	struct work *waiting, **waiting_end;
	uint64_t number;
	char program[PATH_MAX + 64];
};

/* ---- starting and ending one --------------------------------------------------------------------
 */

static int spawn(const char *program, int sock, int cancel_fd, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	char *const args[] = { (char *)"hotcell-worker", NULL };
	(void)sigemptyset(&none);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attr);
	int r = posix_spawn_file_actions_adddup2(&actions, sock, WORKER_JOBS_FD);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, cancel_fd, WORKER_CANCEL_FD);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(
			&actions, STDOUT_FILENO, "/dev/null", O_RDWR, 0);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(&actions, WORKER_CANCEL_FD + 1);
	if (r == 0)
		r = posix_spawnattr_setsigmask(&attr, &none);
	if (r == 0)
		r = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	if (r == 0)
		r = posix_spawn(ret_pid, program, &actions, &attr, args, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attr);
	return -r;
}

static void hear_worker(void *context, uint32_t events);

/* Both ends of what joins us; the worker's own are above the numbers they are moved to. */
static int join(int socks[2], int pipes[2])
{
	int worker_sock = -1;
	int worker_pipe = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		return -errno;
	if (pipe2(pipes, O_CLOEXEC) < 0 ||
		(worker_sock = fcntl(socks[1], F_DUPFD_CLOEXEC, WORKER_CANCEL_FD + 1)) < 0 ||
		(worker_pipe = fcntl(pipes[0], F_DUPFD_CLOEXEC, WORKER_CANCEL_FD + 1)) < 0) {
		own_close(&worker_sock);
		return -errno;
	}
	(void)close(socks[1]);
	(void)close(pipes[0]);
	socks[1] = worker_sock;
	pipes[0] = worker_pipe;
	(void)fcntl(socks[0], F_SETFL, O_RDWR | O_NONBLOCK);
	(void)fcntl(pipes[1], F_SETFL, O_WRONLY | O_NONBLOCK);
	return 0;
}

static int start_worker(struct workers *workers, struct worker **ret_worker, struct err *err)
{
	int socks[2] = { -1, -1 };
	int pipes[2] = { -1, -1 };
	if (!workers->program[0])
		TRY(place_program(
			"hotcell-worker", workers->program, sizeof(workers->program), err));
	struct worker *worker = xcalloc(1, sizeof(*worker));
	int r = join(socks, pipes);
	if (r == 0)
		r = spawn(workers->program, socks[1], pipes[0], &worker->pid);
	own_close(&socks[1]);
	own_close(&pipes[0]);
	worker->watch = (struct watch){ .fd = socks[0], .wake = hear_worker, .context = worker };
	if (r == 0)
		r = loop_add(workers->loop, &worker->watch, 0);
	if (r < 0) {
		own_close(&socks[0]);
		own_close(&pipes[1]);
		free(worker);
		return err_sys(err, -r, "start '%s'", workers->program);
	}
	worker->owner = workers;
	worker->sock = socks[0];
	worker->cancel_fd = pipes[1];
	worker->next = workers->first;
	workers->first = worker;
	workers->count++;
	buf_init(&worker->heard, WORKER_LINE_MAX);
	*ret_worker = worker;
	return 0;
}

/* One that is left alone ends what it is at and cleans up; one that does not is killed. */
static void bury(pid_t pid)
{
	for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += POLL_MS) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return;
		(void)poll(NULL, 0, POLL_MS);
	}
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void leave_alone(struct worker *worker)
{
	if (worker->work)
		work_cancel(worker->work);
	loop_remove(worker->owner->loop, &worker->watch);
	own_close(&worker->sock);
}

static void unlink_worker(struct worker *worker)
{
	struct worker **at = &worker->owner->first;
	while (*at != worker)
		at = &(*at)->next;
	*at = worker->next;
	worker->owner->count--;
}

/* One that is in no list any more. */
static void end_worker(struct worker *worker)
{
	leave_alone(worker);
	bury(worker->pid);
	own_close(&worker->cancel_fd);
	buf_done(&worker->heard);
	free(worker);
}

/* ---- a job --------------------------------------------------------------------------------------
 */

static void watch_for(struct worker *worker)
{
	const struct work *work = worker->work;
	bool is_sent = !work || worker->sent == sizeof(work->head) + work->head.len;
	uint32_t events = (is_sent ? 0 : EPOLLOUT) | (work && work->is_paused ? 0 : EPOLLIN);
	if (events == worker->interests)
		return;
	worker->interests = events;
	(void)loop_change(worker->owner->loop, &worker->watch, events);
}

static void free_work(struct work *work)
{
	if (!work)
		return;
	free(work->job);
	free(work);
}

/* As much of the job as its socket takes now. -1: it is gone. */
static int send_work(struct worker *worker)
{
	const struct work *work = worker->work;
	while (worker->sent < sizeof(work->head) + work->head.len) {
		bool is_head = worker->sent < sizeof(work->head);
		const char *from = is_head ? (const char *)&work->head + worker->sent
					   : work->job + (worker->sent - sizeof(work->head));
		size_t left = (is_head ? sizeof(work->head) : sizeof(work->head) + work->head.len) -
			      worker->sent;
		ssize_t n = send(worker->sock, from, left, MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n < 0)
			return -1;
		worker->sent += (size_t)n;
	}
	return 0;
}

static void begin_work(struct worker *worker, struct work *work)
{
	worker->work = work;
	worker->sent = 0;
	worker->searched = worker->heard.len = 0;
	work->worker = worker;
	(void)send_work(worker); /* that it is gone is heard as the end of its socket */
	if (work->is_cancelled)
		work_cancel(work);
	watch_for(worker);
}

static void take_next(struct worker *worker)
{
	struct workers *workers = worker->owner;
	struct work *work = workers->waiting;
	if (!work) {
		watch_for(worker);
		return;
	}
	workers->waiting = work->next;
	if (!workers->waiting)
		workers->waiting_end = &workers->waiting;
	begin_work(worker, work);
}

/* The job is over; `line` is its last event, NULL: there is none. */
static void end_work(struct worker *worker, const char *line, size_t len)
{
	struct work *work = worker->work;
	if (!work)
		return;
	/* whoever hears it may hand over the next job: this worker is not free before we are done
	 */
	work->listener.hear(work->listener.context, line, len, true);
	worker->work = NULL;
	free_work(work);
}

/* A job that is cancelled while it speaks ends within a line; what is left of that is no event. */
static bool is_whole(const char *line, size_t len)
{
	return len > 2 && line[0] == '{' && line[len - 1] == '}';
}

/* Tells the whole lines. Returns false when the worker is free again. */
static bool tell_lines(struct worker *worker)
{
	struct buf *heard = &worker->heard;
	size_t at = 0;
	bool is_busy = true;
	worker->is_telling = true;
	while (worker->work && !worker->work->is_paused && worker->searched < heard->len) {
		const char *line = heard->data + at;
		const char *end =
			memchr(heard->data + worker->searched, '\n', heard->len - worker->searched);
		worker->searched = end ? (size_t)(end - heard->data) + 1 : heard->len;
		if (!end)
			break;
		size_t len = (size_t)(end - line);
		at = worker->searched;
		if (!is_whole(line, len))
			continue;
		is_busy = !work_result(line, len, &(size_t){ 0 });
		if (is_busy)
			worker->work->listener.hear(
				worker->work->listener.context, line, len, false);
		else
			end_work(worker, line, len);
	}
	worker->is_telling = false;
	if (at == 0)
		return is_busy;
	heard->len -= at;
	worker->searched -= at;
	memmove(heard->data, heard->data + at, heard->len);
	return is_busy;
}

/* 1: there may be more; 0: not now; -1: the worker is gone or talks nonsense. */
static int read_some(struct worker *worker)
{
	char chunk[CHUNK];
	ssize_t n = read(worker->sock, chunk, sizeof(chunk));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0 || !worker->work)
		return -1;
	return buf_append(&worker->heard, chunk, (size_t)n) < 0 ? -1 : 1;
}

/* A worker that died is replaced when there is work for another. */
static void lose_worker(struct worker *worker)
{
	struct workers *workers = worker->owner;
	struct worker *next = NULL;
	struct err err = { 0 };
	end_work(worker, NULL, 0);
	unlink_worker(worker);
	end_worker(worker);
	if (!workers->waiting)
		return;
	if (start_worker(workers, &next, &err) == 0 && next) {
		take_next(next);
		return;
	}
	while (workers->count == 0 && workers->waiting) { /* nobody is left to do it */
		struct work *work = workers->waiting;
		workers->waiting = work->next;
		work->listener.hear(work->listener.context, NULL, 0, true);
		free_work(work);
	}
	if (!workers->waiting)
		workers->waiting_end = &workers->waiting;
}

static void hear_worker(void *context, uint32_t events)
{
	struct worker *worker = context;
	bool is_lost = worker->work && (events & EPOLLOUT) && send_work(worker) < 0;
	if (!is_lost && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		is_lost = read_some(worker) < 0;
	bool is_busy = tell_lines(worker);
	if (is_lost && (is_busy || !worker->work))
		lose_worker(worker);
	else if (!is_busy)
		take_next(worker);
	else
		watch_for(worker);
}

/* ---- the door -----------------------------------------------------------------------------------
 */

struct workers *workers_open(struct loop *loop, size_t most)
{
	struct workers *workers = xcalloc(1, sizeof(*workers));
	workers->loop = loop;
	workers->most = most;
	workers->waiting_end = &workers->waiting;
	return workers;
}

void workers_set_most(struct workers *workers, size_t most)
{
	workers->most = most;
}

void workers_count(const struct workers *workers, size_t *ret_all, size_t *ret_busy)
{
	*ret_all = workers->count;
	*ret_busy = 0;
	for (const struct worker *worker = workers->first; worker; worker = worker->next)
		*ret_busy += worker->work != NULL;
}

bool workers_has(const struct workers *workers, pid_t pid)
{
	const struct worker *worker = workers->first;
	while (worker && worker->pid != pid)
		worker = worker->next;
	return worker;
}

void workers_close(struct workers *workers)
{
	if (!workers)
		return;
	while (workers->waiting) {
		struct work *work = workers->waiting;
		workers->waiting = work->next;
		free_work(work);
	}
	for (struct worker *worker = workers->first; worker; worker = worker->next)
		leave_alone(worker);
	while (workers->first) {
		struct worker *worker = workers->first;
		struct work *work = worker->work;
		workers->first = worker->next;
		end_worker(worker);
		free_work(work);
	}
	free(workers);
}

static struct worker *find_idle(const struct workers *workers)
{
	struct worker *worker = workers->first;
	while (worker && worker->work)
		worker = worker->next;
	return worker;
}

/* A name that did not fit would be another's. */
static int copy_name(const char *what, const char *name, char *to, struct err *err)
{
	if (name && strlen(name) > WORKER_NAME_MAX)
		return err_set(err, ERR_LIMIT, "the name of the %s is over %d bytes", what,
			WORKER_NAME_MAX);
	(void)snprintf(to, WORKER_NAME_MAX + 1, "%s", name ? name : "");
	return 0;
}

static int fill_head(struct work_head *head, const struct work_wish *wish, struct err *err)
{
	if (wish->len > LIMIT_SPEC_BYTES)
		return err_set(err, ERR_LIMIT, "the job is over %d bytes", LIMIT_SPEC_BYTES);
	*head = (struct work_head){ .kind = wish->kind,
		.len = (uint32_t)wish->len,
		.memory_most = wish->memory_most,
		.cpu_most_ms = wish->cpu_most_ms,
		.sessions_most = wish->sessions_most };
	(void)snprintf(head->place, sizeof(head->place), "%s", wish->place ? wish->place : "");
	TRY(copy_name("tenant", wish->tenant, head->tenant, err));
	return copy_name("token", wish->token, head->token, err);
}

int workers_submit(struct workers *workers, const struct work_wish *wish,
	const struct listener *listener, struct work **ret_work, struct err *err)
{
	struct worker *worker = find_idle(workers);
	struct work_head head;
	TRY(fill_head(&head, wish, err));
	if (!worker && workers->count < workers->most && start_worker(workers, &worker, err) < 0 &&
		workers->count == 0)
		return -1;
	struct work *work = xcalloc(1, sizeof(*work));
	*work = (struct work){ .owner = workers,
		.head = head,
		.job = xstrndup(wish->text, wish->len),
		.listener = *listener };
	work->head.number = ++workers->number;
	*ret_work = work;
	if (worker) {
		begin_work(worker, work);
		return 0;
	}
	*workers->waiting_end = work;
	workers->waiting_end = &work->next;
	return 0;
}

/* It is in one piece or not at all: a worker that asked for a line reads it. */
int work_input(struct work *work, const char *line, struct err *err)
{
	struct worker *worker = work->worker;
	size_t len = line ? strlen(line) : 0;
	struct work_head head = { .number = work->head.number,
		.kind = line ? WORK_INPUT : WORK_INPUT_END,
		.len = (uint32_t)len };
	struct iovec parts[] = {
		{ .iov_base = &head, .iov_len = sizeof(head) },
		{ .iov_base = (char *)line, .iov_len = len },
	};
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = COUNT_OF(parts) };
	if (!worker || worker->sent < sizeof(work->head) + work->head.len)
		return err_set(err, ERR_INVALID, "it has not begun: nothing asks for input");
	if (len > INPUT_MAX)
		return err_set(err, ERR_LIMIT, "the line is over %d bytes", INPUT_MAX);
	ssize_t n = sendmsg(worker->sock, &message, MSG_NOSIGNAL);
	if (n < 0 || (size_t)n < sizeof(head) + len)
		return err_set(err, ERR_BROKEN, "the line could not be handed on");
	return 0;
}

void work_cancel(struct work *work)
{
	work->is_cancelled = true;
	/* one that waits is cancelled when its turn comes */
	if (work->worker)
		(void)write(work->worker->cancel_fd, &work->head.number, sizeof(work->head.number));
}

void work_pause(struct work *work, bool is_paused)
{
	struct worker *worker = work->worker;
	work->is_paused = is_paused;
	if (!worker || worker->is_telling)
		return;
	if (is_paused)
		watch_for(worker);
	else
		hear_worker(worker, 0); /* what has come meanwhile */
}

const char *work_result(const char *line, size_t len, size_t *ret_len)
{
	static const char start[] = "{\"event\":\"done\",\"data\":";
	static const char behind[] = ",\"execution_id\":";
	if (len < sizeof(start) || memcmp(line, start, sizeof(start) - 1) != 0)
		return NULL;
	size_t end = len - sizeof(behind);
	while (end > sizeof(start) && memcmp(line + end, behind, sizeof(behind) - 1) != 0)
		end--;
	*ret_len = end - (sizeof(start) - 1);
	return end > sizeof(start) ? line + sizeof(start) - 1 : NULL;
}

int work_refusal(const char *result, size_t len, struct err *err)
{
	enum { REFUSAL_MAX = 16 << 10, REFUSAL_DEPTH = 4 };
	auto_json struct json_object *json = NULL;
	if (len < sizeof(WORK_REFUSAL) - 1 ||
		memcmp(result, WORK_REFUSAL, sizeof(WORK_REFUSAL) - 1) != 0)
		return 0;
	TRY(json_read(result, len, REFUSAL_MAX, REFUSAL_DEPTH, &json, err));
	struct json_object *refused = json_object_object_get(json, "refused");
	int code = json_object_get_int(json_object_object_get(refused, "code"));
	const char *why = json_object_get_string(json_object_object_get(refused, "message"));
	return err_set(err,
		code > ERR_NONE && code < ERR_CODE_COUNT ? (enum err_code)code : ERR_BROKEN, "%s",
		why ? why : "it was refused");
}

char *work_refuse(const char *place, const char *why)
{
	struct spec spec;
	struct result result;
	spec_init(&spec);
	result_init(&result);
	result.status = STATUS_SETUP_ERROR;
	result.exit_code = EXIT_COULD_NOT_RUN;
	result_set_error(&result, "setup", "%s%s%s", place ? place : "", place ? ": " : "", why);
	char *json = result_to_json(&result, &spec, false);
	result_done(&result);
	spec_done(&spec);
	return json;
}

enum run_status work_status(const char *result, size_t len)
{
	static const char key[] = "\"status\":\"";
	const char *at = memmem(result, len, key, sizeof(key) - 1);
	for (int i = STATUS_OK; at && i < RUN_STATUS_COUNT; i++) {
		size_t name_len = strlen(run_status_names[i]);
		if (strncmp(at + sizeof(key) - 1, run_status_names[i], name_len) == 0 &&
			at[sizeof(key) - 1 + name_len] == '"')
			return (enum run_status)i;
	}
	return STATUS_NONE;
}

static int64_t read_us(const char *text, size_t len)
{
	char number[32];
	(void)snprintf(number, sizeof(number), "%.*s", len < 24 ? (int)len : 24, text);
	double ms = strtod(number, NULL);
	return ms > 0 && ms < 1e12 ? (int64_t)(ms * 1000) : 0;
}

/* What code shows may have members of these names too, but stands before; a compiler's time comes
 * after the program's. */
int64_t work_cpu_us(const char *result, size_t len)
{
	static const char usage[] = "\"usage\":{\"wall_ms\":";
	static const char key[] = "\"cpu_ms\":";
	const char *end = result + len;
	const char *last = end;
	int64_t sum = 0;
	for (const char *at = result;
		(at = memmem(at, (size_t)(end - at), usage, sizeof(usage) - 1)) != NULL; at++)
		last = at;
	for (const char *at = last;
		(at = memmem(at, (size_t)(end - at), key, sizeof(key) - 1)) != NULL;) {
		at += sizeof(key) - 1;
		sum += read_us(at, (size_t)(end - at));
	}
	return sum;
}
