/* SPDX-License-Identifier: Apache-2.0 */
#include "model/policy.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
#include "model/field.h"
#include "model/limits.h"
#include "wire/json.h"
#include "wire/utf8.h"

enum { QUOTE_SIZE = 64 }; /* of the asker's text in an error */

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

struct writer {
	struct json_object *identity; /* borrowed; of the file that each path leads to */
	bool is_exact;
};

/* JSON repairs what is no UTF-8; a path that was repaired is another path. */
static struct json_object *write_text(const char *text, struct writer *writer)
{
	struct json_object *value = json_new_string(text);
	writer->is_exact &= strcmp(json_object_get_string(value), text) == 0;
	return value;
}

static struct json_object *write_strings(const struct strings *list, struct writer *writer)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; i < list->count; i++)
		(void)json_object_array_add(array, write_text(list->items[i], writer));
	return array;
}

/* Who reads it may stand in another directory. A cell goes on showing the file that was there when
 * it was raised, so one that took its place since makes another policy; the old one keeps its
 * number as long as there is such a cell. */
static struct json_object *write_path(const char *path, struct writer *writer)
{
	auto_free char *real = realpath(path, NULL);
	struct stat st = { 0 };
	writer->is_exact &= real || path[0] == '/';
	(void)stat(path, &st);
	auto_free char *identity = xasprintf(
		"%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	(void)json_object_array_add(writer->identity, json_new_string(identity));
	return write_text(real ? real : path, writer);
}

static struct json_object *write_pairs(const struct pairs *list, struct writer *writer)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; i < list->count; i++) {
		struct json_object *pair = json_object_new_object();
		auto_free char *to = spec_mount_target(&list->items[i]);
		json_put(pair, "from", write_path(list->items[i].from, writer));
		json_put(pair, "to", write_text(to ? to : "", writer));
		writer->is_exact &= to != NULL;
		(void)json_object_array_add(array, pair);
	}
	return array;
}

