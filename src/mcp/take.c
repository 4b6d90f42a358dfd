/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages in: one or a batch, each read as a stranger wrote it. What came at once is an exchange,
 * which ends when the last of its calls has; until then each call lives by itself, and may be asked
 * for again only to be cancelled.
 */
#include "mcp/take.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/own.h"
#include "wire/json.h"

/* ---- exchanges ----------------------------------------------------------------------------------
 */

static void end_exchange(struct mcp_exchange *exchange)
{
	const struct mcp_listener *listener = &exchange->listener;
	struct buf *answers = &exchange->answers;
	enum mcp_end end = exchange->end;
	if (exchange->is_batch && answers->len > 0)
		(void)buf_append(answers, "]", 1);
	if (answers->len == 0 && end == MCP_END_ANSWERED)
		end = MCP_END_ACCEPTED;
	if (!exchange->is_listened)
		answers->len = 0;
	listener->end(listener->context, end, answers->len ? answers->data : NULL, answers->len);
	buf_done(answers);
	free(exchange);
}

/* In its place, for one that is too long. Room for these is always left. */
static char *refuse_length(const struct mcp_call *call)
{
	return xasprintf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":"
			 "\"the answer is over %d bytes; have the code print less\"}}",
		call->id ? json_object_to_json_string(call->id) : "null", MCP_INTERNAL_ERROR,
		MCP_ANSWER_MAX);
}

static void add_answer(struct mcp_exchange *exchange, const struct mcp_call *call, const char *text)
{
	struct buf *answers = &exchange->answers;
	if (!text)
		return;
	auto_free char *refusal =
		answers->len + strlen(text) > MCP_ANSWER_MAX ? refuse_length(call) : NULL;
	if (refusal)
		text = refusal;
	if (exchange->is_batch)
		(void)buf_append(answers, answers->len ? "," : "[", 1);
	(void)buf_append(answers, text, strlen(text));
}

static void free_call(struct mcp_call *call)
{
	if (call->next)
		call->next->prev = call->prev;
	if (call->prev)
		call->prev->next = call->next;
	else
		call->mcp->calls = call->next;
	call->mcp->listener_count -= call->is_listening;
	json_free(&call->id);
	json_free(&call->message);
	json_free(&call->kept);
	free(call->group);
	free(call);
}

void take_answer(struct mcp_call *call, const char *text, enum mcp_end end)
{
	struct mcp_exchange *exchange = call->exchange;
	bool is_asked = call->id || end != MCP_END_ANSWERED;
	add_answer(exchange, call, is_asked ? text : NULL);
	free_call(call);
	if (!exchange->is_batch)
		exchange->end = end;
	exchange->pending--;
	if (exchange->pending == 0 && !exchange->is_being_taken)
		end_exchange(exchange);
}

/* ---- one message --------------------------------------------------------------------------------
 */

static bool is_id(struct json_object *id)
{
	if (json_object_is_type(id, json_type_int))
		return true;
	return json_object_is_type(id, json_type_string) &&
	       json_object_get_string_len(id) <= MCP_TEXT_MAX;
}

static bool is_same_id(struct json_object *a, struct json_object *b)
{
	return a && b && json_object_get_type(a) == json_object_get_type(b) &&
	       strcmp(json_object_get_string(a), json_object_get_string(b)) == 0;
}

/* A call for every message, so that there is one way to answer. Takes `message`. */
static struct mcp_call *new_call(struct mcp_exchange *exchange, const struct mcp_context *context,
	struct json_object *message)
{
	struct mcp *mcp = exchange->mcp;
	struct mcp_call *call = xcalloc(1, sizeof(*call));
	*call = (struct mcp_call){ .mcp = mcp,
		.exchange = exchange,
		.next = mcp->calls,
		.peer = context->peer,
		.version = MCP_2025_11_25,
		.client = context->client,
		.group = context->group ? xstrdup(context->group) : NULL,
		.message = message,
		.begun_s = (int64_t)time(NULL),
		.progress = -1 };
	if (call->next)
		call->next->prev = call;
	mcp->calls = call;
	exchange->pending++;
	return call;
}

