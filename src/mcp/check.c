/* SPDX-License-Identifier: Apache-2.0 */
/* The tool that tells what the guard thinks of code, without running it. */
#include <inttypes.h>

#include "base/own.h"
#include "mcp/parts.h"
#include "mcp/shape.h"
#include "wire/json.h"

/* clang-format off */
static const struct mcp_part finding_parts[] = {
	PART("rule", "string", "which rule"),
	PART("severity", "string", "block or warn"),
	PART("line", "integer?", "the line of the code"),
	PART("reason", "string", "what it does, and why that matters"),
	{ 0 },
};

static const struct mcp_part check_parts[] = {
	PART("verdict", "string", "allow: nothing stands against it; warn: it runs, but look at the "
				  "findings; block: it would be refused"),
	PART("analysed", "boolean", "false: this language is not looked into"),
	PART("language", "string?", "the language"),
	PART("profile", "string", "the policy: strict, standard or trusted"),
	PART("findings", "object[]", "what was found", .parts = finding_parts),
	PART("imports", "string[]", "the modules it imports"),
	{ 0 },
};
/* clang-format on */

struct json_object *mcp_describe_check(void)
{
	return mcp_describe_parts(check_parts);
}

static const char *text_of(struct json_object *json, const char *key)
{
	struct json_object *value = json_object_object_get(json, key);
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static void put_finding(struct buf *text, struct json_object *finding)
{
	int64_t line = json_object_get_int64(json_object_object_get(finding, "line"));
	if (line > 0)
		(void)buf_printf(text, "line %" PRId64 ": ", line);
	(void)buf_printf(
		text, "%s (%s)\n", text_of(finding, "reason"), text_of(finding, "severity"));
}

void mcp_finish_check(struct mcp_call *call, const char *result, size_t len)
{
	enum { TEXT_MAX = 256 << 10 };
	auto_buf struct buf text = { 0 };
	auto_json struct json_object *report = mcp_read_result(call, result, len);
	if (!report)
		return;
	struct json_object *findings = json_object_object_get(report, "findings");
	size_t count = json_object_is_type(findings, json_type_array)
			       ? json_object_array_length(findings)
			       : 0;
	buf_init(&text, TEXT_MAX);
	(void)buf_printf(&text, "verdict: %s\n", text_of(report, "verdict"));
	for (size_t i = 0; i < count; i++)
		put_finding(&text, json_object_array_get_idx(findings, i));
	mcp_finish_with(call, buf_text(&text), mcp_pick(report, check_parts));
}