static struct json_object *write_field(
	const struct spec *spec, const struct field *field, struct writer *writer)
{
	const void *slot = field_slot(spec, field);
	const char *text = field->type == FIELD_TEXT ? *(char *const *)slot : NULL;
	switch (field->type) {
	case FIELD_BOOL:
		return json_object_new_boolean(*(const bool *)slot);
	case FIELD_TEXT:
		if (text && field == spec_field("rootfs") && strcmp(text, "host") != 0)
			return write_path(text, writer);
		return text ? write_text(text, writer) : NULL;
	case FIELD_SECONDS:
	case FIELD_CPUS: /* 0 is what no text says: none */
		return *(const int64_t *)slot ? json_new_decimal(*(const int64_t *)slot, 3) : NULL;
	case FIELD_SIZE:
	case FIELD_COUNT:
		return json_object_new_int64(*(const int64_t *)slot);
	case FIELD_CHOICE:
		return write_text(field->choices[*(const int *)slot], writer);
	case FIELD_STRINGS:
	case FIELD_NAMES:
		return write_strings(slot, writer);
	case FIELD_PAIRS:
		return write_pairs(slot, writer);
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
	struct writer writer = { .identity = json_object_new_array(), .is_exact = true };
	json_put(json, "form", json_object_new_string(cell_form_names[policy->form]));
	json_put(json, "standing", write_strings(&policy->standing, &writer));
	if (policy->runtime)
		json_put(json, "runtime", write_path(policy->runtime, &writer));
	if (policy->interpreter)
		json_put(json, "interpreter", write_text(policy->interpreter, &writer));
	json_put(json, "full_proc", json_object_new_boolean(policy->has_full_proc));
	json_put(json, "identity", writer.identity);
	json_put(json, "spec", spec);
	for (size_t i = 0; i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		struct json_object *value =
			field->is_job ? NULL : write_field(&policy->spec, field, &writer);
		if (value)
			json_put(spec, field->name, value);
	}
	return writer.is_exact ? json_print(json, false) : NULL;
}

/* ---- in ---------------------------------------------------------------------------------------
 */

static int check_text(struct json_object *value, const char *key, struct err *err)
{
	if (json_object_is_type(value, json_type_string))
		return 0;
	return err_set(
		err, ERR_INVALID, "policy: '%s' must be a string, not %s", key, json_kind(value));
}

static int read_text(struct json_object *value, const char *key, char **ret_text, struct err *err)
{
	TRY(check_text(value, key, err));
	free(*ret_text);
	*ret_text = xstrdup(json_object_get_string(value));
	return 0;
}

/* Where it leads must not depend on who reads it. */
static int check_path(const char *path, struct err *err)
{
	char quote[QUOTE_SIZE];
	if (path[0] == '/')
		return 0;
	return err_set(err, ERR_INVALID, "policy: '%s' is no path from the root",
		utf8_line(path, quote, sizeof(quote)));
}

static int check_pairs(const struct pairs *list, struct err *err)
{
	for (size_t i = 0; i < list->count; i++)
		TRY(check_path(list->items[i].from, err));
	return 0;
}

static int read_form(struct json_object *value, enum cell_form *ret_form, struct err *err)
{
	char quote[QUOTE_SIZE];
	TRY(check_text(value, "form", err));
	const char *name = json_object_get_string(value);
	for (int i = 0; i < CELL_FORM_COUNT; i++) {
		if (strcmp(name, cell_form_names[i]) != 0)
			continue;
		*ret_form = (enum cell_form)i;
		return 0;
	}
	return err_set(err, ERR_INVALID, "policy: there is no form '%s'",
		utf8_line(name, quote, sizeof(quote)));
}

static int read_strings(
	struct json_object *value, const char *key, struct strings *list, struct err *err)
{
	if (!json_object_is_type(value, json_type_array) ||
		json_object_array_length(value) > LIMIT_NAMES)
		return err_set(err, ERR_INVALID, "policy: '%s' must be an array of at most %d", key,
			LIMIT_NAMES);
	for (size_t i = 0; i < json_object_array_length(value); i++) {
		struct json_object *item = json_object_array_get_idx(value, i);
		TRY(check_text(item, key, err));
		strings_add(list, json_object_get_string(item));
	}
	return 0;
}

/* It tells policies apart; there is nothing to be done about it. */
static int read_identity(struct json_object *value, struct err *err)
{
	struct strings list = { 0 };
	int r = read_strings(value, "identity", &list, err);
	strings_done(&list);
	return r;
}

static int read_runtime(struct json_object *value, char **ret_runtime, struct err *err)
{
	TRY(read_text(value, "runtime", ret_runtime, err));
	return check_path(*ret_runtime, err);
}

static int read_spec(struct json_object *value, struct spec *spec, struct err *err)
{
	const char *text = json_object_to_json_string(value);
	TRY(spec_from_json(spec, text, strlen(text), err));
	for (size_t i = 0; i < spec_field_count; i++)
		if (spec_fields[i].is_job && spec_is_given(spec, &spec_fields[i]))
			return err_set(err, ERR_INVALID, "policy: '%s' is a job's affair",
				spec_fields[i].name);
	if (strcmp(spec->rootfs, "host") != 0)
		TRY(check_path(spec->rootfs, err));
	TRY(check_pairs(&spec->ro, err));
	TRY(check_pairs(&spec->rw, err));
	/* something must be run for a spec to be sound */
	spec->code = xstrdup("");
	return spec_check(spec, err);
}

static int read_member(
	struct policy *policy, const char *key, struct json_object *value, struct err *err)
{
	char quote[QUOTE_SIZE];
	if (strcmp(key, "form") == 0)
		return read_form(value, &policy->form, err);
	if (strcmp(key, "standing") == 0)
		return read_strings(value, key, &policy->standing, err);
	if (strcmp(key, "runtime") == 0)
		return read_runtime(value, &policy->runtime, err);
	if (strcmp(key, "interpreter") == 0)
		return read_text(value, key, &policy->interpreter, err);
	if (strcmp(key, "identity") == 0)
		return read_identity(value, err);
	if (strcmp(key, "spec") == 0)
		return read_spec(value, &policy->spec, err);
	if (strcmp(key, "full_proc") == 0 && json_object_is_type(value, json_type_boolean)) {
		policy->has_full_proc = json_object_get_boolean(value);
		return 0;
	}
	return err_set(err, ERR_INVALID, "policy: '%s' is not understood",
		utf8_line(key, quote, sizeof(quote)));
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
