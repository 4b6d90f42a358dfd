/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line protocol for programs. Each line that comes is a request, {"id":…,"VERB":{…}}; each is
 * answered by one line with the same id: {"id":…,"ok":true,"answer":{…}} or
 * {"id":…,"ok":false,"error":"…"}. What happens while code runs comes as lines with "event", those
 * of `hotcell run --json --stream`, before the answer to the request that executes it.
 *
 * Requests are served one after the other, in the order they came. `interrupt` and `input` do not
 * wait: they are for the code that runs.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "cli/repl.h"
#include "model/limits.h"
#include "model/units.h"

enum { QUEUE_MAX = 256, READ_SIZE = 64 << 10 };

/* Requests that have come and were not served yet. */
struct intake {
	struct repl *repl;
	struct buf bytes; /* of the line that has not come whole */
	struct json_object *queue[QUEUE_MAX];
	size_t count;
	bool has_ended;
	bool is_late; /* a line was longer than any may be: the rest of it is passed over */
	int watch_fd; /* epoll: readable when something came, or a signal */
	const char *execution_id; /* of what runs, or NULL */
};

/* ---- saying -----------------------------------------------------------------------------------
 */

static void say(struct intake *intake, struct json_object *line)
{
	auto_json struct json_object *own = line;
	auto_free char *text = json_print(own, false);
	auto_free char *whole = xasprintf("%s\n", text);
	if (io_write_until(STDOUT_FILENO, whole, strlen(whole), -1) < 0)
		intake->repl->is_leaving = true; /* nobody listens any more */
}

static struct json_object *answer_to(struct json_object *request, bool is_ok)
{
	struct json_object *line = json_object_new_object();
	struct json_object *id = json_object_object_get(request, "id");
	json_put(line, "id", json_object_get(id));
	json_put(line, "ok", json_object_new_boolean(is_ok));
	return line;
}

static void say_answer(
	struct intake *intake, struct json_object *request, struct json_object *answer)
{
	struct json_object *line = answer_to(request, true);
	json_put(line, "answer", answer);
	say(intake, line);
}

static void say_error(struct intake *intake, struct json_object *request, const struct err *err)
{
	struct json_object *line = answer_to(request, false);
	json_put(line, "error", json_new_string(err->text));
	say(intake, line);
}

/* ---- what comes -------------------------------------------------------------------------------
 */

static void take_line(struct intake *intake, const char *text, size_t len)
{
	struct err err = { 0 };
	struct json_object *request = NULL;
	size_t blanks = strspn(text, " \t\r");
	if (blanks >= len)
		return;
	if (json_read(text, len, LIMIT_SPEC_BYTES, LIMIT_FRAME_DEPTH, &request, &err) < 0) {
		(void)err_wrap(&err, "a request is a line with one JSON object");
		say_error(intake, NULL, &err);
		return;
	}
	intake->queue[intake->count++] = request;
}

/* Lines that have come whole become requests, as many as there is room for. */
static void take_lines(struct intake *intake)
{
	struct buf *bytes = &intake->bytes;
	size_t at = 0;
	while (intake->count < QUEUE_MAX) {
		const char *line = buf_text(bytes) + at;
		const char *end = memchr(line, '\n', bytes->len - at);
		size_t len = end ? (size_t)(end - line) : bytes->len - at;
		if (!end && (!intake->has_ended || len == 0))
			break;
		auto_free char *text = xstrndup(line, len);
		if (!intake->is_late)
			take_line(intake, text, len);
		intake->is_late = false;
		at += len + (end != NULL);
	}
	if (at == 0)
		return;
	memmove(bytes->data, bytes->data + at, bytes->len - at);
	bytes->len -= at;
}

static void refuse_long_line(struct intake *intake)
{
	struct err err = { 0 };
	(void)err_set(&err, ERR_LIMIT, "a request is longer than %d bytes", LIMIT_SPEC_BYTES);
	if (!intake->is_late)
		say_error(intake, NULL, &err);
	intake->is_late = true;
	intake->bytes.len = 0;
}

static void watch_input(struct intake *intake, bool is_watched)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = STDIN_FILENO };
	(void)epoll_ctl(
		intake->watch_fd, is_watched ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, STDIN_FILENO, &event);
}

/* Reads once what is there. A program that sends more than there is room for waits. */
static void read_input(struct intake *intake)
{
	char bytes[READ_SIZE];
	if (intake->has_ended || intake->count == QUEUE_MAX)
		return;
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	intake->has_ended = n <= 0;
	if (intake->has_ended)
		watch_input(intake, false);
	else if (buf_append(&intake->bytes, bytes, (size_t)n) < 0)
		refuse_long_line(intake);
	take_lines(intake);
}

