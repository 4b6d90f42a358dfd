/* SPDX-License-Identifier: Apache-2.0 */
#include "model/policy.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "model/field.h"
#include "model/limits.h"
#include "wire/json.h"

const char *const cell_form_names[CELL_FORM_COUNT + 1] = {
	[FORM_GATE] = "gate",
	[FORM_GUEST] = "guest",
	[FORM_STARTED] = "started",
};

void policy_init(struct policy *policy)
{
	*policy = (struct policy){ 0 };
	spec_init(&policy->spec);
}

void policy_done(struct policy *policy)
{
	spec_done(&policy->spec);
	strings_done(&policy->standing);
	free(policy->runtime);
	free(policy->interpreter);
	*policy = (struct policy){ 0 };
}

/* ---- out --------------------------------------------------------------------------------------
 */

/* JSON repairs what is no UTF-8; a path that was repaired is another path. */
static struct json_object *write_text(const char *text, bool *is_exact)
{
	struct json_object *value = json_new_string(text);
	*is_exact &= strcmp(json_object_get_string(value), text) == 0;
	return value;
}

static struct json_object *write_strings(const struct strings *list, bool *is_exact)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; i < list->count; i++)
		(void)json_object_array_add(array, write_text(list->items[i], is_exact));
	return array;
}

/* Who reads it may stand in another directory. */
static struct json_object *write_path(const char *path, bool *is_exact)
{
	auto_free char *real = realpath(path, NULL);
	return write_text(real ? real : path, is_exact);
}

static struct json_object *write_pairs(const struct pairs *list, bool *is_exact)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; i < list->count; i++) {
		struct json_object *pair = json_object_new_object();
		auto_free char *to = spec_mount_target(&list->items[i]);
		json_put(pair, "from", write_path(list->items[i].from, is_exact));
		if (to)
			json_put(pair, "to", write_text(to, is_exact));
		(void)json_object_array_add(array, pair);
	}
	return array;
}

static struct json_object *write_field(
	const struct spec *spec, const struct field *field, bool *is_exact)
{
	const void *slot = field_slot(spec, field);
	const char *text = field->type == FIELD_TEXT ? *(char *const *)slot : NULL;
	switch (field->type) {
	case FIELD_BOOL:
		return json_object_new_boolean(*(const bool *)slot);
	case FIELD_TEXT:
		if (text && field == spec_field("rootfs") && strcmp(text, "host") != 0)
			return write_path(text, is_exact);
		return text ? write_text(text, is_exact) : NULL;
	case FIELD_SECONDS:
	case FIELD_CPUS: /* 0 is what no text says: none */
		return *(const int64_t *)slot ? json_new_decimal(*(const int64_t *)slot, 3) : NULL;
	case FIELD_SIZE:
	case FIELD_COUNT:
		return json_object_new_int64(*(const int64_t *)slot);
	case FIELD_CHOICE:
		return write_text(field->choices[*(const int *)slot], is_exact);
	case FIELD_STRINGS:
	case FIELD_NAMES:
		return write_strings(slot, is_exact);
	case FIELD_PAIRS:
		return write_pairs(slot, is_exact);
	case FIELD_NONE:
	case FIELD_TYPE_COUNT:
		break;
	}
	return NULL;
}

char *policy_to_json(const struct policy *policy)
{
	auto_json struct json_object *json = json_object_new_object();
	struct json_object *spec = json_object_new_object();
	bool is_exact = true;
	json_put(json, "form", json_object_new_string(cell_form_names[policy->form]));
	json_put(json, "standing", write_strings(&policy->standing, &is_exact));
	if (policy->runtime)
		json_put(json, "runtime", write_path(policy->runtime, &is_exact));
	if (policy->interpreter)
		json_put(json, "interpreter", write_text(policy->interpreter, &is_exact));
	json_put(json, "full_proc", json_object_new_boolean(policy->has_full_proc));
	json_put(json, "spec", spec);
	for (size_t i = 0; i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		struct json_object *value =
			field->is_job ? NULL : write_field(&policy->spec, field, &is_exact);
		if (value)
			json_put(spec, field->name, value);
	}
	return is_exact ? json_print(json, false) : NULL;
}

/* ---- in ---------------------------------------------------------------------------------------
 */

static int read_text(struct json_object *value, const char *key, char **ret_text, struct err *err)
{
	if (!json_object_is_type(value, json_type_string))
		return err_set(err, ERR_INVALID, "policy: '%s' must be a string, not %s", key,
			json_kind(value));
	free(*ret_text);
	*ret_text = xstrdup(json_object_get_string(value));
	return 0;
}

static int read_form(struct json_object *value, enum cell_form *ret_form, struct err *err)
{
	auto_free char *name = NULL;
	TRY(read_text(value, "form", &name, err));
	for (int i = 0; i < CELL_FORM_COUNT; i++) {
		if (strcmp(name, cell_form_names[i]) != 0)
			continue;
		*ret_form = (enum cell_form)i;
		return 0;
	}
	return err_set(err, ERR_INVALID, "policy: there is no form '%.40s'", name);
}

static int read_standing(struct json_object *value, struct strings *list, struct err *err)
{
	if (!json_object_is_type(value, json_type_array) ||
		json_object_array_length(value) > LIMIT_NAMES)
		return err_set(err, ERR_INVALID,
			"policy: 'standing' must be an array of at most %d", LIMIT_NAMES);
	for (size_t i = 0; i < json_object_array_length(value); i++) {
		auto_free char *text = NULL;
		TRY(read_text(json_object_array_get_idx(value, i), "standing", &text, err));
		strings_add(list, text);
	}
	return 0;
}

static int read_spec(struct json_object *value, struct spec *spec, struct err *err)
{
	const char *text = json_object_to_json_string(value);
	TRY(spec_from_json(spec, text, strlen(text), err));
	for (size_t i = 0; i < spec_field_count; i++)
		if (spec_fields[i].is_job && spec_is_given(spec, &spec_fields[i]))
			return err_set(err, ERR_INVALID, "policy: '%s' is a job's affair",
				spec_fields[i].name);
	/* something must be run for a spec to be sound */
	strings_add(&spec->exec, "program");
	return spec_check(spec, err);
}

static int read_member(
	struct policy *policy, const char *key, struct json_object *value, struct err *err)
{
	if (strcmp(key, "form") == 0)
		return read_form(value, &policy->form, err);
	if (strcmp(key, "standing") == 0)
		return read_standing(value, &policy->standing, err);
	if (strcmp(key, "runtime") == 0)
		return read_text(value, key, &policy->runtime, err);
	if (strcmp(key, "interpreter") == 0)
		return read_text(value, key, &policy->interpreter, err);
	if (strcmp(key, "spec") == 0)
		return read_spec(value, &policy->spec, err);
	if (strcmp(key, "full_proc") == 0 && json_object_is_type(value, json_type_boolean)) {
		policy->has_full_proc = json_object_get_boolean(value);
		return 0;
	}
	return err_set(err, ERR_INVALID, "policy: '%.40s' is not understood", key);
}

int policy_from_json(struct policy *policy, const char *text, size_t len, struct err *err)
{
	auto_json struct json_object *json = NULL;
	TRY(json_read(text, len, LIMIT_SPEC_BYTES, LIMIT_SPEC_DEPTH, &json, err));
	json_object_object_foreach(json, key, value)
	{
		TRY(read_member(policy, key, value, err));
	}
	if (policy->form != FORM_GATE && policy->standing.count == 0)
		return err_set(err, ERR_INVALID, "policy: nothing stands ready");
	policy->spec.interpreter = policy->interpreter;
	return 0;
}
