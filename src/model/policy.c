/* SPDX-License-Identifier: Apache-2.0 */
#include "model/policy.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/own.h"
#include "model/field.h"
#include "model/limits.h"
#include "model/units.h"
#include "wire/json.h"
#include "wire/utf8.h"

enum {
	QUOTE_SIZE = 64,    /* of the asker's text in an error */
	TEXT_MAX = 1 << 20, /* what is longer fits no message */
};

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

/* The text is written as it comes: who borrows a cell waits for it, and making objects first takes
 * longer than all the rest. */
struct writer {
	struct buf out;
	struct buf identity; /* of the file that each path leads to */
	bool is_exact;
};

static void put(struct writer *writer, const char *text)
{
	writer->is_exact &= buf_append(&writer->out, text, strlen(text)) == 0;
}

/* Between two values; keys are our own words and need no escape. */
static void put_comma(struct writer *writer)
{
	char last = writer->out.len > 0 ? writer->out.data[writer->out.len - 1] : '{';
	if (last != '{' && last != '[' && last != ':')
		put(writer, ",");
}

static void put_key(struct writer *writer, const char *key)
{
	put_comma(writer);
	put(writer, "\"");
	put(writer, key);
	put(writer, "\":");
}

/* JSON repairs what is no UTF-8; a path that was repaired is another path. */
static void put_text(struct writer *writer, const char *text)
{
	size_t len = strlen(text);
	put_comma(writer);
	writer->is_exact &=
		utf8_is_valid(text, len, NULL) && json_quote(&writer->out, text, len) == 0;
}

static void put_number(struct writer *writer, int64_t number)
{
	char text[32];
	(void)snprintf(text, sizeof(text), "%" PRId64, number);
	put(writer, text);
}

static void put_strings(struct writer *writer, const struct strings *list)
{
	put(writer, "[");
	for (size_t i = 0; i < list->count; i++)
		put_text(writer, list->items[i]);
	put(writer, "]");
}

/* A cell goes on showing the file that was there when it was raised, so one that took its place
 * since makes another policy; the old one keeps its number as long as there is such a cell. */
static void put_whole_path(struct writer *writer, const char *path)
{
	struct stat st = { 0 };
	(void)stat(path, &st);
	writer->is_exact &= path[0] == '/';
	writer->is_exact &=
		buf_printf(&writer->identity, "%s\"%llu:%llu\"",
			writer->identity.len > 0 ? "," : "", (unsigned long long)st.st_dev,
			(unsigned long long)st.st_ino) == 0;
	put_text(writer, path);
}

/* Who reads it may stand in another directory. */
static void put_path(struct writer *writer, const char *path)
{
	char real[PATH_MAX];
	put_whole_path(writer, realpath(path, real) ? real : path);
}

static void put_pairs(struct writer *writer, const struct pairs *list)
{
	put(writer, "[");
	for (size_t i = 0; i < list->count; i++) {
		auto_free char *to = spec_mount_target(&list->items[i]);
		put_comma(writer);
		put(writer, "{");
		put_key(writer, "from");
		put_path(writer, list->items[i].from);
		put_key(writer, "to");
		put_text(writer, to ? to : "");
		put(writer, "}");
		writer->is_exact &= to != NULL;
	}
	put(writer, "]");
}

/* 0 is what no text says: none. */
static bool is_said(const struct field *field, const void *slot)
{
	bool is_milli = field->type == FIELD_SECONDS || field->type == FIELD_CPUS;
	return !field->is_job && field->type != FIELD_NONE &&
	       (!is_milli || *(const int64_t *)slot != 0) &&
	       (field->type != FIELD_TEXT || *(char *const *)slot);
}

