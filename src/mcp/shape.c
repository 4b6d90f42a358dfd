/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/shape.h"

#include <stdio.h>
#include <string.h>

#include "model/result.h"
#include "wire/json.h"

static struct json_object *describe_statuses(void)
{
	struct json_object *list = json_object_new_array();
	for (int i = STATUS_OK; i < RUN_STATUS_COUNT; i++)
		(void)json_object_array_add(list, json_new_string(run_status_names[i]));
	return list;
}

static struct json_object *describe_part(const struct mcp_part *part)
{
	char type[16];
	size_t len = strcspn(part->type, "?[");
	bool is_list = part->type[len] == '[';
	(void)snprintf(type, sizeof(type), "%.*s", (int)len, part->type);
	struct json_object *item =
		part->parts ? mcp_describe_parts(part->parts) : json_object_new_object();
	struct json_object *json = is_list ? json_object_new_object() : item;
	struct json_object *types = json_new_string(type);
	if (part->type[len] == '?') {
		struct json_object *either = json_object_new_array();
		(void)json_object_array_add(either, types);
		(void)json_object_array_add(either, json_new_string("null"));
		types = either;
	}
	(void)json_object_object_add(item, "type", types);
	if (is_list) {
		json_put(json, "type", json_new_string("array"));
		json_put(json, "items", item);
	}
	json_put(json, "description", json_new_string(part->help));
	if (strcmp(part->name, "status") == 0)
		json_put(json, "enum", describe_statuses());
	return json;
}

struct json_object *mcp_describe_parts(const struct mcp_part *parts)
{
	struct json_object *json = json_object_new_object();
	struct json_object *members = json_object_new_object();
	struct json_object *needed = json_object_new_array();
	json_put(json, "type", json_new_string("object"));
	for (const struct mcp_part *part = parts; part->name; part++) {
		json_put(members, part->name, describe_part(part));
		if (!part->is_optional)
			(void)json_object_array_add(needed, json_new_string(part->name));
	}
	json_put(json, "properties", members);
	json_put(json, "required", needed);
	return json;
}

/* ---- the parts that are sent --------------------------------------------------------------------
 */

static struct json_object *pick_part(struct json_object *value, const struct mcp_part *part)
{
	if (!part->parts || !value)
		return json_object_get(value);
	if (!json_object_is_type(value, json_type_array))
		return mcp_pick(value, part->parts);
	struct json_object *list = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(value); i++)
		(void)json_object_array_add(
			list, mcp_pick(json_object_array_get_idx(value, i), part->parts));
	return list;
}

struct json_object *mcp_pick(struct json_object *from, const struct mcp_part *parts)
{
	struct json_object *to = json_object_new_object();
	for (const struct mcp_part *part = parts; part->name; part++) {
		struct json_object *value = NULL;
		if (json_object_object_get_ex(from, part->name, &value))
			json_put(to, part->name, pick_part(value, part));
	}
	return to;
}
