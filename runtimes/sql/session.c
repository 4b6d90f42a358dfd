/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session of SQL: one connection that turns come and go at. What it keeps is all in memory, so a
 * copy of the process is a point with everything in it: tables, those that are temporary, and a
 * transaction that is open. Only a database in a file cannot be in two transactions at once.
 *
 * An interrupt is looked for while SQLite works, not heard by a handler: SQLite asks every so many
 * steps whether it shall go on.
 */
#include "sql/session.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/io.h"
#include "base/own.h"
#include "relay/order.h"
#include "sql/ask.h"
#include "wire/frame.h"
#include "wire/json.h"

enum { STEPS = 10000, FRAME_DEPTH = 32, INTERRUPTED = 130, NOTES_MAX = 16 };

struct session {
	struct shell *shell; /* borrowed */
	int line_fd;         /* owned */
	int signal_fd;       /* owned */
	int null_fd;         /* owned */
	int64_t executions;
};

/* ---- interrupts ---------------------------------------------------------------------------------
 */

static bool has_signal(const struct session *session)
{
	struct signalfd_siginfo info;
	bool is_there = false;
	while (read(session->signal_fd, &info, sizeof(info)) > 0)
		is_there = true;
	return is_there;
}

static int look_up(void *context)
{
	const struct session *session = context;
	session->shell->is_interrupted |= has_signal(session);
	return session->shell->is_interrupted;
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

/* ---- turns
 * ---------------------------------------------------------------------------------------- */

static void tell(struct shell *shell, struct json_object *json)
{
	auto_json struct json_object *taken = json;
	auto_free char *text = json_print(taken, false);
	auto_buf struct buf frame;
	buf_init(&frame, CHANNEL_FRAME_MAX);
	if (buf_append(&frame, text, strlen(text)) == 0)
		channel_send(&shell->channel, &frame);
}

static void tell_done(struct session *session)
{
	struct shell *shell = session->shell;
	struct json_object *json = json_object_new_object();
	int code = shell->is_interrupted ? INTERRUPTED : shell->has_failed;
	json_put(json, "event", json_new_string("done"));
	json_put(json, "exit_code", json_object_new_int(code));
	json_put(json, "execution_count", json_object_new_int64(session->executions));
	json_put(json, "interrupted", json_object_new_boolean(shell->is_interrupted));
	tell(shell, json);
}

static void tell_leaving(struct shell *shell)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "event", json_new_string("error"));
	json_put(json, "kind", json_new_string("runtime"));
	json_put(json, "name", json_new_string("SessionEnded"));
	json_put(json, "value", json_new_string("the session was left with .quit"));
	tell(shell, json);
}

static void execute(struct session *session, struct json_object *request)
{
	struct shell *shell = session->shell;
	struct json_object *code = json_object_object_get(request, "code");
	struct json_object *name = json_object_object_get(request, "name");
	struct script script = { .name = json_object_is_type(name, json_type_string)
						 ? json_object_get_string(name)
						 : "<cell>" };
	session->executions++;
	if (!json_object_is_type(code, json_type_string))
		return;
	script.text = json_object_get_string(code);
	script.len = (size_t)json_object_get_string_len(code);
	(void)shell_run(shell, &script);
	shell_finish(shell);
	if (shell->is_leaving)
		tell_leaving(shell);
}

static int read_request(const struct shell *shell, struct json_object **ret_json)
{
	struct frames frames;
	struct err err = { 0 };
	const char *data;
	size_t len;
	char part[16 << 10];
	int r = 0;
	frames_init(&frames, CHANNEL_FRAME_MAX);
	while ((r = frames_next(&frames, &data, &len)) == 0) {
		ssize_t n = recv(shell->channel.fd, part, sizeof(part), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || frames_push(&frames, part, (size_t)n) < 0) {
			r = -EPIPE;
			break;
		}
	}
	if (r > 0)
		r = json_read(data, len, CHANNEL_FRAME_MAX, FRAME_DEPTH, ret_json, &err);
	frames_done(&frames);
	return r;
}

static void serve_request(struct session *session, struct json_object *json)
{
	struct shell *shell = session->shell;
	struct json_object *request;
	if ((request = json_object_object_get(json, "execute")))
		execute(session, request);
	else if ((request = json_object_object_get(json, "complete")))
		tell(shell, ask_complete(shell, request));
	else if ((request = json_object_object_get(json, "inspect")))
		tell(shell, ask_inspect(shell, request));
	else if ((request = json_object_object_get(json, "is_complete")))
		tell(shell, ask_is_complete(shell, request));
	else
		shell->has_failed = true;
}

