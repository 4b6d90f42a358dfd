/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result as a client gets it: the short text first, then its pictures, and beside them the parts
 * of the result that a program or a model asks about. One table says which parts these are, and so
 * the schema cannot promise what is not sent. What the table leaves out is in the audit log.
 */
#include "base/own.h"
#include "mcp/parts.h"
#include "mcp/shape.h"
#include "wire/base64.h"
#include "wire/json.h"

/* clang-format off */
static const struct mcp_part output_parts[] = {
	PART("type", "string", "result: the value of the last expression; display: shown by the code"),
	PART("data", "object", "MIME type to value; pictures are blocks of the content instead"),
	PART("metadata", "object", "content: the index of the block of content that has the picture"),
	{ 0 },
};

static const struct mcp_part frame_parts[] = {
	PART("file", "string?", "the file"),
	PART("line", "integer?", "the line, from 1"),
	PART("function", "string?", "the function"),
	PART("source", "string?", "the line of code"),
	{ 0 },
};

static const struct mcp_part error_parts[] = {
	PART("kind", "string", "syntax, import, runtime, timeout, refused or setup"),
	PART("message", "string", "what happened, in one line"),
	PART("name", "string?", "the name of the exception"),
	PART("value", "string?", "what the exception says"),
	PART("line", "integer?", "the line of the code that was run"),
	PART("traceback", "object[]", "the calls that led there, outermost first", .parts = frame_parts),
	{ 0 },
};

static const struct mcp_part denial_parts[] = {
	PART("layer", "string", "which wall"),
	PART("operation", "string", "what was tried"),
	PART("target", "string?", "on what"),
	PART("option", "string?", "the option of hotcell run that would allow it"),
	PART("count", "integer", "how often"),
	{ 0 },
};

static const struct mcp_part file_parts[] = {
	PART("path", "string", "in the cell"),
	PART("size", "integer", "in bytes"),
	{ 0 },
};

static const struct mcp_part usage_parts[] = {
	PART("wall_ms", "number", "how long it ran"),
	PART("cpu_ms", "number", "how long it computed"),
	PART("max_memory_kb", "integer", "the most memory it had at once"),
	{ 0 },
};

static const struct mcp_part meta_parts[] = {
	PART("language", "string?", "the language"),
	PART("language_version", "string?", "and its version"),
	PART("session", "string", "the session it ran in", .is_optional = true),
	PART("execution_count", "integer?", "how many it has run", .is_optional = true),
	PART("truncated", "boolean", "stdout or stderr was shortened"),
	PART("warnings", "string[]", "what else is to be known"),
	PART("blocked_imports", "string[]", "modules that were refused"),
	PART("execution_mode", "string", "who asked: direct, or python_exec_tool"),
	{ 0 },
};

static const struct mcp_part result_parts[] = {
	PART("id", "string", "of this execution"),
	PART("status", "string", "ok, or why it did not end well", .is_run_status = true),
	PART("stdout", "string", "what the code printed"),
	PART("stderr", "string", "what it printed there"),
	PART("exit_code", "integer", "0: it ended well"),
	PART("signal", "integer?", "the signal that killed it"),
	PART("duration", "number", "in seconds"),
	PART("outputs", "object[]", "values and displays", .parts = output_parts),
	PART("error", "object?", "what went wrong", .parts = error_parts),
	PART("hint", "string?", "what to do about it"),
	PART("denials", "object[]", "what the sandbox stopped", .parts = denial_parts),
	PART("files", "object[]", "files that were copied out", .parts = file_parts),
	PART("usage", "object", "what it took", .parts = usage_parts),
	PART("meta", "object", "how it was run", .parts = meta_parts),
	{ 0 },
};
/* clang-format on */

static const char *const picture_types[] = { "image/png", "image/jpeg", "image/gif", "image/webp" };

/* ---- pictures -----------------------------------------------------------------------------------
 */

/* Written anew: a cell's base64 may have line breaks, or be none. NULL: it is none. */
static char *clean_base64(struct json_object *value)
{
	auto_buf struct buf bytes;
	buf_init(&bytes, LIMIT_OUTPUT_BYTES);
	if (!json_object_is_type(value, json_type_string) ||
		!base64_decode(json_object_get_string(value),
			(size_t)json_object_get_string_len(value), &bytes))
		return NULL;
	return base64_encode(bytes.data, bytes.len);
}

