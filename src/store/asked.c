/* SPDX-License-Identifier: Apache-2.0 */
#include "store/asked.h"

#include <string.h>

#include "base/own.h"
#include "model/field.h"
#include "wire/json.h"

/* Of "K=V" the name, of "K" itself. */
static struct json_object *names_to_json(const struct strings *list)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; i < list->count; i++)
		(void)json_object_array_add(
			array, json_new_text(list->items[i], strcspn(list->items[i], "=")));
	return array;
}

static struct json_object *pairs_to_json(const struct pairs *list)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; i < list->count; i++) {
		struct json_object *pair = json_object_new_object();
		json_put(pair, "from", json_new_string(list->items[i].from));
		json_put(pair, "to", json_new_string(list->items[i].to));
		(void)json_object_array_add(array, pair);
	}
	return array;
}

static struct json_object *field_to_json(const struct spec *spec, const struct field *field)
{
	const void *slot = field_slot(spec, field);
	switch (field->type) {
	case FIELD_BOOL:
		return json_object_new_boolean(*(const bool *)slot);
	case FIELD_TEXT:
		return json_new_string(*(char *const *)slot);
	case FIELD_SECONDS:
	case FIELD_CPUS:
		return *(const int64_t *)slot ? json_new_decimal(*(const int64_t *)slot, 3) : NULL;
	case FIELD_SIZE:
	case FIELD_COUNT:
		return json_object_new_int64(*(const int64_t *)slot);
	case FIELD_CHOICE:
		return json_new_string(field->choices[*(const int *)slot]);
	case FIELD_STRINGS:
	case FIELD_NAMES:
		return field == spec_field("env") ? names_to_json(slot) : strings_to_json(slot);
	case FIELD_PAIRS:
		return pairs_to_json(slot);
	case FIELD_NONE:
	case FIELD_TYPE_COUNT:
		break;
	}
	return NULL;
}

struct json_object *asked_to_json(const struct spec *spec)
{
	struct json_object *json = json_object_new_object();
	for (size_t i = 0; i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		if (field != spec_field("code"))
			json_put(json, field->name, field_to_json(spec, field));
	}
	return json;
}

uint64_t store_hash(const struct store_run *run, char hash[SHA256_HEX + 1])
{
	struct sha256 sha;
	const struct strings *exec = &run->spec->exec;
	sha256_init(&sha);
	for (size_t i = 0; i < exec->count; i++)
		sha256_add(&sha, exec->items[i], strlen(exec->items[i]) + 1);
	if (run->code && exec->count == 0)
		sha256_add(&sha, run->code, run->code_len);
	uint64_t bytes = sha.len;
	sha256_hex(&sha, hash);
	return bytes;
}