static void put_field(struct writer *writer, const struct spec *spec, const struct field *field)
{
	const void *slot = field_slot(spec, field);
	char milli[32];
	if (!is_said(field, slot))
		return;
	put_key(writer, field->name);
	switch (field->type) {
	case FIELD_BOOL:
		put(writer, *(const bool *)slot ? "true" : "false");
		break;
	case FIELD_TEXT:
		if (strcmp(field->name, "rootfs") == 0 && strcmp(*(char *const *)slot, "host") != 0)
			put_path(writer, *(char *const *)slot);
		else
			put_text(writer, *(char *const *)slot);
		break;
	case FIELD_SECONDS:
	case FIELD_CPUS:
		units_format_milli(*(const int64_t *)slot, milli, sizeof(milli));
		put(writer, milli);
		break;
	case FIELD_SIZE:
	case FIELD_COUNT:
		put_number(writer, *(const int64_t *)slot);
		break;
	case FIELD_CHOICE:
		put_text(writer, field->choices[*(const int *)slot]);
		break;
	case FIELD_STRINGS:
	case FIELD_NAMES:
		put_strings(writer, slot);
		break;
	case FIELD_PAIRS:
		put_pairs(writer, slot);
		break;
	case FIELD_NONE:
	case FIELD_TYPE_COUNT:
		break;
	}
}

char *policy_to_json(const struct policy *policy)
{
	struct writer writer = { .is_exact = true };
	buf_init(&writer.out, TEXT_MAX);
	buf_init(&writer.identity, TEXT_MAX);
	put(&writer, "{");
	put_key(&writer, "form");
	put_text(&writer, cell_form_names[policy->form]);
	put_key(&writer, "standing");
	put_strings(&writer, &policy->standing);
	if (policy->runtime) {
		put_key(&writer, "runtime");
		put_whole_path(&writer, policy->runtime);
	}
	if (policy->interpreter) {
		put_key(&writer, "interpreter");
		put_text(&writer, policy->interpreter);
	}
	put_key(&writer, "full_proc");
	put(&writer, policy->has_full_proc ? "true" : "false");
	put_key(&writer, "spec");
	put(&writer, "{");
	for (size_t i = 0; i < spec_field_count; i++)
		put_field(&writer, &policy->spec, &spec_fields[i]);
	put(&writer, "}");
	put_key(&writer, "identity");
	put(&writer, "[");
	put(&writer, buf_text(&writer.identity));
	put(&writer, "]}");
	char *text = writer.is_exact ? xstrdup(buf_text(&writer.out)) : NULL;
	buf_done(&writer.out);
	buf_done(&writer.identity);
	return text;
}

/* ---- compared ---------------------------------------------------------------------------------
 */

static struct policy_place find_place(const char *path)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return (struct policy_place){ 0 };
	return (struct policy_place){ st.st_dev, st.st_ino };
}

void policy_find_places(const struct policy *policy, struct policy_places *ret_places)
{
	const char *root = policy->spec.rootfs;
	*ret_places = (struct policy_places){ 0 };
	if (policy->runtime)
		ret_places->runtime = find_place(policy->runtime);
	if (root && strcmp(root, "host") != 0)
		ret_places->root = find_place(root);
}

static bool is_same_text(const char *one, const char *other)
{
	return one && other ? strcmp(one, other) == 0 : one == other;
}

static bool is_same_field(const struct field *field, const void *one, const void *other)
{
	switch (field->type) {
	case FIELD_BOOL:
		return *(const bool *)one == *(const bool *)other;
	case FIELD_TEXT:
		return is_same_text(*(char *const *)one, *(char *const *)other);
	case FIELD_SECONDS:
	case FIELD_CPUS:
	case FIELD_SIZE:
	case FIELD_COUNT:
		return *(const int64_t *)one == *(const int64_t *)other;
	case FIELD_CHOICE:
		return *(const int *)one == *(const int *)other;
	case FIELD_STRINGS:
	case FIELD_NAMES:
		return strings_are_same(one, other);
	case FIELD_PAIRS: /* each is a path that may lead elsewhere by now */
		return ((const struct pairs *)one)->count == 0 &&
		       ((const struct pairs *)other)->count == 0;
	case FIELD_NONE:
	case FIELD_TYPE_COUNT:
		break;
	}
	return true;
}

bool policy_is_same(const struct policy *one, const struct policy *other)
{
	if (one->form != other->form || one->has_full_proc != other->has_full_proc ||
		!is_same_text(one->runtime, other->runtime) ||
		!is_same_text(one->interpreter, other->interpreter) ||
		!strings_are_same(&one->standing, &other->standing))
		return false;
	for (size_t i = 0; i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		if (!field->is_job && !is_same_field(field, field_slot(&one->spec, field),
					      field_slot(&other->spec, field)))
			return false;
	}
	return true;
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
