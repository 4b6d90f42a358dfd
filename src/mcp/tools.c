/* SPDX-License-Identifier: Apache-2.0 */
/* Tools: how they are listed, how one is called, and the shape of what it returns. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "mcp/parts.h"
#include "model/field.h"
#include "model/units.h"
#include "wire/json.h"
#include "wire/utf8.h"

/* ---- lists --------------------------------------------------------------------------------------
 */

static bool is_listed(const struct mcp *mcp, const struct mcp_tool *tool)
{
	return !tool->needs_roots || (mcp->roots && mcp->roots->count > 0);
}

/* A field of the tool's job, which may have some of its own besides a spec's. */
static const struct field *find_field(enum work_kind kind, const char *name)
{
	size_t count = 0;
	const struct field *fields = asked_fields(kind, &count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	return spec_field(name);
}

/* A field brings its schema, its words and its default. */
static struct json_object *describe_param(
	const struct mcp_tool *tool, const struct mcp_param *param)
{
	const struct field *field = param->is_own ? NULL : find_field(tool->kind, param->name);
	struct json_object *schema = field ? field_schema(field, false) : json_object_new_object();
	if (!field)
		json_put(schema, "type", json_new_string("string"));
	const char *help = param->help ? param->help : field ? field->help : "";
	const char *fallback = field && !strstr(help, "default") ? field->fallback : NULL;
	auto_free char *words =
		xasprintf("%s%s%s", help, fallback ? "; default " : "", fallback ? fallback : "");
	json_put(schema, "description", json_new_string(words));
	return schema;
}

static struct json_object *describe_input(const struct mcp_tool *tool)
{
	struct json_object *json = json_object_new_object();
	struct json_object *members = json_object_new_object();
	struct json_object *needed = json_object_new_array();
	for (const struct mcp_param *param = tool->params; param->name; param++) {
		json_put(members, param->name, describe_param(tool, param));
		if (param->is_needed)
			(void)json_object_array_add(needed, json_new_string(param->name));
	}
	json_put(json, "type", json_new_string("object"));
	json_put(json, "properties", members);
	if (json_object_array_length(needed) > 0)
		json_put(json, "required", needed);
	else
		json_free(&needed);
	json_put(json, "additionalProperties", json_object_new_boolean(false));
	return json;
}

static struct json_object *describe_nature(const struct mcp_tool *tool)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "title", json_new_string(tool->title));
	json_put(json, "readOnlyHint", json_object_new_boolean(tool->is_read_only));
	json_put(json, "destructiveHint", json_object_new_boolean(tool->is_destructive));
	json_put(json, "idempotentHint", json_object_new_boolean(tool->is_idempotent));
	json_put(json, "openWorldHint", json_object_new_boolean(tool->is_open_world));
	return json;
}

static struct json_object *describe_tool(const struct mcp_tool *tool, enum mcp_version version)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "name", json_new_string(tool->name));
	if (version >= MCP_2025_06_18)
		json_put(json, "title", json_new_string(tool->title));
	json_put(json, "description", json_new_string(tool->description));
	json_put(json, "inputSchema", describe_input(tool));
	if (version >= MCP_2025_06_18 && tool->describe)
		json_put(json, "outputSchema", tool->describe());
	if (version >= MCP_2025_03_26)
		json_put(json, "annotations", describe_nature(tool));
	if (tool->is_system && version >= MCP_2025_06_18) {
		struct json_object *meta = json_object_new_object();
		json_put(meta, "hotcell/kind", json_new_string("system"));
		json_put(json, "_meta", meta);
	}
	return json;
}

void mcp_list_tools(struct mcp_call *call)
{
	struct json_object *result = json_object_new_object();
	struct json_object *list = json_object_new_array();
	for (size_t i = 0; i < mcp_service.tool_count; i++)
		if (is_listed(call->mcp, &mcp_service.tools[i]))
			(void)json_object_array_add(
				list, describe_tool(&mcp_service.tools[i], call->version));
	json_put(result, "tools", list);
	mcp_answer(call, result);
}

/* ---- calls --------------------------------------------------------------------------------------
 */

static const struct mcp_tool *find_tool(const struct mcp *mcp, const char *name)
{
	for (size_t i = 0; i < mcp_service.tool_count; i++)
		if (strcmp(mcp_service.tools[i].name, name) == 0 &&
			is_listed(mcp, &mcp_service.tools[i]))
			return &mcp_service.tools[i];
	return NULL;
}

static void refuse_tool(struct mcp_call *call, const char *name)
{
	const char *names[MCP_TOOLS_MAX];
	char shown[80];
	size_t count = 0;
	for (size_t i = 0; i < mcp_service.tool_count; i++)
		if (is_listed(call->mcp, &mcp_service.tools[i]))
			names[count++] = mcp_service.tools[i].name;
	const char *near = units_nearest(name, names, count);
	mcp_refuse(call, MCP_INVALID_PARAMS, NULL, "unknown tool '%s'%s%s%s",
		utf8_line(name, shown, sizeof(shown)), near ? ", did you mean '" : "",
		near ? near : "", near ? "'?" : "");
}