static bool read_signal(struct intake *intake)
{
	struct signalfd_siginfo info;
	bool has_come = false;
	while (read(intake->repl->interrupt_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		has_come = true;
		intake->repl->is_leaving |= info.ssi_signo != SIGINT;
	}
	return has_come;
}

static bool is_readable(int fd)
{
	struct pollfd input = { .fd = fd, .events = POLLIN };
	return poll(&input, 1, 0) == 1;
}

static struct json_object *take_request(struct intake *intake, size_t i)
{
	struct json_object *request = intake->queue[i];
	for (intake->count--; i < intake->count; i++)
		intake->queue[i] = intake->queue[i + 1];
	return request;
}

/* The first request of this verb that waits; NULL: none. The caller's. */
static struct json_object *find_request(struct intake *intake, const char *verb)
{
	for (size_t i = 0; i < intake->count; i++) {
		if (json_object_object_get_ex(intake->queue[i], verb, NULL))
			return take_request(intake, i);
	}
	return NULL;
}

static bool take_interrupts(struct intake *intake)
{
	bool has_come = false;
	for (;;) {
		auto_json struct json_object *request = find_request(intake, "interrupt");
		if (!request)
			return has_come;
		struct json_object *answer = json_object_new_object();
		json_put(answer, "interrupted",
			json_object_new_boolean(intake->execution_id != NULL));
		say_answer(intake, request, answer);
		has_come = true;
	}
}

/* Something came while code runs: whether that is a wish to interrupt it. */
static bool is_interrupt(void *context)
{
	struct intake *intake = context;
	bool has_signal = read_signal(intake);
	if (is_readable(STDIN_FILENO))
		read_input(intake);
	if (intake->count == QUEUE_MAX)
		watch_input(intake, false);
	return take_interrupts(intake) || has_signal;
}

/* Waits until there is a request. NULL: nothing more comes, or it is time to go. */
static struct json_object *next_request(struct intake *intake)
{
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = intake->repl->interrupt_fd, .events = POLLIN },
		};
		(void)take_interrupts(intake);
		if (intake->repl->is_leaving)
			return NULL;
		if (intake->count > 0)
			return take_request(intake, 0);
		take_lines(intake);
		if (intake->count > 0)
			continue;
		if (intake->has_ended)
			return NULL;
		(void)poll(fds, COUNT_OF(fds), -1);
		if (fds[1].revents && read_signal(intake))
			return NULL; /* between executions Ctrl-C ends a program like any other */
		if (fds[0].revents)
			read_input(intake);
	}
}

/* ---- executing --------------------------------------------------------------------------------
 */

static int need_text(struct json_object *args, const char *verb, const char *key,
	const char **ret_text, struct err *err)
{
	*ret_text = repl_text(args, key);
	if (*ret_text)
		return 0;
	return err_set(err, ERR_INVALID, "%s: needs '%s', a string", verb, key);
}

/* Whoever drives us is asked for the line, and may interrupt instead. */
static char *answer_input(void *context, const char *prompt, bool is_secret)
{
	struct intake *intake = context;
	struct json_object *line = json_object_new_object();
	json_put(line, "event", json_new_string("input_request"));
	json_put(line, "prompt", json_new_string(prompt));
	json_put(line, "password", json_object_new_boolean(is_secret));
	json_put(line, "execution_id", json_new_string(intake->execution_id));
	say(intake, line);
	while (!intake->repl->is_leaving) {
		struct pollfd fds = { .fd = intake->watch_fd, .events = POLLIN };
		auto_json struct json_object *request = find_request(intake, "input");
		const char *text = repl_text(json_object_object_get(request, "input"), "text");
		if (request) {
			say_answer(intake, request, json_object_new_object());
			return text ? xstrdup(text) : NULL;
		}
		if (intake->has_ended)
			return NULL;
		(void)poll(&fds, 1, -1);
		if (is_interrupt(intake)) {
			(void)raise(SIGINT); /* seen when the answer is out */
			return NULL;
		}
	}
	return NULL;
}

static int64_t milliseconds(struct json_object *args, const char *key)
{
	return (int64_t)(json_object_get_double(json_object_object_get(args, key)) * 1000);
}

static int tell_result(int r, struct rendering *rendering, struct result *result,
	const struct spec *spec, struct json_object **ret_answer)
{
	int status = render_result(rendering, result, spec, true);
	if (r < 0)
		return -1;
	struct json_object *answer = json_object_new_object();
	json_put(answer, "execution_id", json_new_string(result->id));
	json_put(answer, "status", json_new_string(run_status_names[result->status]));
	json_put(answer, "exit_code", json_object_new_int(status));
	json_put(answer, "execution_count", json_object_new_int64(result->execution_count));
	*ret_answer = answer;
	return 0;
}

