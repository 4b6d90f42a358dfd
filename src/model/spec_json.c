/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spec as JSON: one object, each key a field's name. A value has the natural type or is the
 * text a flag would take, so "memory": 536870912 and "memory": "512M" are the same. null leaves
 * the default. Whatever is not understood is refused.
 */
#include "model/spec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "model/field.h"
#include "model/limits.h"
#include "model/units.h"
#include "wire/json.h"
#include "wire/utf8.h"

static int refuse_type(
	const struct field *field, const char *wanted, struct json_object *value, struct err *err)
{
	return field_refuse(field, VOICE_JSON, ERR_INVALID, err, "must be %s, not %s", wanted,
		json_kind(value));
}

static int read_text(
	struct spec *spec, const struct field *field, struct json_object *value, struct err *err)
{
	if (!json_object_is_type(value, json_type_string))
		return refuse_type(field, "a string", value, err);
	return field_set(spec, field, json_object_get_string(value), VOICE_JSON, err);
}

static int read_bool(
	struct spec *spec, const struct field *field, struct json_object *value, struct err *err)
{
	if (!json_object_is_type(value, json_type_boolean))
		return refuse_type(field, "true or false", value, err);
	return field_set(
		spec, field, json_object_get_boolean(value) ? "true" : "false", VOICE_JSON, err);
}

/* Numbers go through the text a flag would take: one parser, one set of bounds. */
static int read_number(
	struct spec *spec, const struct field *field, struct json_object *value, struct err *err)
{
	char text[64];
	if (json_object_is_type(value, json_type_string))
		return read_text(spec, field, value, err);
	if (json_object_is_type(value, json_type_int)) {
		(void)snprintf(text, sizeof(text), "%lld", (long long)json_object_get_int64(value));
		return field_set(spec, field, text, VOICE_JSON, err);
	}
	if (!json_object_is_type(value, json_type_double))
		return refuse_type(field, "a number or a string", value, err);
	double number = json_object_get_double(value);
	if (!isfinite(number) || fabs(number) >= 1e18)
		return field_refuse(field, VOICE_JSON, ERR_INVALID, err,
			"%g is not a number that can be used", number);
	int n = snprintf(text, sizeof(text), "%.6f", number);
	while (text[n - 1] == '0')
		n--;
	if (text[n - 1] == '.')
		n--;
	text[n] = '\0';
	return field_set(spec, field, text, VOICE_JSON, err);
}

static int read_env_object(
	struct spec *spec, const struct field *field, struct json_object *value, struct err *err)
{
	json_object_object_foreach(value, name, item)
	{
		char quote[48];
		if (!json_object_is_type(item, json_type_string))
			return field_refuse(field, VOICE_JSON, ERR_INVALID, err,
				"the value of '%s' must be a string, not %s",
				utf8_line(name, quote, sizeof(quote)), json_kind(item));
		if (strchr(name, '='))
			return field_refuse(field, VOICE_JSON, ERR_INVALID, err,
				"the name '%s' has a '='", utf8_line(name, quote, sizeof(quote)));
		auto_free char *text = xasprintf("%s=%s", name, json_object_get_string(item));
		TRY(field_add(spec, field, text, NULL, VOICE_JSON, err));
	}
	return 0;
}

/* {"from": …, "to": …}, both taken literally. */
static int read_pair_object(
	struct spec *spec, const struct field *field, struct json_object *value, struct err *err)
{
	const char *from = NULL, *to = NULL;
	json_object_object_foreach(value, key, item)
	{
		char quote[48];
		bool is_from = strcmp(key, "from") == 0;
		if (!is_from && strcmp(key, "to") != 0)
			return field_refuse(field, VOICE_JSON, ERR_INVALID, err,
				"unknown key '%s' (valid: from, to)",
				utf8_line(key, quote, sizeof(quote)));
		if (!is_from && !item)
			continue;
		if (!json_object_is_type(item, json_type_string))
			return field_refuse(field, VOICE_JSON, ERR_INVALID, err,
				"'%s' must be a string, not %s", key, json_kind(item));
		*(is_from ? &from : &to) = json_object_get_string(item);
	}
	if (!from || *from == '\0' || (to && *to == '\0'))
		return field_refuse(
			field, VOICE_JSON, ERR_INVALID, err, "'from' or 'to' is missing or empty");
	return field_add(spec, field, from, to, VOICE_JSON, err);
}

static int read_item(
	struct spec *spec, const struct field *field, struct json_object *item, struct err *err)
{
	if (field->type == FIELD_PAIRS && json_object_is_type(item, json_type_object))
		return read_pair_object(spec, field, item, err);
	if (!json_object_is_type(item, json_type_string))
		return refuse_type(field,
			field->type == FIELD_PAIRS ? "an array of strings or objects"
						   : "an array of strings",
			item, err);
	return field_set(spec, field, json_object_get_string(item), VOICE_JSON, err);
}

static int read_list(
	struct spec *spec, const struct field *field, struct json_object *value, struct err *err)
{
	if (field == spec_field("env") && json_object_is_type(value, json_type_object))
		return read_env_object(spec, field, value, err);
	if (field->type == FIELD_NAMES && json_object_is_type(value, json_type_string))
		return read_text(spec, field, value, err);
	if (!json_object_is_type(value, json_type_array))
		return refuse_type(field, "an array", value, err);
	size_t count = json_object_array_length(value);
	for (size_t i = 0; i < count; i++)
		TRY(read_item(spec, field, json_object_array_get_idx(value, i), err));
	return 0;
}

/* clang-format off */
static int (*const readers[FIELD_TYPE_COUNT])(struct spec *spec, const struct field *field,
	struct json_object *value, struct err *err) = {
	[FIELD_BOOL]    = read_bool,
	[FIELD_TEXT]    = read_text,
	[FIELD_SECONDS] = read_number,
	[FIELD_SIZE]    = read_number,
	[FIELD_COUNT]   = read_number,
	[FIELD_CPUS]    = read_number,
	[FIELD_CHOICE]  = read_text,
	[FIELD_STRINGS] = read_list,
	[FIELD_NAMES]   = read_list,
	[FIELD_PAIRS]   = read_list,
};
/* clang-format on */

static const struct field *field_by_json_name(const char *name)
{
	const struct field *field = spec_field(name);
	return field && strcmp(field->name, name) == 0 ? field : NULL;
}

int field_refuse_unknown(const char *name, struct err *err)
{
	const char *names[64];
	char quote[48];
	for (size_t i = 0; i < spec_field_count; i++)
		names[i] = spec_fields[i].name;
	const char *near = units_nearest(name, names, spec_field_count);
	(void)utf8_line(name, quote, sizeof(quote));
	if (near)
		return err_set(
			err, ERR_INVALID, "unknown field '%s', did you mean '%s'?", quote, near);
	return err_set(err, ERR_INVALID,
		"unknown field '%s', see 'hotcell run --help' for the fields there are", quote);
}

int spec_from_json(struct spec *spec, const char *text, size_t len, struct err *err)
{
	auto_json struct json_object *json = NULL;
	TRY(json_read(text, len, LIMIT_SPEC_BYTES, LIMIT_SPEC_DEPTH, &json, err));
	json_object_object_foreach(json, name, value)
	{
		const struct field *field = field_by_json_name(name);
		if (!field)
			return field_refuse_unknown(name, err);
		if (value)
			TRY(readers[field->type](spec, field, value, err));
	}
	return 0;
}

struct json_object *strings_to_json(const struct strings *list)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; i < list->count; i++)
		(void)json_object_array_add(array, json_new_string(list->items[i]));
	return array;
}
