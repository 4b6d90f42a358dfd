/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a call: what is said about it while it goes on, and its one end. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "mcp/parts.h"
#include "mcp/take.h"
#include "wire/json.h"
#include "wire/utf8.h"

enum {
	NEWS_EVERY_US = 100000, /* of progress: often enough for eyes, too seldom to be a load */
	NEWS_BYTES = 200,
};

static struct json_object *new_message(void)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "jsonrpc", json_new_string("2.0"));
	return json;
}

/* ---- ends ---------------------------------------------------------------------------------------
 */

static struct json_object *member_of(struct json_object *json, const char *key)
{
	struct json_object *member = json_object_object_get(json, key);
	if (member)
		return member;
	member = json_object_new_object();
	(void)json_object_object_add(json, key, member);
	return member;
}

/* What every result of the modern era carries. */
static void complete(const struct mcp_call *call, struct json_object *result)
{
	const struct mcp_method *method = call->method;
	struct json_object *info = json_object_new_object();
	if (!json_object_object_get_ex(result, "resultType", NULL))
		json_put(result, "resultType", json_new_string("complete"));
	if (method && method->is_cacheable) {
		json_put(result, "ttlMs", json_object_new_int64(method->ttl_ms));
		json_put(result, "cacheScope",
			json_new_string(method->ttl_ms > 0 ? "public" : "private"));
	}
	json_put(info, "name", json_new_string(mcp_service.name));
	json_put(info, "title", json_new_string(mcp_service.title));
	json_put(info, "version", json_new_string(HOTCELL_VERSION));
	json_put(member_of(result, "_meta"), "io.modelcontextprotocol/serverInfo", info);
}

static void end_with(struct mcp_call *call, struct json_object *message, enum mcp_end end)
{
	auto_free char *text = message ? json_print(message, false) : NULL;
	json_free(&message);
	take_answer(call, text, end);
}

void mcp_answer(struct mcp_call *call, struct json_object *result)
{
	struct json_object *message = new_message();
	if (mcp_is_modern(call))
		complete(call, result);
	json_put(message, "id", json_object_get(call->id));
	json_put(message, "result", result);
	end_with(call, message, MCP_END_ANSWERED);
}

/* What is wrong with a message as such, not with what it asks for. */
static enum mcp_end end_of(const struct mcp_call *call, enum mcp_code code)
{
	switch (code) {
	case MCP_INTERNAL_ERROR:
	case MCP_RESOURCE_NOT_FOUND:
		return MCP_END_ANSWERED;
	case MCP_INVALID_PARAMS:
		return call->method ? MCP_END_ANSWERED : MCP_END_INVALID;
	case MCP_METHOD_NOT_FOUND:
		return mcp_is_modern(call) ? MCP_END_UNKNOWN_METHOD : MCP_END_ANSWERED;
	default:
		return MCP_END_INVALID;
	}
}

void mcp_refuse(
	struct mcp_call *call, enum mcp_code code, struct json_object *data, const char *fmt, ...)
{
	char text[1024];
	struct json_object *message = new_message();
	struct json_object *error = json_object_new_object();
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_put(error, "code", json_object_new_int(code));
	json_put(error, "message", json_new_string(text));
	if (data)
		json_put(error, "data", data);
	json_put(message, "id", json_object_get(call->id));
	json_put(message, "error", error);
	end_with(call, message, end_of(call, code));
}

void mcp_drop(struct mcp_call *call)
{
	take_answer(call, NULL, MCP_END_ACCEPTED);
}

/* ---- on the way ---------------------------------------------------------------------------------
 */

void mcp_notify(struct mcp_call *call, const char *method, struct json_object *params)
{
	auto_json struct json_object *message = new_message();
	const struct mcp_exchange *exchange = call->exchange;
	json_put(message, "method", json_new_string(method));
	json_put(message, "params", params);
	if (!exchange->is_listened || call->is_cancelled)
		return;
	auto_free char *text = json_print(message, false);
	exchange->listener.say(exchange->listener.context, text, strlen(text));
}

