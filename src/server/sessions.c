/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions over HTTP. Making one and executing in it is a worker's; everything else is asked of the
 * keeper at once, so that an interrupt never waits for what it is to interrupt.
 */
#include <string.h>

#include "base/own.h"
#include "model/field.h"
#include "server/routes.h"
#include "wire/json.h"
#include "wire/utf8.h"

enum { SMALL_DEPTH = 4, SMALL_MAX = 64 << 10 };

static struct json_object *new_ask(const char *verb, const char *session)
{
	struct json_object *ask = json_object_new_object();
	json_put(ask, "verb", json_new_string(verb));
	if (session)
		json_put(ask, "session", json_new_string(session));
	return ask;
}

/* ---- by workers ---------------------------------------------------------------------------------
 */

void route_session_new(struct request *request)
{
	if (request->body.len == 0)
		(void)buf_append(&request->body, "{}", 2); /* all of it may be left out */
	run_request(request, WORK_SESSION, new_ask("new", NULL), MHD_HTTP_CREATED);
}

void route_session_exec(struct request *request)
{
	struct json_object *more = json_object_new_object();
	json_put(more, "session", json_new_string(request->params[0]));
	run_request(request, WORK_TURN, more, 0);
}

/* ---- by the keeper ------------------------------------------------------------------------------
 */

static void hear_answer(
	struct request *request, struct json_object *answer, int fd, const struct err *err)
{
	own_close(&fd);
	if (answer)
		answer_json(request, MHD_HTTP_OK, answer);
	else
		answer_refusal(request, err);
}

static void hear_new(
	struct request *request, struct json_object *answer, int fd, const struct err *err)
{
	own_close(&fd);
	if (answer)
		answer_json(request, MHD_HTTP_CREATED, answer);
	else
		answer_refusal(request, err);
}

/* It comes in pages, which are gathered. */
static void hear_page(
	struct request *request, struct json_object *answer, int fd, const struct err *err)
{
	auto_json struct json_object *page = answer;
	own_close(&fd);
	if (!page) {
		answer_refusal(request, err);
		return;
	}
	struct json_object *next = json_object_object_get(page, "next");
	struct json_object *some = json_object_object_get(page, "sessions");
	size_t count =
		json_object_is_type(some, json_type_array) ? json_object_array_length(some) : 0;
	if (!request->gathered)
		request->gathered = json_object_new_array();
	for (size_t i = 0; i < count; i++)
		(void)json_object_array_add(
			request->gathered, json_object_get(json_object_array_get_idx(some, i)));
	if (next) {
		struct json_object *ask = new_ask("list", NULL);
		json_put(ask, "after", json_object_get(next));
		question_ask(request, ask, hear_page);
		return;
	}
	struct json_object *whole = json_object_new_object();
	json_put(whole, "sessions", take_ptr(&request->gathered));
	answer_json(request, MHD_HTTP_OK, whole);
}

void route_session_list(struct request *request)
{
	question_ask(request, new_ask("list", NULL), hear_page);
}

void route_session_info(struct request *request)
{
	question_ask(request, new_ask("info", request->params[0]), hear_answer);
}

void route_session_kill(struct request *request)
{
	question_ask(request, new_ask("kill", request->params[0]), hear_answer);
}

void route_session_interrupt(struct request *request)
{
	question_ask(request, new_ask("interrupt", request->params[0]), hear_answer);
}

/* ---- what a small body says ---------------------------------------------------------------------
 */

/* clang-format off */
static const struct field checkpoint_fields[] = {
	{ .name = "point", .type = FIELD_TEXT, .example = "before", .help = "the name of the point" },
	{ .name = "wait", .type = FIELD_BOOL, .example = "true",
	  .help = "wait while code runs, else that is refused" },
	{ 0 },
};

static const struct field rollback_fields[] = {
	{ .name = "point", .type = FIELD_TEXT, .example = "before",
	  .help = "the name or the number of the point" },
	{ .name = "force", .type = FIELD_BOOL, .example = "true",
	  .help = "also when code runs, which is interrupted" },
	{ .name = "wait", .type = FIELD_BOOL, .example = "true",
	  .help = "wait while code runs, else that is refused" },
	{ 0 },
};

