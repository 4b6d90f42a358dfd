/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/shape.h"

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

static struct json_object *new_type(const char *name, size_t len)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "type", json_new_text(name, len));
	return json;
}

/* Not a list of types, which some clients cannot read. */
static struct json_object *or_null(struct json_object *json)
{
	struct json_object *either = json_object_new_object();
	struct json_object *list = json_object_new_array();
	(void)json_object_array_add(list, json);
	(void)json_object_array_add(list, new_type("null", strlen("null")));
	json_put(either, "anyOf", list);
	return either;
}

static struct json_object *describe_part(const struct mcp_part *part)
{
	size_t len = strcspn(part->type, "?[");
	struct json_object *json =
		part->parts ? mcp_describe_parts(part->parts) : new_type(part->type, len);
	if (part->type[len] == '?') {
		json = or_null(json);
	} else if (part->type[len] == '[') {
		struct json_object *list = new_type("array", strlen("array"));
		json_put(list, "items", json);
		json = list;
	}
	json_put(json, "description", json_new_string(part->help));
	if (part->is_run_status)
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
