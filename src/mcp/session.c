/* SPDX-License-Identifier: Apache-2.0 */
/* Tools for sessions, but for executions in them, which are told as any other. */
#include <inttypes.h>
#include <string.h>

#include "base/own.h"
#include "mcp/parts.h"
#include "mcp/shape.h"
#include "wire/json.h"

enum { TEXT_MAX = 1 << 20 };

/* clang-format off */
static const struct mcp_part session_parts[] = {
	PART("name", "string", "what the other tools take as session"),
	PART("language", "string", "the language of its code"),
	PART("status", "string", "idle, or busy while code runs"),
	PART("executions", "integer", "how many it has seen"),
	PART("created", "integer", "seconds since 1970"),
	PART("last_used", "integer", "seconds since 1970"),
	PART("idle", "integer", "it ends after so many seconds without an execution"),
	PART("lifetime", "integer", "it ends after so many seconds in any case"),
	PART("memory_kb", "integer", "what it holds"),
	{ 0 },
};

static const struct mcp_part list_parts[] = {
	PART("sessions", "object[]", "in no order", .parts = session_parts),
	{ 0 },
};

static const struct mcp_part point_parts[] = {
	PART("id", "integer", "its number, which rollback takes as well"),
	PART("name", "string?", "its name"),
	PART("execution", "integer", "how many executions the session had seen"),
	{ 0 },
};

static const struct mcp_part points_parts[] = {
	PART("point", "object", "the point", .parts = point_parts),
	PART("notes", "string[]", "what a point cannot hold, such as open connections"),
	{ 0 },
};

static const struct mcp_part end_parts[] = {
	PART("killed", "string", "the session that ended"),
	{ 0 },
};
/* clang-format on */

struct json_object *mcp_describe_session(void)
{
	return mcp_describe_parts(session_parts);
}

struct json_object *mcp_describe_sessions(void)
{
	return mcp_describe_parts(list_parts);
}

struct json_object *mcp_describe_point(void)
{
	return mcp_describe_parts(points_parts);
}

struct json_object *mcp_describe_end(void)
{
	return mcp_describe_parts(end_parts);
}

static const char *text_of(struct json_object *json, const char *key)
{
	struct json_object *value = json_object_object_get(json, key);
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static int64_t number_of(struct json_object *json, const char *key)
{
	return json_object_get_int64(json_object_object_get(json, key));
}

static size_t count_of(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

/* ---- sessions -----------------------------------------------------------------------------------
 */

static void tell_session(struct mcp_call *call, struct json_object *info)
{
	auto_buf struct buf text = { 0 };
	const char *name = text_of(info, "name");
	buf_init(&text, TEXT_MAX);
	(void)buf_printf(&text,
		"session %s is ready for %s; it ends after %" PRId64
		" seconds without an execution\n",
		name, text_of(info, "language"), number_of(info, "idle"));
	mcp_finish_with(call, buf_text(&text), mcp_pick(info, session_parts));
}

void mcp_finish_new(struct mcp_call *call, const char *result, size_t len)
{
	auto_json struct json_object *info = mcp_read_result(call, result, len);
	if (info)
		tell_session(call, info);
}

void mcp_finish_fork(struct mcp_call *call, const char *result, size_t len)
{
	auto_json struct json_object *answer = mcp_read_result(call, result, len);
	if (answer)
		tell_session(call, json_object_object_get(answer, "session"));
}

static void put_session(struct buf *text, struct json_object *info)
{
	struct json_object *points = json_object_object_get(info, "points");
	(void)buf_printf(text, "%s: %s, %s, %" PRId64 " executions, %" PRId64 " KB",
		text_of(info, "name"), text_of(info, "language"), text_of(info, "status"),
		number_of(info, "executions"), number_of(info, "memory_kb"));
	for (size_t i = 0; i < count_of(points); i++)
		(void)buf_printf(text, "%s%" PRId64, i ? ", " : ", points ",
			json_object_get_int64(json_object_array_get_idx(points, i)));
	(void)buf_append(text, "\n", 1);
}

void mcp_finish_sessions(struct mcp_call *call, const char *result, size_t len)
{
	auto_buf struct buf text = { 0 };
	auto_json struct json_object *answer = mcp_read_result(call, result, len);
	struct json_object *list = json_object_object_get(answer, "sessions");
	if (!answer)
		return;
	buf_init(&text, TEXT_MAX);
	for (size_t i = 0; i < count_of(list); i++)
		put_session(&text, json_object_array_get_idx(list, i));
	mcp_finish_with(call, text.len ? buf_text(&text) : "there are no sessions\n",
		mcp_pick(answer, list_parts));
}

void mcp_finish_kill(struct mcp_call *call, const char *result, size_t len)
{
	auto_json struct json_object *answer = mcp_read_result(call, result, len);
	if (!answer)
		return;
	auto_free char *text = xasprintf("session %s has ended\n", text_of(answer, "killed"));
	mcp_finish_with(call, text, mcp_pick(answer, end_parts));
}

/* ---- points -------------------------------------------------------------------------------------
 */

static void tell_point(struct mcp_call *call, const char *result, size_t len, const char *words)
{
	auto_buf struct buf text = { 0 };
	auto_json struct json_object *answer = mcp_read_result(call, result, len);
	if (!answer)
		return;
	struct json_object *point = json_object_object_get(answer, "point");
	struct json_object *notes = json_object_object_get(answer, "notes");
	const char *name = text_of(point, "name");
	buf_init(&text, TEXT_MAX);
	(void)buf_printf(&text, "%s point %" PRId64 "%s%s%s, behind execution %" PRId64 "\n", words,
		number_of(point, "id"), name[0] ? " (" : "", name, name[0] ? ")" : "",
		number_of(point, "execution"));
	for (size_t i = 0; i < count_of(notes); i++)
		(void)buf_printf(&text, "note: %s\n",
			json_object_get_string(json_object_array_get_idx(notes, i)));
	mcp_finish_with(call, buf_text(&text), mcp_pick(answer, points_parts));
}

void mcp_finish_checkpoint(struct mcp_call *call, const char *result, size_t len)
{
	tell_point(call, result, len, "the session is remembered as");
}

void mcp_finish_rollback(struct mcp_call *call, const char *result, size_t len)
{
	tell_point(call, result, len, "the session is again as at");
}
