/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: what is asked of them, and executions in them. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/own.h"
#include "session/session.h"
#include "wire/json.h"
#include "worker/parts.h"

/* How long code that asked for a line waits for it; the deadline of the execution waits too. */
enum { INPUT_WAIT_MS = 300000 };

/* ---- what is asked of them ----------------------------------------------------------------------
 */

static int make(const struct order *order, struct json_object **ret_answer, struct err *err)
{
	struct asked asked;
	int r = asked_read(&asked, WORK_SESSION, order->text, order->head.len, err);
	if (r == 0)
		r = order_configure(order, &asked.spec, err);
	const struct session_wish wish = { .tenant = order_tenant(order),
		.most = order->head.sessions_most,
		.name = asked.name,
		.idle_s = asked.idle_s,
		.lifetime_s = asked.lifetime_s,
		.undo = asked.undo,
		.interrupt_fd = WORKER_CANCEL_FD };
	if (r == 0)
		r = session_new(&asked.spec, &wish, ret_answer, err);
	asked_done(&asked);
	return r;
}

/* Whose session it is, and how many they may have, is never what the job's text says. */
static void set_tenant(struct json_object *request, const struct order *order)
{
	json_object_object_del(request, "tenant");
	json_object_object_del(request, "most");
	if (order_tenant(order))
		json_put(request, "tenant", json_new_string(order_tenant(order)));
	if (order->head.sessions_most > 0)
		json_put(request, "most", json_object_new_int64(order->head.sessions_most));
}

static int ask(const struct order *order, struct json_object **ret_answer, struct err *err)
{
	auto_json struct json_object *request = NULL;
	TRY(json_read(
		order->text, order->head.len, LIMIT_SPEC_BYTES, LIMIT_SPEC_DEPTH, &request, err));
	const char *verb = json_object_get_string(json_object_object_get(request, "verb"));
	if (order_is_cancelled(order))
		return err_set(err, ERR_INTERRUPTED, "interrupted before it began");
	if (verb && strcmp(verb, "new") == 0)
		return make(order, ret_answer, err);
	const char *session = json_object_get_string(json_object_object_get(request, "session"));
	if (verb && session && strcmp(verb, "files") == 0)
		return session_files(order_tenant(order), session, ret_answer, err);
	const char *path = json_object_get_string(json_object_object_get(request, "path"));
	if (verb && session && path && strcmp(verb, "read") == 0)
		return read_session_file(order_tenant(order), session, path, ret_answer, err);
	set_tenant(request, order);
	return session_ask(request, ret_answer, err);
}

int do_session(const struct order *order)
{
	struct err err = { 0 };
	auto_json struct json_object *answer = NULL;
	if (ask(order, &answer, &err) < 0)
		return tell_refusal(&err);
	auto_free char *text = json_print(answer, false);
	return tell_answer(text);
}

/* ---- executions ---------------------------------------------------------------------------------
 */

struct turn {
	const struct order *order;
	struct events events;
	struct outlet outlet; /* of the events */
};

/* A request for input is told before its answer is waited for. Nothing else waits to be told then:
 * a runner is not heard before its earlier words are out. */
static void announce(void *context, const struct message *message, struct buf *pending)
{
	struct turn *turn = context;
	turn->outlet.announce(turn->outlet.context, message, pending);
	if (message->kind != MESSAGE_INPUT_REQUEST)
		return;
	(void)io_write_until(WORKER_JOBS_FD, pending->data, pending->len, WORKER_CANCEL_FD);
	pending->len = 0;
}

static void render(void *context, int stream, const char *data, size_t len, struct buf *pending)
{
	struct turn *turn = context;
	turn->outlet.render(turn->outlet.context, stream, data, len, pending);
}

static void tell_queued(void *context, unsigned int ahead)
{
	struct turn *turn = context;
	turn->outlet.queued(turn->outlet.context, ahead);
}

static void tell_begun(void *context)
{
	struct turn *turn = context;
	turn->outlet.begun(turn->outlet.context);
}

