/* SPDX-License-Identifier: Apache-2.0 */
/* What every server answers, whatever it serves. */
#include <string.h>

#include "base/own.h"
#include "mcp/parts.h"
#include "wire/json.h"

enum { LISTS_TTL_MS = 3600 * 1000 };

static struct json_object *new_capabilities(bool is_modern)
{
	struct json_object *json = json_object_new_object();
	struct json_object *tools = json_object_new_object();
	if (mcp_service.has_changes)
		json_put(tools, "listChanged", json_object_new_boolean(true));
	json_put(json, "tools", tools);
	if (mcp_service.put_capabilities)
		mcp_service.put_capabilities(json, is_modern);
	return json;
}

/* The client names a version; we agree, or name the newest that begins like this. */
static void initialize(struct mcp_call *call)
{
	struct json_object *wish = json_object_object_get(call->params, "protocolVersion");
	struct json_object *result = json_object_new_object();
	struct json_object *info = json_object_new_object();
	if (!json_object_is_type(wish, json_type_string)) {
		json_free(&result);
		json_free(&info);
		mcp_refuse(call, MCP_INVALID_PARAMS, NULL,
			"params.protocolVersion must be a string, for example \"2025-11-25\"");
		return;
	}
	enum mcp_version version = mcp_version_find(json_object_get_string(wish));
	if (version == MCP_VERSION_NONE || version >= MCP_2026_07_28)
		version = MCP_2025_11_25;
	call->version = version;
	if (call->peer)
		call->peer->version = version;
	json_put(info, "name", json_new_string(mcp_service.name));
	if (version >= MCP_2025_06_18)
		json_put(info, "title", json_new_string(mcp_service.title));
	json_put(info, "version", json_new_string(HOTCELL_VERSION));
	json_put(result, "protocolVersion", json_new_string(mcp_version_names[version]));
	json_put(result, "capabilities", new_capabilities(false));
	json_put(result, "serverInfo", info);
	if (mcp_service.instructions)
		json_put(result, "instructions", json_new_string(mcp_service.instructions));
	mcp_answer(call, result);
}

static void discover(struct mcp_call *call)
{
	struct json_object *result = json_object_new_object();
	struct json_object *versions = json_object_new_array();
	for (int i = MCP_VERSION_COUNT - 1; i >= MCP_2026_07_28; i--)
		(void)json_object_array_add(versions, json_new_string(mcp_version_names[i]));
	json_put(result, "supportedVersions", versions);
	json_put(result, "capabilities", new_capabilities(true));
	if (mcp_service.instructions)
		json_put(result, "instructions", json_new_string(mcp_service.instructions));
	mcp_answer(call, result);
}

static void ping(struct mcp_call *call)
{
	mcp_answer(call, json_object_new_object());
}

/* clang-format off */
const struct mcp_method mcp_methods[] = {
	{ .name = "initialize", .eras = MCP_LEGACY, .answer = initialize },
	{ .name = "ping", .eras = MCP_LEGACY, .answer = ping },
	{ .name = "server/discover", .eras = MCP_MODERN, .is_cacheable = true, .ttl_ms = LISTS_TTL_MS,
	  .answer = discover },
	{ .name = "subscriptions/listen", .eras = MCP_MODERN, .answer = mcp_listen },
	{ .name = "tools/list", .eras = MCP_BOTH, .is_cacheable = true, .ttl_ms = LISTS_TTL_MS,
	  .answer = mcp_list_tools },
	{ .name = "tools/call", .eras = MCP_BOTH, .named_by = "name", .answer = mcp_call_tool },
};
/* clang-format on */
const size_t mcp_method_count = COUNT_OF(mcp_methods);