static struct json_object *new_picture(struct json_object *data)
{
	for (size_t i = 0; i < COUNT_OF(picture_types); i++) {
		auto_free char *text = clean_base64(json_object_object_get(data, picture_types[i]));
		if (!text)
			continue;
		struct json_object *block = json_object_new_object();
		json_put(block, "type", json_new_string("image"));
		json_put(block, "data", json_new_string(text));
		json_put(block, "mimeType", json_new_string(picture_types[i]));
		return block;
	}
	return NULL;
}

/* A drawing is text: it comes along as a small file. */
static struct json_object *new_drawing(struct json_object *data, const char *id, size_t number)
{
	struct json_object *text = json_object_object_get(data, "image/svg+xml");
	if (!json_object_is_type(text, json_type_string))
		return NULL;
	struct json_object *block = json_object_new_object();
	struct json_object *resource = json_object_new_object();
	auto_free char *uri = xasprintf("hotcell://execution/%s/output/%zu", id, number);
	json_put(resource, "uri", json_new_string(uri));
	json_put(resource, "mimeType", json_new_string("image/svg+xml"));
	json_put(resource, "text", json_object_get(text));
	json_put(block, "type", json_new_string("resource"));
	json_put(block, "resource", resource);
	return block;
}

/* Moves the picture of an output to the content, and says there which block it is. */
static void move_picture(
	struct json_object *output, const char *id, size_t number, struct json_object *content)
{
	struct json_object *data = json_object_object_get(output, "data");
	struct json_object *metadata = json_object_object_get(output, "metadata");
	if (!json_object_is_type(data, json_type_object))
		return;
	struct json_object *block = new_picture(data);
	if (!block)
		block = new_drawing(data, id, number);
	if (!block)
		return;
	for (size_t i = 0; i < COUNT_OF(picture_types); i++)
		json_object_object_del(data, picture_types[i]);
	json_object_object_del(data, "image/svg+xml");
	if (json_object_is_type(metadata, json_type_object))
		(void)json_object_object_add(metadata, "content",
			json_object_new_int64((int64_t)json_object_array_length(content)));
	(void)json_object_array_add(content, block);
}

static void move_pictures(struct json_object *result, struct json_object *content)
{
	struct json_object *outputs = json_object_object_get(result, "outputs");
	struct json_object *id = json_object_object_get(result, "id");
	size_t count = json_object_is_type(outputs, json_type_array)
			       ? json_object_array_length(outputs)
			       : 0;
	for (size_t i = 0; i < count; i++)
		move_picture(json_object_array_get_idx(outputs, i),
			id ? json_object_get_string(id) : "", i, content);
}

struct json_object *mcp_describe_result(void)
{
	return mcp_describe_parts(result_parts);
}

/* ---- a result -----------------------------------------------------------------------------------
 */

static struct json_object *new_short_text(struct json_object *json, bool *ret_is_ok)
{
	struct spec spec;
	struct result result;
	spec_init(&spec);
	result_init(&result);
	result_read(json, &result, &spec);
	auto_free char *text = result_compact(&result, &spec);
	*ret_is_ok = result.status == STATUS_OK;
	result_done(&result);
	spec_done(&spec);
	return mcp_new_text(text);
}

static void add_links(struct json_object *content, struct json_object *links)
{
	size_t count = links ? json_object_array_length(links) : 0;
	for (size_t i = 0; i < count; i++)
		(void)json_object_array_add(
			content, json_object_get(json_object_array_get_idx(links, i)));
	json_free(&links);
}

void mcp_tell_result(struct mcp_call *call, struct json_object *result, struct json_object *links)
{
	bool is_ok = false;
	struct json_object *content = json_object_new_array();
	(void)json_object_array_add(content, new_short_text(result, &is_ok));
	move_pictures(result, content);
	add_links(content, links);
	struct json_object *structured = mcp_pick(result, result_parts);
	struct json_object *meta = json_object_object_get(structured, "meta");
	if (call->tool->mode && meta)
		(void)json_object_object_add(
			meta, "execution_mode", json_new_string(call->tool->mode));
	mcp_finish_tool(call, content, structured, !is_ok);
}

void mcp_finish_run(struct mcp_call *call, const char *text, size_t len)
{
	auto_json struct json_object *result = mcp_read_result(call, text, len);
	if (result)
		mcp_tell_result(call, result, NULL);
}