/* The next thing the owner says while the code waits: a line, or that there is none. */
static char *read_input(const struct turn *turn)
{
	struct work_head head;
	if (order_read(&head, sizeof(head)) != 1 || head.len > LIMIT_STRING)
		return NULL;
	auto_free char *line = xcalloc(1, head.len + 1);
	if (order_read(line, head.len) != 1)
		return NULL;
	return head.kind == WORK_INPUT && head.number == turn->order->head.number ? take_ptr(&line)
										  : NULL;
}

static char *answer_input(void *context, const char *prompt, bool is_secret)
{
	struct turn *turn = context;
	struct pollfd fds[] = {
		{ .fd = WORKER_JOBS_FD, .events = POLLIN },
		{ .fd = WORKER_CANCEL_FD, .events = POLLIN },
	};
	int n = 0;
	(void)prompt;
	(void)is_secret;
	do {
		n = poll(fds, COUNT_OF(fds), INPUT_WAIT_MS);
	} while (n < 0 && errno == EINTR);
	return n > 0 && fds[0].revents && !fds[1].revents ? read_input(turn) : NULL;
}

static int64_t given(const struct spec *spec, const char *name, int64_t value)
{
	return spec_is_given(spec, spec_field(name)) ? value : 0;
}

static int take_turn(struct turn *turn, const struct asked *asked, struct spec *spec,
	struct result *result, struct err *err)
{
	const struct session_turn wish = { .tenant = order_tenant(turn->order),
		.token = order_token(turn->order),
		.session = asked->session,
		.code = asked->spec.code,
		.code_len = strlen(asked->spec.code),
		.name = asked->filename,
		.timeout_ms = given(&asked->spec, "timeout", asked->spec.timeout_ms),
		.max_output = given(&asked->spec, "max_output", asked->spec.max_output),
		.waits = asked->waits,
		.reloads = asked->reloads,
		.env = asked->spec.env.count > 0 ? &asked->spec.env : NULL,
		.stdin_path = asked->spec.stdin_path,
		.outlet = { .fds = { WORKER_JOBS_FD, WORKER_JOBS_FD },
			.render = render,
			.announce = announce,
			.queued = tell_queued,
			.begun = tell_begun,
			.context = turn },
		.interrupt_fd = WORKER_CANCEL_FD,
		.input = asked->answers_input ? answer_input : NULL,
		.context = turn,
		.spec = spec };
	return session_exec(&wish, result, err);
}

/* What the settings say of records counts for executions in sessions, too. */
static int read_turn(
	const struct order *order, struct asked *asked, struct spec *spec, struct err *err)
{
	TRY(asked_read(asked, WORK_TURN, order->text, order->head.len, err));
	if (!asked->session)
		return err_set(err, ERR_INVALID, "session: is missing");
	if (order_is_cancelled(order))
		return err_set(err, ERR_INTERRUPTED, "interrupted before it began");
	TRY(order_configure(order, spec, err));
	spec->traceparent = take_ptr(&asked->spec.traceparent);
	return 0;
}

int do_turn(const struct order *order)
{
	struct err err = { 0 };
	struct asked asked;
	struct spec spec;
	struct result result;
	struct turn turn = { .order = order };
	spec_init(&spec);
	result_init(&result);
	turn.events = (struct events){
		.id = result.id, .fd = WORKER_JOBS_FD, .interrupt_fd = -1, .may_be_torn = true
	};
	events_follow(&turn.events, &turn.outlet);
	int r = read_turn(order, &asked, &spec, &err);
	if (r == 0)
		r = take_turn(&turn, &asked, &spec, &result, &err);
	if (r < 0 && !turn.events.has_begun) {
		r = tell_refusal(&err);
	} else {
		auto_free char *json = result_to_json(&result, &spec, false);
		r = events_finish(&turn.events, json);
	}
	asked_done(&asked);
	result_done(&result);
	spec_done(&spec);
	return r;
}
