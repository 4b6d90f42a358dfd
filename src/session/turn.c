/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a turn: from code to a result, and from a question to an answer. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "engine/engine.h"
#include "guard/guard.h"
#include "model/limits.h"
#include "model/message.h"
#include "session/parts.h"
#include "session/session.h"
#include "wire/frame.h"
#include "wire/json.h"

enum { WORDS_DEPTH = 8, WORDS_BYTES = 64 << 10, QUESTION_MS = 10000 };

/* A turn that is being taken. */
struct taking {
	const struct session_turn *turn;
	struct channel channel;
	struct result *result;
	struct spec spec;           /* of the session, with what the turn wants otherwise */
	struct buf frames;          /* for the runner */
	struct json_object *answer; /* owned; to a question */
	struct guard_report guard;  /* what the runner said before it ran the code */
	bool is_guarded;            /* it looks at the code */
	bool has_begun;             /* the code may speak by now: too late for a report */
	struct json_object *check;  /* owned; what the code is to be looked at for first */
	const char *checked;        /* the id of the session for which that was done, or NULL */
	struct audit_draft *draft;  /* owned; of the record, or NULL */
};

/* ---- to the runner ----------------------------------------------------------------------------
 */

static int add_frame(struct buf *frames, struct json_object *json, struct err *err)
{
	auto_free char *text = json_print(json, false);
	size_t len = strlen(text);
	uint32_t head = htonl((uint32_t)len);
	if (len > LIMIT_FRAME_BYTES || buf_append(frames, &head, sizeof(head)) < 0 ||
		buf_append(frames, text, len) < 0)
		return err_set(err, ERR_LIMIT,
			"the code is over %d MiB as a message: put it in a file of the session and "
			"import that",
			LIMIT_FRAME_BYTES >> 20);
	return 0;
}

static struct json_object *write_execute(const struct session_turn *turn)
{
	struct json_object *json = json_object_new_object();
	struct json_object *execute = json_object_new_object();
	json_put(execute, "code", json_new_text(turn->code, turn->code_len));
	if (turn->name)
		json_put(execute, "name", json_new_string(turn->name));
	if (turn->env && turn->env->count > 0)
		json_put(execute, "env", strings_to_json(turn->env));
	if (turn->input)
		json_put(execute, "accepts_input", json_object_new_boolean(true));
	if (turn->reloads)
		json_put(execute, "reload", json_object_new_boolean(true));
	json_put(json, "execute", execute);
	return json;
}

/* ---- from the runner --------------------------------------------------------------------------
 */

static void answer_input(struct taking *taking, const struct message *message, struct heard *heard)
{
	const struct session_turn *turn = taking->turn;
	struct json_object *prompt = json_object_object_get(message->json, "prompt");
	struct json_object *is_secret = json_object_object_get(message->json, "password");
	auto_json struct json_object *json = json_object_new_object();
	struct err err = { 0 };
	int64_t before_us = clock_us();
	auto_free char *line = turn->input(
		turn->context, json_object_get_string(prompt), json_object_get_boolean(is_secret));
	json_put(json, "input", json_new_string(line));
	heard->waited_us = clock_us() - before_us;
	if (add_frame(&taking->frames, json, &err) < 0)
		result_warn(taking->result, "input: %s", err.text);
}

static struct heard hear(void *context, const char *data, size_t len, struct buf *pending)
{
	struct taking *taking = context;
	const struct outlet *outlet = &taking->turn->outlet;
	struct message message = { 0 };
	struct heard heard = { 0 };
	struct err err = { 0 };
	if (channel_take(&taking->channel, data, len, &message, &err) < 0)
		return (struct heard){ .is_nonsense = true };
	if (message.kind == MESSAGE_REPORT && taking->has_begun) {
		message_done(&message);
		return (struct heard){ .is_nonsense = true };
	}
	taking->has_begun = true;
	if (message.kind == MESSAGE_REPORT)
		guard_report_take(&taking->guard, &message);
	if (message.kind == MESSAGE_REFUSED)
		guard_note_refused(taking->result, message_refused_module(&message));
	if (message_is_event(&message) && outlet->announce)
		outlet->announce(outlet->context, &message, pending);
	if (message.kind == MESSAGE_INPUT_REQUEST && taking->turn->input)
		answer_input(taking, &message, &heard);
	if (message.kind == MESSAGE_DONE) {
		heard.is_done = true;
		heard.exit_code = message_exit_code(&message);
		heard.is_interrupted = message_is_interrupted(&message);
		taking->result->execution_count = message_execution_count(&message);
	}
	message_done(&message);
	return heard;
}