static int execute(struct intake *intake, struct json_object *args, struct json_object **ret_answer,
	struct err *err)
{
	struct repl *repl = intake->repl;
	struct result result;
	struct rendering rendering;
	struct spec spec;
	struct session_turn turn = { .session = repl->session,
		.name = repl_text(args, "name"),
		.timeout_ms = milliseconds(args, "timeout"),
		.interrupt_fd = intake->watch_fd,
		.is_interrupt = is_interrupt,
		.input = answer_input,
		.context = intake,
		.spec = &spec };
	TRY(need_text(args, "execute", "code", &turn.code, err));
	if (turn.timeout_ms < 0)
		return err_set(err, ERR_INVALID, "execute: 'timeout' is below 0");
	turn.code_len = strlen(turn.code);
	spec_init(&spec);
	spec_take_record(&spec, &repl->spec);
	result_init(&result);
	intake->execution_id = result.id;
	render_begin(&rendering, &repl->manner, &result, -1, &turn.outlet);
	int r = session_exec(&turn, &result, err);
	render_end(&rendering);
	r = tell_result(r, &rendering, &result, &spec, ret_answer);
	intake->execution_id = NULL;
	if (!intake->has_ended) /* it may have been too much at once */
		watch_input(intake, true);
	result_done(&result);
	spec_done(&spec);
	return r;
}

/* ---- the other verbs --------------------------------------------------------------------------
 */

static int question(struct intake *intake, const char *kind, struct json_object *args,
	struct json_object **ret_answer, struct err *err)
{
	auto_json struct json_object *request = json_object_new_object();
	(void)json_object_object_add(request, kind, json_object_get(args));
	return session_question(intake->repl->session, request, ret_answer, err);
}

static int complete(struct intake *intake, struct json_object *args,
	struct json_object **ret_answer, struct err *err)
{
	const char *code = NULL;
	TRY(need_text(args, "complete", "code", &code, err));
	if (!json_object_is_type(json_object_object_get(args, "cursor"), json_type_int))
		return err_set(
			err, ERR_INVALID, "complete: needs 'cursor', a number of characters");
	return question(intake, "complete", args, ret_answer, err);
}

static int inspect(struct intake *intake, struct json_object *args, struct json_object **ret_answer,
	struct err *err)
{
	const char *name = NULL;
	TRY(need_text(args, "inspect", "name", &name, err));
	return question(intake, "inspect", args, ret_answer, err);
}

static int is_complete(struct intake *intake, struct json_object *args,
	struct json_object **ret_answer, struct err *err)
{
	const char *code = NULL;
	TRY(need_text(args, "is_complete", "code", &code, err));
	return question(intake, "is_complete", args, ret_answer, err);
}

static int checkpoint(struct intake *intake, struct json_object *args,
	struct json_object **ret_answer, struct err *err)
{
	struct json_object *request = sessions_request("checkpoint", intake->repl->session);
	if (repl_text(args, "name"))
		json_put(request, "point", json_new_string(repl_text(args, "name")));
	return sessions_ask(request, ret_answer, err);
}

static int rollback(struct intake *intake, struct json_object *args,
	struct json_object **ret_answer, struct err *err)
{
	struct json_object *point = json_object_object_get(args, "point");
	if (!point)
		return err_set(err, ERR_INVALID, "rollback: needs 'point', a name or a number");
	struct json_object *request = sessions_request("rollback", intake->repl->session);
	json_put(request, "point", json_object_get(point));
	if (json_object_get_boolean(json_object_object_get(args, "force")))
		json_put(request, "force", json_object_new_boolean(true));
	TRY(sessions_ask(request, ret_answer, err));
	repl_go_back(intake->repl, *ret_answer);
	return 0;
}

static int undo(struct intake *intake, struct json_object *args, struct json_object **ret_answer,
	struct err *err)
{
	(void)args;
	TRY(sessions_ask(sessions_request("undo", intake->repl->session), ret_answer, err));
	repl_go_back(intake->repl, *ret_answer);
	return 0;
}

static int fork_session(struct intake *intake, struct json_object *args,
	struct json_object **ret_answer, struct err *err)
{
	const char *name = NULL;
	TRY(need_text(args, "fork", "new", &name, err));
	struct json_object *request = sessions_request("fork", intake->repl->session);
	json_put(request, "new", json_new_string(name));
	return sessions_ask(request, ret_answer, err);
}

static int info(struct intake *intake, struct json_object *args, struct json_object **ret_answer,
	struct err *err)
{
	(void)args;
	return sessions_ask(sessions_request("info", intake->repl->session), ret_answer, err);
}

static int switch_session(struct intake *intake, struct json_object *args,
	struct json_object **ret_answer, struct err *err)
{
	const char *name = NULL;
	TRY(need_text(args, "switch", "session", &name, err));
	TRY(repl_switch(intake->repl, name, err));
	return info(intake, args, ret_answer, err);
}

