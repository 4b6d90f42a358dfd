/* SPDX-License-Identifier: Apache-2.0 */
/* A field as JSON schema: for editors of settings files, for clients of the server. */
#include <string.h>

#include "base/own.h"
#include "model/field.h"
#include "wire/json.h"

static struct json_object *new_type(const char *name)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "type", json_new_string(name));
	return json;
}

static struct json_object *new_choice(const char *const *choices)
{
	struct json_object *json = json_object_new_object();
	struct json_object *list = json_object_new_array();
	for (size_t i = 0; choices[i]; i++)
		(void)json_object_array_add(list, json_new_string(choices[i]));
	json_put(json, "enum", list);
	return json;
}

/* Milliseconds and thousandths are written as seconds and CPUs. */
static struct json_object *new_number(const struct field *field)
{
	bool is_milli = field->type == FIELD_SECONDS || field->type == FIELD_CPUS;
	struct json_object *json = new_type(is_milli ? "number" : "integer");
	json_put(json, "minimum", json_new_decimal(field->min, is_milli ? 3 : 0));
	json_put(json, "maximum", json_new_decimal(field->max, is_milli ? 3 : 0));
	return json;
}

/* A number as one, or the text a flag would take. */
static struct json_object *new_number_or_text(const struct field *field)
{
	struct json_object *json = json_object_new_object();
	struct json_object *list = json_object_new_array();
	struct json_object *text = new_type("string");
	json_put(text, "pattern",
		json_new_string(
			field->type == FIELD_SIZE
				? "^([0-9]+(\\.[0-9]+)?([kKmMgGtT]([iI]?[bB])?|[bB])?|[a-z]+)$"
				: "^([0-9]+(\\.[0-9]+)?|[a-z]+)$"));
	(void)json_object_array_add(list, new_number(field));
	(void)json_object_array_add(list, text);
	json_put(json, "anyOf", list);
	return json;
}

static struct json_object *new_pair(void)
{
	struct json_object *json = new_type("object");
	struct json_object *members = json_object_new_object();
	struct json_object *needed = json_object_new_array();
	json_put(members, "from", new_type("string"));
	json_put(members, "to", new_type("string"));
	json_put(json, "properties", members);
	(void)json_object_array_add(needed, json_new_string("from"));
	json_put(json, "required", needed);
	json_put(json, "additionalProperties", json_object_new_boolean(false));
	return json;
}

static struct json_object *new_list(const struct field *field)
{
	struct json_object *list = new_type("array");
	struct json_object *item = new_type("string");
	if (field->type == FIELD_PAIRS) {
		struct json_object *either = json_object_new_array();
		(void)json_object_array_add(either, item);
		(void)json_object_array_add(either, new_pair());
		item = json_object_new_object();
		json_put(item, "anyOf", either);
	}
	json_put(list, "items", item);
	json_put(list, "maxItems", json_object_new_int64(field->max));
	return list;
}

/* One item alone, a list of them, and for variables also a map. */
static struct json_object *new_forms(const struct field *field)
{
	struct json_object *json = json_object_new_object();
	struct json_object *forms = json_object_new_array();
	(void)json_object_array_add(forms, new_list(field));
	(void)json_object_array_add(forms, new_type("string"));
	if (strcmp(field->name, "env") == 0) {
		struct json_object *map = new_type("object");
		struct json_object *types = json_object_new_array();
		struct json_object *member = json_object_new_object();
		static const char *const names[] = { "string", "number", "boolean" };
		for (size_t i = 0; i < COUNT_OF(names); i++)
			(void)json_object_array_add(types, json_new_string(names[i]));
		json_put(member, "type", types);
		json_put(map, "additionalProperties", member);
		(void)json_object_array_add(forms, map);
	}
	json_put(json, "anyOf", forms);
	return json;
}

struct json_object *field_schema(const struct field *field, bool is_file)
{
	switch (field->type) {
	case FIELD_BOOL:
		return new_type("boolean");
	case FIELD_SECONDS:
	case FIELD_SIZE:
	case FIELD_COUNT:
	case FIELD_CPUS:
		return new_number_or_text(field);
	case FIELD_STRINGS:
	case FIELD_NAMES:
	case FIELD_PAIRS:
		return is_file ? new_forms(field) : new_list(field);
	default:
		return field->choices ? new_choice(field->choices) : new_type("string");
	}
}