static struct heard hear_answer(void *context, const char *data, size_t len, struct buf *pending)
{
	struct taking *taking = context;
	struct message message = { 0 };
	struct heard heard = { 0 };
	struct err err = { 0 };
	(void)pending;
	if (message_read(&message, data, len, &err) < 0)
		return (struct heard){ .is_nonsense = true };
	heard.is_done = message.kind == MESSAGE_DONE;
	if (message.kind >= MESSAGE_COMPLETIONS && message.kind <= MESSAGE_COMPLETENESS) {
		json_free(&taking->answer);
		taking->answer = take_ptr(&message.json);
	}
	message_done(&message);
	return heard;
}

/* ---- from the keeper --------------------------------------------------------------------------
 */

static void take_notes(struct result *result, struct json_object *notes)
{
	size_t count = notes ? json_object_array_length(notes) : 0;
	for (size_t i = 0; i < count; i++)
		result_warn(
			result, "%s", json_object_get_string(json_object_array_get_idx(notes, i)));
}

static int be_granted(void *context, const char *words, size_t len, struct err *err)
{
	struct taking *taking = context;
	const struct session_turn *turn = taking->turn;
	struct result *result = taking->result;
	auto_json struct json_object *json = NULL;
	TRY(json_read(words, len, WORDS_BYTES, WORDS_DEPTH, &json, err));
	const char *language = json_object_get_string(json_object_object_get(json, "language"));
	const char *name = json_object_get_string(json_object_object_get(json, "session"));
	struct json_object *limits = json_object_object_get(json, "limits");
	struct json_object *guard = json_object_object_get(json, "guard");
	(void)snprintf(result->language, sizeof(result->language), "%s", language ? language : "");
	(void)snprintf(result->session, sizeof(result->session), "%s", name ? name : "");
	result->is_warm = json_object_get_boolean(json_object_object_get(json, "warm"));
	taking->is_guarded = json_object_get_boolean(json_object_object_get(json, "guarded"));
	take_notes(result, json_object_object_get(json, "notes"));
	if (guard)
		TRY(guard_policy_read(guard, &taking->spec, err));
	if (limits) {
		const char *text = json_object_to_json_string(limits);
		TRY(spec_from_json(&taking->spec, text, strlen(text), err));
	}
	if (turn && turn->timeout_ms > 0)
		taking->spec.timeout_ms = turn->timeout_ms;
	if (turn && turn->max_output > 0)
		taking->spec.max_output = turn->max_output;
	if (!turn)
		taking->spec.timeout_ms = QUESTION_MS;
	return 0;
}

static void be_unchecked(void *context, const char *words, size_t len, struct err *err)
{
	struct taking *taking = context;
	json_free(&taking->check);
	if (json_read(words, len, WORDS_BYTES, WORDS_DEPTH, &taking->check, err) == 0)
		(void)err_set(err, ERR_BROKEN, "session '%s' does not take code that was looked at",
			taking->turn->session);
}

static char *write_ask(const struct taking *taking, const char *session, bool waits)
{
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, "verb", json_new_string("turn"));
	if (taking->turn && taking->turn->tenant)
		json_put(json, "tenant", json_new_string(taking->turn->tenant));
	json_put(json, "session", json_new_string(session));
	json_put(json, "wait", json_object_new_boolean(waits));
	json_put(json, "question", json_object_new_boolean(!taking->turn));
	if (taking->checked)
		json_put(json, "checked", json_new_string(taking->checked));
	return json_print(json, false);
}

static int take(struct taking *taking, const char *session, bool waits, const struct task *task,
	struct turn_end *ret_end, struct err *err)
{
	auto_fd int conn_fd = -1;
	TRY(session_connect(false, &conn_fd, err));
	if (conn_fd < 0)
		return err_set(err, ERR_MISSING,
			"there is no session '%s': nobody serves here, so there are none", session);
	auto_free char *ask = write_ask(taking, session, waits);
	const struct turn_wish wish = { .conn_fd = take_fd(&conn_fd),
		.ask = ask,
		.frames = &taking->frames,
		.grace_ms = SESSION_GRACE_MS,
		.granted = be_granted,
		.unchecked = taking->turn && !taking->checked ? be_unchecked : NULL,
		.context = taking };
	return keeper_take_turn(&wish, task, ret_end, taking->result, err);
}

static void taking_done(struct taking *taking)
{
	spec_done(&taking->spec);
	engine_draft_free(taking->draft);
	buf_done(&taking->frames);
	json_free(&taking->answer);
	json_free(&taking->check);
	guard_report_done(&taking->guard);
}

/* ---- executing --------------------------------------------------------------------------------
 */

static void set_hint(struct result *result, char *hint)
{
	free(result->hint);
	result->hint = hint;
}