static void set_streams(int in, int out, int complaints)
{
	(void)fflush(stdout);
	(void)fflush(stderr);
	(void)dup2(in, STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(complaints, STDERR_FILENO);
	/* that one client has gone is nothing the next one need know */
	clearerr(stdin);
	clearerr(stdout);
	clearerr(stderr);
}

static void serve_turn(struct session *session, struct order *order)
{
	struct shell *shell = session->shell;
	auto_json struct json_object *json = NULL;
	set_streams(order->fds[TURN_IN], order->fds[TURN_OUT], order->fds[TURN_ERR]);
	shell->channel.fd = take_fd(&order->fds[TURN_CHANNEL]);
	shell->has_failed = false;
	shell->is_interrupted = false;
	if (read_request(shell, &json) == 0)
		serve_request(session, json);
	set_streams(session->null_fd, session->null_fd, session->null_fd);
	tell_done(session);
	channel_close(&shell->channel);
	order_answer(session->line_fd, "idle", order->number);
}

/* ---- copies
 * ----------------------------------------------------------------------------------------- */

struct files {
	struct json_object *notes; /* owned */
	char busy[256];            /* why there can be no copy */
};

static void take_file(struct shell *shell, const struct value *values, void *context)
{
	struct files *files = context;
	auto_free char *schema = xstrndup(values[0].data, values[0].len);
	auto_free char *path = xstrndup(values[1].data, values[1].len);
	if (path[0] == '\0')
		return;
	auto_free char *note = xasprintf("database file %s", path);
	if (sqlite3_txn_state(shell->db, schema) != SQLITE_TXN_NONE)
		(void)snprintf(files->busy, sizeof(files->busy),
			"transaction in the database file %.150s: COMMIT or ROLLBACK first", path);
	if (json_object_array_length(files->notes) < NOTES_MAX)
		(void)json_object_array_add(files->notes, json_new_string(note));
}

static void say_forked(struct session *session, int64_t number, struct json_object *notes)
{
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, "forked", json_object_new_int64(number));
	json_put(json, "notes", notes);
	auto_free char *text = json_print(json, false);
	(void)io_send(session->line_fd, text, strlen(text), NULL, 0);
}

/* A sibling, which does not depend on us: no function of libc makes one. */
static pid_t copy_self(void)
{
	return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
}

static void serve_fork(struct session *session, struct order *order)
{
	struct files files = { .notes = json_object_new_array() };
	auto_json struct json_object *notes = files.notes;
	(void)shell_each(session->shell, "SELECT name, file FROM pragma_database_list", NULL,
		take_file, &files);
	if (files.busy[0] != '\0') {
		order_refuse(session->line_fd, order->number, files.busy);
		return;
	}
	pid_t pid = copy_self();
	if (pid < 0)
		order_refuse(session->line_fd, order->number, strerror(errno));
	if (pid != 0)
		return;
	own_close(&session->line_fd);
	session->line_fd = take_fd(&order->fds[0]);
	if (order->is_branch)
		sqlite3_randomness(0, NULL); /* begins anew */
	say_forked(session, order->number, take_ptr(&notes));
}

/* ---- the line
 * ------------------------------------------------------------------------------------- */

static bool obey(struct session *session, struct order *order)
{
	switch (order->kind) {
	case ORDER_TURN:
		serve_turn(session, order);
		break;
	case ORDER_BRANCH:
		sqlite3_randomness(0, NULL); /* begins anew */
		break;
	case ORDER_FORK:
		serve_fork(session, order);
		break;
	case ORDER_POINT:
	case ORDER_ROLLBACK:
		order_refuse(session->line_fd, order->number,
			"points of SQL are copies: ask for a fork");
		break;
	case ORDER_BYE:
		return false;
	default:
		break;
	}
	return !session->shell->is_leaving;
}

int session_serve(struct shell *shell, int line_fd)
{
	struct session session = {
		.shell = shell,
		.line_fd = line_fd,
		.signal_fd = watch_signals(),
		.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC),
	};
	struct order order;
	bool is_serving = session.signal_fd >= 0 && session.null_fd >= 0;
	sqlite3_progress_handler(shell->db, STEPS, look_up, &session);
	(void)sqlite3_exec(shell->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
	if (is_serving)
		order_say_ready(session.line_fd);
	while (is_serving && order_receive(session.line_fd, &order) > 0) {
		(void)has_signal(&session); /* one that came between turns is for nobody */
		is_serving = obey(&session, &order);
		order_done(&order);
	}
	if (shell->is_leaving)
		order_say_ended(session.line_fd, "the session was left with .quit");
	own_close(&session.line_fd);
	own_close(&session.signal_fd);
	own_close(&session.null_fd);
	return 0;
}