static const struct mcp_method *find_method(const char *name, int era)
{
	for (size_t i = 0; i < mcp_method_count; i++)
		if (strcmp(mcp_methods[i].name, name) == 0 && (mcp_methods[i].eras & era))
			return &mcp_methods[i];
	for (size_t i = 0; i < mcp_service.method_count; i++)
		if (strcmp(mcp_service.methods[i].name, name) == 0 &&
			(mcp_service.methods[i].eras & era))
			return &mcp_service.methods[i];
	return NULL;
}

/* Only whoever began a call ends it. */
static void cancel_by_message(struct mcp_call *by)
{
	struct json_object *id = json_object_object_get(by->params, "requestId");
	struct mcp_call *next = NULL;
	for (struct mcp_call *call = by->mcp->calls; call && by->group; call = next) {
		next = call->next;
		if (call->client == by->client && call->group &&
			strcmp(call->group, by->group) == 0 && is_same_id(call->id, id) &&
			(call->is_working || call->is_listening)) {
			mcp_cancel(call);
			return;
		}
	}
}

static void take_notification(struct mcp_call *call, const char *method)
{
	if (strcmp(method, "notifications/cancelled") == 0)
		cancel_by_message(call);
	mcp_drop(call);
}

/* Who wants to hear of progress, and what the call is part of. The message knows that better than
 * what carries it. */
static void note_meta(struct mcp_call *call, const struct mcp_context *context)
{
	struct json_object *meta = json_object_object_get(call->params, "_meta");
	bool has_meta = json_object_is_type(meta, json_type_object);
	struct json_object *token = has_meta ? json_object_object_get(meta, "progressToken") : NULL;
	struct json_object *trace = has_meta ? json_object_object_get(meta, "traceparent") : NULL;
	const char *text =
		json_object_is_type(trace, json_type_string) ? json_object_get_string(trace) : NULL;
	if (token && is_id(token))
		call->token = token;
	if (!text || !trace_is_valid(text))
		text = context->trace;
	(void)snprintf(call->trace, sizeof(call->trace), "%s", text ? text : "");
}

static void take_request(
	struct mcp_call *call, const struct mcp_context *context, const char *method)
{
	struct err err = { 0 };
	struct json_object *data = NULL;
	int code = mcp_classify(context, call, &data, &err);
	if (code != 0) {
		mcp_refuse(call, (enum mcp_code)code, data, "%s", err.text);
		return;
	}
	call->method = find_method(method, mcp_is_modern(call) ? MCP_MODERN : MCP_LEGACY);
	if (mcp_check_headers(context, call, &err) < 0) {
		mcp_refuse(call, MCP_HEADER_MISMATCH, NULL, "%s", err.text);
		return;
	}
	if (!call->method) {
		mcp_refuse(call, MCP_METHOD_NOT_FOUND, NULL, "there is no method '%.80s'", method);
		return;
	}
	note_meta(call, context);
	call->method->answer(call);
}

/* Takes `message`. */
static void take_message(struct mcp_exchange *exchange, const struct mcp_context *context,
	struct json_object *message)
{
	struct mcp_call *call = new_call(exchange, context, message);
	struct json_object *member = NULL;
	struct json_object *method = NULL;
	if (!json_object_is_type(message, json_type_object)) {
		mcp_refuse(call, MCP_INVALID_REQUEST, NULL, "a message is an object, not %s",
			json_kind(message));
		return;
	}
	bool has_id = json_object_object_get_ex(message, "id", &member);
	if (has_id && is_id(member))
		call->id = json_object_get(member);
	if (!json_object_object_get_ex(message, "jsonrpc", &member) ||
		!json_object_is_type(member, json_type_string) ||
		strcmp(json_object_get_string(member), "2.0") != 0) {
		mcp_refuse(call, MCP_INVALID_REQUEST, NULL, "\"jsonrpc\" must be \"2.0\"");
		return;
	}
	if (!json_object_object_get_ex(message, "method", &method) &&
		(json_object_object_get_ex(message, "result", NULL) ||
			json_object_object_get_ex(message, "error", NULL))) {
		mcp_drop(call); /* we ask for nothing, so this answers nothing */
		return;
	}
	if (!json_object_is_type(method, json_type_string) || (has_id && !call->id)) {
		mcp_refuse(call, MCP_INVALID_REQUEST, NULL,
			!json_object_is_type(method, json_type_string)
				? "\"method\" must be a string"
				: "\"id\" must be a string or a whole number");
		return;
	}
	if (json_object_object_get_ex(message, "params", &call->params) &&
		!json_object_is_type(call->params, json_type_object)) {
		call->params = NULL;
		if (has_id)
			mcp_refuse(call, MCP_INVALID_PARAMS, NULL, "\"params\" must be an object");
		else
			mcp_drop(call);
		return;
	}
	if (has_id)
		take_request(call, context, json_object_get_string(method));
	else
		take_notification(call, json_object_get_string(method));
}