/* What became of the session, which a run has no words for. */
static void tell_end(const struct turn_end *end, struct result *result)
{
	char where[96] = "";
	if (end->is_back && end->back_name[0])
		(void)snprintf(where, sizeof(where), "'%s'", end->back_name);
	else if (end->is_back)
		(void)snprintf(where, sizeof(where), "%" PRIu32, end->back_id);
	if (end->has_died && end->is_back)
		set_hint(result,
			xasprintf(
				"The session's process was lost (%s); the session was brought back "
				"to point %s",
				end->why, where));
	else if (end->has_died)
		set_hint(result, xasprintf("The session ended with it (%s), and its state is lost",
					 end->why));
	else if (result->status == STATUS_REFUSED && result->hint)
		set_hint(result, xasprintf("%s, where the session is made", result->hint));
	else if (end->was_interrupted)
		set_hint(result,
			xstrdup("The code was interrupted; the session goes on, with everything "
				"up to there"));
}

static void explain(struct taking *taking, const struct turn_end *end)
{
	const struct session_turn *turn = taking->turn;
	struct result *result = taking->result;
	char name[40];
	(void)snprintf(name, sizeof(name), "<cell %" PRId64 ">", result->execution_count);
	channel_end(&taking->channel);
	if (taking->is_guarded && taking->spec.profile != PROFILE_TRUSTED)
		guard_apply_run(&taking->guard, &taking->spec, result);
	if (result->status == STATUS_OK)
		failure_done(&result->error);
	if (result->status != STATUS_REFUSED)
		engine_explain(&taking->spec, turn->name ? turn->name : name, turn->code,
			turn->code_len, result);
	tell_end(end, result);
}

/* The policy is the session's. Where its runner does not look at code, it is looked at here, in a
 * cell of its own, before the turn is asked for once more. True in *ret_is_over: it must not run.
 */
static int look_first(struct taking *taking, bool *ret_is_over, struct err *err)
{
	const struct session_turn *turn = taking->turn;
	struct result *result = taking->result;
	struct guard_report report = { 0 };
	struct result looked;
	struct spec spec;
	const char *language =
		json_object_get_string(json_object_object_get(taking->check, "language"));
	const char *name = json_object_get_string(json_object_object_get(taking->check, "session"));
	(void)snprintf(result->language, sizeof(result->language), "%s", language ? language : "");
	(void)snprintf(result->session, sizeof(result->session), "%s", name ? name : "");
	struct json_object *policy = json_object_object_get(taking->check, "check");
	TRY(guard_policy_read(policy, &taking->spec, err));
	if (memchr(turn->code, '\0', turn->code_len)) {
		guard_refuse(result, "it has a zero byte, and is not analysed");
		*ret_is_over = true;
		return 0;
	}
	spec_init(&spec);
	result_init(&looked);
	spec.language = xstrdup(result->language);
	spec.code = xstrndup(turn->code, turn->code_len);
	int r = guard_policy_read(policy, &spec, err);
	if (r == 0)
		r = engine_check(&spec, turn->interrupt_fd, &report, &looked, err);
	if (r == 0)
		guard_apply(&report, &taking->spec, result);
	*ret_is_over = result->status == STATUS_REFUSED;
	if (*ret_is_over) {
		result_take_cell(result, &looked);
		tell_end(&(struct turn_end){ 0 }, result);
	}
	result_done(&looked);
	spec_done(&spec);
	guard_report_done(&report);
	return r;
}

static void copy_limits(struct spec *to, const struct spec *from)
{
	struct err err = { 0 };
	auto_json struct json_object *json = spec_limits_to_json(from);
	const char *text = json_object_to_json_string(json);
	(void)spec_from_json(to, text, strlen(text), &err);
	auto_free char *policy = guard_policy(from);
	auto_json struct json_object *guard = json_tokener_parse(policy);
	(void)guard_policy_read(guard, to, &err);
}

static struct engine_code code_of(const struct taking *taking)
{
	const struct session_turn *turn = taking->turn;
	return (struct engine_code){ .text = turn->code,
		.len = turn->code_len,
		.token = turn->token,
		.draft = taking->draft };
}

/* Not before the turn is granted: only then is it known whose it is. */
static void draft_record(void *context)
{
	struct taking *taking = context;
	engine_draft_free(take_ptr(&taking->draft));
	const struct engine_code code = code_of(taking);
	taking->draft = engine_draft_record(&taking->spec, &code, taking->result);
}

