/* SPDX-License-Identifier: Apache-2.0 */
/* Modern clients listen for changes: a request that stays open and is told of those it named. */
#include "base/own.h"
#include "mcp/parts.h"
#include "wire/json.h"

/* clang-format off */
static const struct { const char *wish, *method; } changes[MCP_CHANGES] = {
	[MCP_TOOLS_CHANGED]     = { "toolsListChanged", "notifications/tools/list_changed" },
	[MCP_PROMPTS_CHANGED]   = { "promptsListChanged", "notifications/prompts/list_changed" },
	[MCP_RESOURCES_CHANGED] = { "resourcesListChanged", "notifications/resources/list_changed" },
};
/* clang-format on */

/* Everything said on the stream says which one it is. */
static struct json_object *new_params(const struct mcp_call *call)
{
	struct json_object *params = json_object_new_object();
	struct json_object *meta = json_object_new_object();
	json_put(meta, "io.modelcontextprotocol/subscriptionId", json_object_get(call->id));
	json_put(params, "_meta", meta);
	return params;
}

void mcp_listen(struct mcp_call *call)
{
	struct json_object *wishes = json_object_object_get(call->params, "notifications");
	struct json_object *granted = NULL;
	if (!mcp_service.has_changes) {
		mcp_refuse(call, MCP_METHOD_NOT_FOUND, NULL, "nothing changes here");
		return;
	}
	if (!json_object_is_type(wishes, json_type_object)) {
		mcp_refuse(
			call, MCP_INVALID_PARAMS, NULL, "params.notifications must be an object");
		return;
	}
	if (call->mcp->listener_count >= MCP_LISTENERS_MAX) {
		mcp_refuse(call, MCP_INTERNAL_ERROR, NULL, "%d clients listen already",
			MCP_LISTENERS_MAX);
		return;
	}
	call->is_listening = true;
	call->mcp->listener_count++;
	granted = json_object_new_object();
	for (size_t i = 0; i < MCP_CHANGES; i++) {
		struct json_object *wish = json_object_object_get(wishes, changes[i].wish);
		call->wants[i] = json_object_is_type(wish, json_type_boolean) &&
				 json_object_get_boolean(wish);
		if (call->wants[i])
			(void)json_object_object_add(
				granted, changes[i].wish, json_object_new_boolean(true));
	}
	struct json_object *params = new_params(call);
	json_put(params, "notifications", granted);
	mcp_notify(call, "notifications/subscriptions/acknowledged", params);
}

void mcp_tell_change(struct mcp *mcp, enum mcp_change change)
{
	for (struct mcp_call *call = mcp->calls; call; call = call->next)
		if (call->is_listening && call->wants[change])
			mcp_notify(call, changes[change].method, new_params(call));
}