static const struct mcp_param *find_param(const struct mcp_tool *tool, const char *name)
{
	for (const struct mcp_param *param = tool->params; param->name; param++)
		if (strcmp(param->name, name) == 0)
			return param;
	return NULL;
}

static int refuse_argument(const struct mcp_tool *tool, const char *name, struct err *err)
{
	auto_buf struct buf names;
	char shown[80];
	buf_init(&names, 512);
	for (const struct mcp_param *param = tool->params; param->name; param++)
		(void)buf_printf(&names, "%s%s", names.len ? ", " : "", param->name);
	if (names.len == 0)
		return err_set(err, ERR_INVALID, "%s: there is no argument '%s'; it takes none",
			tool->name, utf8_line(name, shown, sizeof(shown)));
	return err_set(err, ERR_INVALID, "%s: there is no argument '%s'; it takes %s", tool->name,
		utf8_line(name, shown, sizeof(shown)), buf_text(&names));
}

/* That all are known and none is missing; what they hold is for the tool to judge, but for texts.
 */
static int check_arguments(
	const struct mcp_tool *tool, struct json_object *arguments, struct err *err)
{
	json_object_object_foreach(arguments, name, value)
	{
		const struct mcp_param *param = find_param(tool, name);
		if (!param)
			return refuse_argument(tool, name, err);
		if (param->is_own && !json_object_is_type(value, json_type_string))
			return err_set(err, ERR_INVALID, "%s: must be a string, not %s", name,
				json_kind(value));
	}
	for (const struct mcp_param *param = tool->params; param->name; param++)
		if (param->is_needed && !json_object_object_get(arguments, param->name))
			return err_set(err, ERR_INVALID, "%s: the argument '%s' is missing",
				tool->name, param->name);
	return 0;
}

/* Since 2025-11-25 the model itself is told what is wrong with its arguments. */
static void refuse_arguments(struct mcp_call *call, const struct err *err)
{
	if (call->version >= MCP_2025_11_25)
		mcp_finish_text(call, true, "%s", err->text);
	else
		mcp_refuse(call, MCP_INVALID_PARAMS, NULL, "%s", err->text);
}

void mcp_call_tool(struct mcp_call *call)
{
	struct err err = { 0 };
	struct json_object *name = json_object_object_get(call->params, "name");
	struct json_object *given = json_object_object_get(call->params, "arguments");
	auto_json struct json_object *arguments =
		given ? json_object_get(given) : json_object_new_object();
	if (!json_object_is_type(name, json_type_string) ||
		!json_object_is_type(arguments, json_type_object)) {
		mcp_refuse(call, MCP_INVALID_PARAMS, NULL,
			"params must hold \"name\", a string, and \"arguments\", an object");
		return;
	}
	call->tool = find_tool(call->mcp, json_object_get_string(name));
	if (!call->tool) {
		refuse_tool(call, json_object_get_string(name));
		return;
	}
	call->mcp->counts[call->tool - mcp_service.tools]++;
	int (*begin)(struct mcp_call *, struct json_object *, struct err *) =
		call->tool->begin ? call->tool->begin : mcp_begin_job;
	if (check_arguments(call->tool, arguments, &err) < 0 || begin(call, arguments, &err) < 0)
		refuse_arguments(call, &err);
}

/* ---- results ------------------------------------------------------------------------------------
 */

struct json_object *mcp_new_text(const char *text)
{
	struct json_object *block = json_object_new_object();
	json_put(block, "type", json_new_string("text"));
	json_put(block, "text", json_new_string(text));
	return block;
}

void mcp_finish_tool(struct mcp_call *call, struct json_object *content,
	struct json_object *structured, bool is_error)
{
	struct json_object *result = json_object_new_object();
	call->mcp->errors[call->tool - mcp_service.tools] += is_error;
	json_put(result, "content", content);
	if (structured && call->version >= MCP_2025_06_18)
		json_put(result, "structuredContent", structured);
	else
		json_free(&structured);
	json_put(result, "isError", json_object_new_boolean(is_error));
	mcp_answer(call, result);
}

void mcp_finish_text(struct mcp_call *call, bool is_error, const char *fmt, ...)
{
	char text[1024];
	struct json_object *content = json_object_new_array();
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)json_object_array_add(content, mcp_new_text(text));
	mcp_finish_tool(call, content, NULL, is_error);
}

bool mcp_count(const struct mcp *mcp, size_t number, const char **ret_tool, uint64_t *ret_calls,
	uint64_t *ret_errors)
{
	if (number >= mcp_service.tool_count)
		return false;
	*ret_tool = mcp_service.tools[number].name;
	*ret_calls = mcp->counts[number];
	*ret_errors = mcp->errors[number];
	return true;
}
