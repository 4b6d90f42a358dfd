/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON schema of a settings file, for editors and other checkers, from the table of keys. */
#include <string.h>

#include "base/own.h"
#include "config/parts.h"
#include "model/field.h"
#include "wire/json.h"

static struct json_object *new_type(const char *name)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "type", json_new_string(name));
	return json;
}

/* A key without a value says nothing, whatever it is. Takes the schema. */
static struct json_object *or_nothing(struct json_object *schema)
{
	struct json_object *ways = json_object_object_get(schema, "anyOf");
	if (!ways) {
		ways = json_object_new_array();
		(void)json_object_array_add(ways, schema);
		schema = json_object_new_object();
		json_put(schema, "anyOf", ways);
	}
	(void)json_object_array_add(ways, new_type("null"));
	return schema;
}

static struct json_object *new_key(const struct config_key *key)
{
	char variable[64];
	struct json_object *json = or_nothing(field_schema(key->field, true));
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
