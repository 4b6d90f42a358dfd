/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ExecutionResult read back: a worker tells it as JSON, and who has it from there may want the
 * short text. What it says is our own, but most of its strings are a cell's: whatever is not as it
 * should be counts as not there.
 */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "model/field.h"
#include "model/result.h"
#include "wire/json.h"

static struct json_object *member(struct json_object *json, const char *key, enum json_type type)
{
	struct json_object *value = NULL;
	if (!json_object_is_type(json, json_type_object) ||
		!json_object_object_get_ex(json, key, &value))
		return NULL;
	return json_object_is_type(value, type) ? value : NULL;
}

static const char *text_of(struct json_object *json, const char *key)
{
	struct json_object *value = member(json, key, json_type_string);
	return value ? json_object_get_string(value) : NULL;
}

/* No text and an empty one are the same to who reads it. */
static char *copy_of(struct json_object *json, const char *key)
{
	const char *text = text_of(json, key);
	return text && text[0] ? xstrdup(text) : NULL;
}

static int64_t number_of(struct json_object *json, const char *key)
{
	struct json_object *value = member(json, key, json_type_int);
	return value ? json_object_get_int64(value) : 0;
}

static size_t length_of(struct json_object *list)
{
	return list ? json_object_array_length(list) : 0;
}

#define COPY_TO(array, json, key) \
	(void)snprintf(array, sizeof(array), "%s", text_of(json, key) ? text_of(json, key) : "")

static enum run_status status_of(struct json_object *json)
{
	const char *name = text_of(json, "status");
	for (int i = STATUS_OK; name && i < RUN_STATUS_COUNT; i++)
		if (strcmp(run_status_names[i], name) == 0)
			return (enum run_status)i;
	return STATUS_NONE;
}

static void read_stream(struct json_object *json, struct json_object *meta, const char *key,
	int64_t cap, struct captured *captured)
{
	char name[32];
	captured->text = copy_of(json, key);
	captured->len = captured->text ? strlen(captured->text) : 0;
	(void)snprintf(name, sizeof(name), "%s_bytes", key);
	captured->total_bytes = number_of(meta, name);
	captured->is_truncated =
		json_object_get_boolean(member(meta, "truncated", json_type_boolean)) &&
		captured->total_bytes > cap;
	(void)snprintf(name, sizeof(name), "%s_file", key);
	captured->spilled_to = copy_of(meta, name);
}

static void read_outputs(struct json_object *list, struct result *result)
{
	for (size_t i = 0; i < length_of(list); i++) {
		struct json_object *json = json_object_array_get_idx(list, i);
		struct json_object *data = member(json, "data", json_type_object);
		struct json_object *metadata = member(json, "metadata", json_type_object);
		const char *type = text_of(json, "type");
		if (data)
			(void)result_add_output(result, type && strcmp(type, "result") == 0,
				json_print(data, false),
				metadata ? json_print(metadata, false) : xstrdup("{}"));
	}
}

static void read_error(struct json_object *json, struct failure *error)
{
	struct json_object *list = member(json, "traceback", json_type_array);
	if (!json)
		return;
	COPY_TO(error->kind, json, "kind");
	error->message = copy_of(json, "message");
	error->name = copy_of(json, "name");
	error->value = copy_of(json, "value");
	error->line = number_of(json, "line");
	for (size_t i = 0; i < length_of(list); i++) {
		struct json_object *from = json_object_array_get_idx(list, i);
		struct trace_frame *frame = failure_add_frame(error);
		if (!frame)
			break;
		frame->file = copy_of(from, "file");
		frame->line = number_of(from, "line");
		frame->function = copy_of(from, "function");
		frame->source = copy_of(from, "source");
	}
}

static void read_denials(struct json_object *list, struct result *result)
{
	for (size_t i = 0; i < length_of(list); i++) {
		struct json_object *json = json_object_array_get_idx(list, i);
		struct denial denial = { .count = (unsigned)number_of(json, "count") };
		COPY_TO(denial.layer, json, "layer");
		COPY_TO(denial.operation, json, "operation");
		COPY_TO(denial.target, json, "target");
		COPY_TO(denial.option, json, "option");
		result_add_denial(result, &denial);
	}
}

static void read_files(struct json_object *list, struct result *result)
{
	size_t count = length_of(list);
	result->files = count ? xcalloc(count, sizeof(*result->files)) : NULL;
	for (size_t i = 0; i < count; i++) {
		struct json_object *json = json_object_array_get_idx(list, i);
		char *path = copy_of(json, "path");
		if (path)
			result->files[result->file_count++] = (struct out_file){ .path = path,
				.saved_to = copy_of(json, "saved_to"),
				.size = number_of(json, "size") };
	}
}

static void read_limits(struct json_object *json, struct spec *spec)
{
	for (size_t i = 0; i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		bool is_milli = field->type == FIELD_SECONDS || field->type == FIELD_CPUS;
		struct json_object *value = NULL;
		if ((field->type != FIELD_SIZE && field->type != FIELD_COUNT && !is_milli) ||
			!json_object_object_get_ex(json, field->name, &value))
			continue;
		*(int64_t *)field_slot(spec, field) =
			(int64_t)(json_object_get_double(value) * (is_milli ? 1000 : 1) + 0.5);
	}
}

void result_read(struct json_object *json, struct result *result, struct spec *spec)
{
	struct json_object *meta = member(json, "meta", json_type_object);
	struct json_object *limits = member(meta, "resource_limits", json_type_object);
	if (limits)
		read_limits(limits, spec);
	COPY_TO(result->id, json, "id");
	result->status = status_of(json);
	result->exit_code = (int)number_of(json, "exit_code");
	result->signal = (int)number_of(json, "signal");
	read_stream(json, meta, "stdout", spec->max_output, &result->out);
	read_stream(json, meta, "stderr", spec->max_output, &result->err);
	read_outputs(member(json, "outputs", json_type_array), result);
	read_error(member(json, "error", json_type_object), &result->error);
	result->hint = copy_of(json, "hint");
	read_denials(member(json, "denials", json_type_array), result);
	read_files(member(json, "files", json_type_array), result);
}