static int execute(struct taking *taking, struct err *err)
{
	const struct session_turn *turn = taking->turn;
	struct turn_end end = { 0 };
	auto_json struct json_object *request = write_execute(turn);
	const struct task task = { .spec = &taking->spec,
		.outlet = turn->outlet,
		.ear = { .hear = hear, .context = taking },
		.interrupt_fd = turn->interrupt_fd,
		.is_interrupt = turn->is_interrupt,
		.interrupt_context = turn->context,
		.meanwhile = draft_record,
		.meanwhile_context = taking };
	TRY(add_frame(&taking->frames, request, err));
	int r = take(taking, turn->session, turn->waits, &task, &end, err);
	if (r < 0 && taking->check) {
		bool is_over = false;
		TRY(look_first(taking, &is_over, err));
		if (is_over)
			return 0;
		/* another session may have the name by now */
		taking->checked =
			json_object_get_string(json_object_object_get(taking->check, "id"));
		r = take(taking, turn->session, turn->waits, &task, &end, err);
	}
	TRY(r);
	explain(taking, &end);
	return 0;
}

/* What was executed stays executed: files that cannot be had are a warning. */
static void collect(struct taking *taking)
{
	const struct session_turn *turn = taking->turn;
	struct err err = { 0 };
	auto_fd int workspace_fd = -1;
	auto_fd int conn_fd = -1;
	if (!turn->outs || turn->outs->count == 0)
		return;
	struct spec spec = taking->spec; /* borrowed */
	spec.outs = *turn->outs;
	if (session_workspace(turn->tenant, turn->session, true, &workspace_fd, &conn_fd, &err) <
			0 ||
		home_collect(workspace_fd, &spec, taking->result, &err) < 0)
		result_warn(taking->result, "--out: %s", err.text);
}

/* A turn is recorded like a run. The code may change the session before anybody knows how it ended:
 * so that it begins is recorded first, where a record is required. */
static int begin_record(struct taking *taking, bool *ret_is_recorded, struct err *err)
{
	const struct session_turn *turn = taking->turn;
	const struct engine_code code = code_of(taking);
	(void)snprintf(
		taking->result->session, sizeof(taking->result->session), "%s", turn->session);
	TRY(engine_record_beginning(&taking->spec, &code, taking->result, err));
	*ret_is_recorded = taking->spec.audit >= AUDIT_REQUIRED;
	return 0;
}

static int record(struct taking *taking, struct err *err)
{
	const struct engine_code code = code_of(taking);
	struct err unrecorded = { 0 }; /* a warning in the result, too */
	return engine_record(&taking->spec, &code, taking->result, &unrecorded, err);
}

static void tell_failure(struct result *result, const struct err *err)
{
	result->status = err->code == ERR_INTERRUPTED ? STATUS_INTERRUPTED : STATUS_SETUP_ERROR;
	result->exit_code = EXIT_COULD_NOT_RUN;
	result_set_error(result, "setup", "%s", err->text);
}

int session_exec(const struct session_turn *turn, struct result *result, struct err *err)
{
	struct taking taking = { .turn = turn, .result = result, .channel = { .result = result } };
	bool is_begun = false; /* on record: then its end is recorded, too */
	spec_init(&taking.spec);
	buf_init(&taking.frames, (size_t)2 * LIMIT_FRAME_BYTES);
	if (turn->stdin_path)
		taking.spec.stdin_path = xstrdup(turn->stdin_path);
	if (turn->spec)
		spec_take_record(&taking.spec, turn->spec);
	int r = begin_record(&taking, &is_begun, err);
	if (r == 0)
		r = execute(&taking, err);
	if (r == 0)
		collect(&taking);
	if (r < 0)
		tell_failure(result, err);
	if ((r == 0 || is_begun) && record(&taking, err) < 0) {
		tell_failure(result, err);
		r = -1;
	}
	if (turn->spec)
		copy_limits(turn->spec, &taking.spec);
	taking_done(&taking);
	return r;
}

/* ---- questions --------------------------------------------------------------------------------
 */

static int question(struct taking *taking, const char *session, struct json_object *request,
	struct json_object **ret_answer, struct err *err)
{
	struct turn_end end = { 0 };
	const struct task task = { .spec = &taking->spec,
		.outlet = { .fds = { -1, -1 } },
		.ear = { .hear = hear_answer, .context = taking },
		.interrupt_fd = -1 };
	TRY(add_frame(&taking->frames, request, err));
	TRY(take(taking, session, false, &task, &end, err));
	if (!taking->answer)
		return err_set(err, ERR_BROKEN, "session '%s' did not answer%s%s", session,
			end.has_died ? ", and ended: " : "", end.why);
	*ret_answer = take_ptr(&taking->answer);
	return 0;
}

int session_question(const char *session, struct json_object *request,
	struct json_object **ret_answer, struct err *err)
{
	struct result result;
	struct taking taking = { .result = &result };
	result_init(&result);
	spec_init(&taking.spec);
	buf_init(&taking.frames, (size_t)2 * LIMIT_FRAME_BYTES);
	int r = question(&taking, session, request, ret_answer, err);
	taking_done(&taking);
	result_done(&result);
	return r;
}