/* ---- the door -----------------------------------------------------------------------------------
 */

/* Only one version had batches. */
static bool takes_batches(const struct mcp_context *context)
{
	enum mcp_version version = context->peer ? context->peer->version : MCP_VERSION_NONE;
	if (context->version_header)
		version = mcp_version_find(context->version_header);
	return version == MCP_2025_03_26 || version == MCP_VERSION_NONE;
}

static void refuse_all(struct mcp_exchange *exchange, const struct mcp_context *context,
	enum mcp_code code, const char *why)
{
	mcp_refuse(new_call(exchange, context, NULL), code, NULL, "%s", why);
}

static void take_batch(
	struct mcp_exchange *exchange, const struct mcp_context *context, struct json_object *list)
{
	size_t count = json_object_array_length(list);
	if (!takes_batches(context)) {
		refuse_all(exchange, context, MCP_INVALID_REQUEST,
			"only version 2025-03-26 has batches: send one message at a time");
	} else if (count == 0 || count > MCP_BATCH_MAX) {
		refuse_all(exchange, context, MCP_INVALID_REQUEST,
			"a batch has between 1 and 32 messages");
	} else {
		exchange->is_batch = true;
		for (size_t i = 0; i < count; i++)
			take_message(exchange, context,
				json_object_get(json_object_array_get_idx(list, i)));
	}
}

struct mcp_exchange *mcp_take(struct mcp *mcp, const struct mcp_context *context, const char *text,
	size_t len, const struct mcp_listener *listener)
{
	struct err err = { 0 };
	auto_json struct json_object *json = NULL;
	struct mcp_exchange *exchange = xcalloc(1, sizeof(*exchange));
	*exchange = (struct mcp_exchange){
		.mcp = mcp, .listener = *listener, .is_listened = true, .is_being_taken = true
	};
	buf_init(&exchange->answers, MCP_ANSWER_MAX + MCP_REFUSALS_MAX);
	if (json_read_list(text, len, MCP_BYTES_MAX, MCP_DEPTH_MAX, &json, &err) < 0)
		refuse_all(exchange, context, MCP_PARSE_ERROR, err.text);
	else if (json_object_is_type(json, json_type_array))
		take_batch(exchange, context, json);
	else
		take_message(exchange, context, json_object_get(json));
	exchange->is_being_taken = false;
	if (exchange->pending > 0)
		return exchange;
	end_exchange(exchange);
	return NULL;
}

void mcp_leave(struct mcp_exchange *exchange)
{
	struct mcp *mcp = exchange->mcp;
	struct mcp_call *next = NULL;
	exchange->is_listened = false;
	exchange->is_being_taken = true; /* it does not end while we look at its calls */
	for (struct mcp_call *call = mcp->calls; call; call = next) {
		next = call->next;
		if (call->exchange == exchange && mcp_is_modern(call))
			mcp_cancel(call);
	}
	exchange->is_being_taken = false;
	if (exchange->pending == 0)
		end_exchange(exchange);
}

struct mcp *mcp_open(const struct mcp_workshop *workshop, const struct strings *roots)
{
	struct mcp *mcp = xcalloc(1, sizeof(*mcp));
	mcp->workshop = workshop;
	mcp->roots = roots;
	return mcp;
}

void mcp_close(struct mcp *mcp)
{
	if (!mcp)
		return;
	while (mcp->calls) {
		mcp->calls->exchange->is_listened = false;
		mcp_drop(mcp->calls);
	}
	free(mcp);
}
