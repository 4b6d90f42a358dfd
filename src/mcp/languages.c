/* SPDX-License-Identifier: Apache-2.0 */
/* The tool that lists languages. */
#include "base/own.h"
#include "mcp/parts.h"
#include "mcp/shape.h"
#include "wire/json.h"

static const char *text_of(struct json_object *json, const char *key)
{
	struct json_object *value = json_object_object_get(json, key);
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* clang-format off */
static const struct mcp_part language_parts[] = {
	PART("name", "string", "what run_code takes as its language"),
	PART("title", "string", "what people call it"),
	PART("version", "string?", "its version; null: not known"),
	PART("aliases", "string[]", "other names"),
	PART("endings", "string[]", "endings of its files"),
	PART("compiled", "boolean", "it is compiled before it runs"),
	PART("available", "boolean", "it is installed here"),
	{ 0 },
};

static const struct mcp_part list_parts[] = {
	PART("languages", "object[]", "in alphabetical order", .parts = language_parts),
	{ 0 },
};
/* clang-format on */

struct json_object *mcp_describe_languages(void)
{
	return mcp_describe_parts(list_parts);
}

/* "python 3.11.2 (py)": a line for each that can be used here. */
static void put_language(struct buf *text, struct json_object *json)
{
	struct json_object *aliases = json_object_object_get(json, "aliases");
	struct json_object *available = json_object_object_get(json, "available");
	const char *version = text_of(json, "version");
	(void)buf_printf(text, "%s%s%s", text_of(json, "name"), version[0] ? " " : "", version);
	size_t count = json_object_is_type(aliases, json_type_array)
			       ? json_object_array_length(aliases)
			       : 0;
	for (size_t i = 0; i < count; i++)
		(void)buf_printf(text, "%s%s%s", i ? ", " : " (",
			json_object_get_string(json_object_array_get_idx(aliases, i)),
			i + 1 == count ? ")" : "");
	if (available && !json_object_get_boolean(available))
		(void)buf_printf(text, ": not installed here");
	(void)buf_append(text, "\n", 1);
}

void mcp_finish_languages(struct mcp_call *call, const char *result, size_t len)
{
	enum { TEXT_MAX = 64 << 10 };
	auto_buf struct buf text = { 0 };
	struct json_object *list = mcp_read_result(call, result, len);
	size_t count = 0;
	if (!list)
		return;
	count = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	buf_init(&text, TEXT_MAX);
	for (size_t i = 0; i < count; i++)
		put_language(&text, json_object_array_get_idx(list, i));
	auto_json struct json_object *whole = json_object_new_object();
	json_put(whole, "languages", list);
	mcp_finish_with(call, buf_text(&text), mcp_pick(whole, list_parts));
}
