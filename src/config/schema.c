/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON schema of a settings file, for editors and other checkers, from the table of keys. */
#include <string.h>

#include "base/own.h"
#include "config/parts.h"
#include "model/field.h"
#include "model/units.h"
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

/* One item alone, a list of them, and for variables also a map. */
static struct json_object *new_list(const struct field *field)
{
	struct json_object *json = json_object_new_object();
	struct json_object *forms = json_object_new_array();
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
	(void)json_object_array_add(forms, list);
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

static struct json_object *new_value(const struct field *field)
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
		return new_list(field);
	default:
		return field->choices ? new_choice(field->choices) : new_type("string");
	}
}

static struct json_object *new_key(const struct config_key *key)
{
	char variable[64];
	struct json_object *json = new_value(key->field);
	config_variable(key, variable, sizeof(variable));
	auto_free char *words = xasprintf("%s (%s%s%s)", key->field->help, variable,
		key->field->fallback ? ", default " : "",
		key->field->fallback ? key->field->fallback : "");
	json_put(json, "description", json_new_string(words));
	return json;
}

static struct json_object *new_section(const char *section, bool is_of_language)
{
	struct json_object *json = new_type("object");
	struct json_object *members = json_object_new_object();
	struct config_key key;
	for (size_t i = 0; config_key(i, &key); i++) {
		bool is_here =
			section ? key.section && strcmp(section, key.section) == 0 : !key.section;
		bool is_wanted = !is_of_language ||
				 (key.is_of_run && strcmp(key.field->name, "language") != 0);
		if (is_here && is_wanted && !key.is_variable_only && !key.field->is_once)
			json_put(members, key.field->name, new_key(&key));
	}
	json_put(json, "properties", members);
	json_put(json, "additionalProperties", json_object_new_boolean(false));
	return json;
}

char *config_schema(void)
{
	auto_json struct json_object *json = new_section(NULL, false);
	struct json_object *members = json_object_object_get(json, "properties");
	struct json_object *languages = new_type("object");
	json_put(json, "$schema", json_new_string("https://json-schema.org/draft/2020-12/schema"));
	json_put(json, "title", json_new_string("hotcell config.yaml"));
	json_put(languages, "description",
		json_new_string("settings of runs in one language, by its name"));
	json_put(languages, "additionalProperties", new_section(NULL, true));
	json_put(members, "languages", languages);
	for (size_t i = 0; config_sections[i]; i++)
		json_put(members, config_sections[i], new_section(config_sections[i], false));
	return json_print(json, true);
}