static const struct field undo_fields[] = {
	{ .name = "wait", .type = FIELD_BOOL, .example = "true",
	  .help = "wait while code runs, else that is refused" },
	{ 0 },
};

static const struct field fork_fields[] = {
	{ .name = "name", .type = FIELD_TEXT, .example = "other", .help = "the name of the new session" },
	{ .name = "wait", .type = FIELD_BOOL, .example = "true",
	  .help = "wait while code runs, else that is refused" },
	{ 0 },
};

static const struct field input_fields[] = {
	{ .name = "text", .type = FIELD_TEXT, .example = "yes",
	  .help = "the line, without its newline; without it there is no more input" },
	{ 0 },
};

const struct form checkpoint_form = { .name = "Checkpoint", .fields = checkpoint_fields };
const struct form rollback_form = { .name = "Rollback", .fields = rollback_fields };
const struct form undo_form = { .name = "Undo", .fields = undo_fields };
const struct form fork_form = { .name = "Fork", .fields = fork_fields };
const struct form input_form = { .name = "Input", .fields = input_fields };
/* clang-format on */

static int check_type(const struct field *field, struct json_object *value, struct err *err)
{
	bool is_number =
		strcmp(field->name, "point") == 0 && json_object_is_type(value, json_type_int);
	json_type wanted = field->type == FIELD_BOOL ? json_type_boolean : json_type_string;
	if (!value || is_number || json_object_is_type(value, wanted))
		return 0;
	return field_refuse(field, VOICE_JSON, ERR_INVALID, err, "must be %s, not %s",
		wanted == json_type_boolean ? "true or false" : "a string", json_kind(value));
}

/* An object with some of the fields of its form, of the right types; nothing at all is an empty
 * one. */
static int read_small(const struct request *request, struct json_object **ret_json, struct err *err)
{
	auto_json struct json_object *json = NULL;
	if (request->body.len == 0)
		json = json_object_new_object();
	else
		TRY(json_read(buf_text(&request->body), request->body.len, SMALL_MAX, SMALL_DEPTH,
			&json, err));
	json_object_object_foreach(json, key, value)
	{
		char quote[48];
		const struct field *field = form_find(request->route->body, key);
		if (!field)
			return err_set(err, ERR_INVALID,
				"unknown field '%s'; GET /openapi.json lists those there are",
				utf8_line(key, quote, sizeof(quote)));
		TRY(check_type(field, value, err));
	}
	*ret_json = take_ptr(&json);
	return 0;
}

/* The verb about the session in the path, with what the body says besides. */
static void ask_with(struct request *request, const char *verb, question_hear *hear)
{
	struct err err = { 0 };
	struct json_object *json = NULL;
	if (read_small(request, &json, &err) < 0) {
		answer_err(request, MHD_HTTP_BAD_REQUEST, &err);
		return;
	}
	json_put(json, "verb", json_new_string(verb));
	json_put(json, "session", json_new_string(request->params[0]));
	question_ask(request, json, hear);
}

void route_session_checkpoint(struct request *request)
{
	ask_with(request, "checkpoint", hear_answer);
}

void route_session_rollback(struct request *request)
{
	ask_with(request, "rollback", hear_answer);
}

void route_session_undo(struct request *request)
{
	ask_with(request, "undo", hear_answer);
}

void route_session_fork(struct request *request)
{
	ask_with(request, "fork", hear_new);
}

void route_session_input(struct request *request)
{
	struct err err = { 0 };
	auto_json struct json_object *json = NULL;
	struct json_object *told = json_object_new_object();
	int r = read_small(request, &json, &err);
	const char *text = json_object_get_string(json_object_object_get(json, "text"));
	if (r == 0)
		r = run_input(request, request->params[0], text, &err);
	json_put(told, "told", json_object_new_boolean(r == 0));
	if (r == 0)
		answer_json(request, MHD_HTTP_OK, take_ptr(&told));
	else
		answer_refusal(request, &err);
	json_free(&told);
}