static int reset(struct intake *intake, struct json_object *args, struct json_object **ret_answer,
	struct err *err)
{
	TRY(repl_begin_anew(intake->repl, err));
	return info(intake, args, ret_answer, err);
}

static int input(struct intake *intake, struct json_object *args, struct json_object **ret_answer,
	struct err *err)
{
	(void)intake;
	(void)args;
	(void)ret_answer;
	return err_set(err, ERR_INVALID, "input: nothing asks for it");
}

static int leave(struct intake *intake, struct json_object *args, struct json_object **ret_answer,
	struct err *err)
{
	(void)args;
	(void)err;
	intake->repl->is_leaving = true;
	*ret_answer = json_object_new_object();
	return 0;
}

/* clang-format off */
static const struct {
	const char *name;
	int (*serve)(struct intake *intake, struct json_object *args, struct json_object **ret_answer,
		struct err *err);
} verbs[] = {
	{ "execute",     execute },
	{ "complete",    complete },
	{ "inspect",     inspect },
	{ "is_complete", is_complete },
	{ "input",       input },
	{ "checkpoint",  checkpoint },
	{ "rollback",    rollback },
	{ "undo",        undo },
	{ "fork",        fork_session },
	{ "switch",      switch_session },
	{ "info",        info },
	{ "reset",       reset },
	{ "exit",        leave },
};
/* clang-format on */

static int refuse_verb(const char *word, struct err *err)
{
	const char *names[COUNT_OF(verbs) + 1] = { "interrupt" };
	for (size_t i = 0; i < COUNT_OF(verbs); i++)
		names[i + 1] = verbs[i].name;
	const char *near = word ? units_nearest(word, names, COUNT_OF(names)) : NULL;
	if (!word)
		return err_set(err, ERR_INVALID,
			"a request needs a verb, for example "
			"{\"id\":1,\"execute\":{\"code\":\"1\"}}");
	return err_set(err, ERR_INVALID, "'%.40s' is not a verb%s%s%s", word,
		near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int serve_request(struct intake *intake, struct json_object *request,
	struct json_object **ret_answer, struct err *err)
{
	const char *word = NULL;
	struct json_object *args = NULL;
	json_object_object_foreach(request, key, value)
	{
		if (strcmp(key, "id") == 0)
			continue;
		if (word)
			return err_set(err, ERR_INVALID,
				"a request has one verb, not '%.40s' and '%.40s'", word, key);
		word = key;
		args = value;
	}
	if (args && !json_object_is_type(args, json_type_object))
		return err_set(err, ERR_INVALID, "%.40s: its value must be an object, not %s", word,
			json_kind(args));
	for (size_t i = 0; word && i < COUNT_OF(verbs); i++) {
		if (strcmp(verbs[i].name, word) == 0)
			return verbs[i].serve(intake, args, ret_answer, err);
	}
	return refuse_verb(word, err);
}

static void say_ready(struct intake *intake)
{
	struct json_object *line = json_object_new_object();
	json_put(line, "event", json_new_string("ready"));
	json_put(line, "session", json_new_string(intake->repl->session));
	json_put(line, "language", json_new_string(intake->repl->language));
	json_put(line, "version", json_new_string(HOTCELL_VERSION));
	say(intake, line);
}

static int open_intake(struct intake *intake, struct err *err)
{
	struct epoll_event event = { .events = EPOLLIN };
	buf_init(&intake->bytes, LIMIT_SPEC_BYTES + READ_SIZE);
	intake->watch_fd = epoll_create1(EPOLL_CLOEXEC);
	if (intake->watch_fd < 0 ||
		epoll_ctl(intake->watch_fd, EPOLL_CTL_ADD, intake->repl->interrupt_fd, &event) < 0)
		return err_sys(err, errno, "watch the input");
	watch_input(
		intake, true); /* a plain file cannot be watched: it is read when it is needed */
	return 0;
}

static void close_intake(struct intake *intake)
{
	while (intake->count > 0)
		(void)json_object_put(take_request(intake, 0));
	buf_done(&intake->bytes);
	own_close(&intake->watch_fd);
}

int repl_json(struct repl *repl)
{
	struct err err = { 0 };
	struct intake intake = { .repl = repl };
	repl->manner.is_stream = true;
	if (open_intake(&intake, &err) < 0)
		return cli_fail(&err);
	say_ready(&intake);
	for (;;) {
		auto_json struct json_object *request = next_request(&intake);
		struct json_object *answer = NULL;
		struct err refused = { 0 };
		if (!request)
			break;
		if (serve_request(&intake, request, &answer, &refused) < 0)
			say_error(&intake, request, &refused);
		else
			say_answer(&intake, request, answer);
	}
	close_intake(&intake);
	return 0;
}