void mcp_tell_progress(struct mcp_call *call, int64_t progress, int64_t total, const char *text)
{
	if (!call->token || progress <= call->progress)
		return;
	struct json_object *params = json_object_new_object();
	call->progress = progress;
	json_put(params, "progressToken", json_object_get(call->token));
	json_put(params, "progress", json_object_new_int64(progress));
	if (total > 0)
		json_put(params, "total", json_object_new_int64(total));
	if (text && call->version >= MCP_2025_03_26)
		json_put(params, "message", json_new_string(text));
	mcp_notify(call, "notifications/progress", params);
}

/* The last line that has something on it, as one can show it. */
static const char *last_line(const char *text, size_t len, char *line, size_t size)
{
	while (len > 0 && strchr(" \t\r\n", text[len - 1]))
		len--;
	size_t start = len;
	while (start > 0 && !strchr("\r\n", text[start - 1]))
		start--;
	auto_free char *copy = xstrndup(text + start, len - start);
	return utf8_line(copy, line, size);
}

/* An event of a run as progress: how many bytes it has written, and what it wrote last. */
static void tell_event(struct mcp_call *call, const char *event, size_t len)
{
	struct err err = { 0 };
	auto_json struct json_object *json = NULL;
	char line[NEWS_BYTES];
	if (json_read(event, len, MCP_BYTES_MAX, MCP_DEPTH_MAX, &json, &err) < 0)
		return;
	struct json_object *name = json_object_object_get(json, "event");
	struct json_object *data = json_object_object_get(json, "data");
	const char *kind = name ? json_object_get_string(name) : "";
	bool is_output = strcmp(kind, "stdout") == 0 || strcmp(kind, "stderr") == 0;
	bool is_status = strcmp(kind, "status") == 0;
	if ((!is_output && !is_status) || !json_object_is_type(data, json_type_string))
		return;
	const char *text = json_object_get_string(data);
	size_t text_len = (size_t)json_object_get_string_len(data);
	int64_t now_us = clock_us();
	call->output += is_output ? (int64_t)text_len : 0;
	if (is_output && now_us - call->said_us < NEWS_EVERY_US)
		return;
	call->said_us = is_output ? now_us : 0;
	mcp_tell_progress(call, call->output, 0, last_line(text, text_len, line, sizeof(line)));
}

/* ---- work ---------------------------------------------------------------------------------------
 */

int mcp_work_on(struct mcp_call *call, enum work_kind kind, const char *job, mcp_finish *finish,
	struct err *err)
{
	const struct mcp_workshop *workshop = call->mcp->workshop;
	call->finish = finish;
	call->is_working = true;
	call->mcp->busy++;
	if (workshop->begin(workshop->context, call, kind, job, strlen(job), err) == 0)
		return 0;
	call->is_working = false;
	call->mcp->busy--;
	return -1;
}

void mcp_hear(struct mcp_call *call, const char *line, size_t len, bool is_last)
{
	size_t result_len = 0;
	if (!is_last) {
		if (call->token && !call->is_cancelled)
			tell_event(call, line, len);
		return;
	}
	const char *result = line ? work_result(line, len, &result_len) : NULL;
	call->is_working = false;
	call->mcp->busy--;
	call->work = NULL;
	if (call->is_cancelled)
		mcp_drop(call);
	else
		call->finish(call, result, result_len);
}

void mcp_cancel(struct mcp_call *call)
{
	const struct mcp_workshop *workshop = call->mcp->workshop;
	if (call->is_cancelled)
		return;
	call->is_cancelled = true;
	if (call->is_working)
		workshop->cancel(workshop->context, call);
	else if (call->is_listening)
		mcp_drop(call);
}

size_t mcp_busy(const struct mcp *mcp)
{
	return mcp->busy;
}

void *mcp_owner(const struct mcp_call *call)
{
	return call->exchange->listener.context;
}

void mcp_set_work(struct mcp_call *call, void *work)
{
	call->work = work;
}

void *mcp_work(const struct mcp_call *call)
{
	return call->work;
}
