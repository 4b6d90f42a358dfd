/* SPDX-License-Identifier: Apache-2.0 */
/* The ExecutionResult: every key is always there, what is unknown is null or empty. */
#include "model/result.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "model/field.h"
#include "model/trace.h"
#include "wire/json.h"

static struct json_object *text_or_null(const char *text)
{
	return *text != '\0' ? json_new_string(text) : NULL;
}

static struct json_object *captured_to_json(const struct captured *captured)
{
	return json_new_text(captured->text ? captured->text : "", captured->len);
}

static struct json_object *number_or_null(int64_t number)
{
	return number ? json_object_new_int64(number) : NULL;
}

static struct json_object *trace_to_json(const struct failure *failure)
{
	struct json_object *list = json_object_new_array();
	for (size_t i = 0; i < failure->trace_count; i++) {
		const struct trace_frame *frame = &failure->trace[i];
		struct json_object *json = json_object_new_object();
		json_put(json, "file", json_new_string(frame->file));
		json_put(json, "line", number_or_null(frame->line));
		json_put(json, "column", number_or_null(frame->column));
		json_put(json, "function", json_new_string(frame->function));
		json_put(json, "source", json_new_string(frame->source));
		(void)json_object_array_add(list, json);
	}
	return list;
}

static struct json_object *failure_to_json(const struct failure *failure)
{
	if (failure->kind[0] == '\0')
		return NULL;
	struct json_object *json = json_object_new_object();
	struct json_object *context = json_object_new_array();
	for (size_t i = 0; i < failure->context_count; i++)
		(void)json_object_array_add(context, json_new_string(failure->context[i]));
	json_put(json, "kind", json_new_string(failure->kind));
	json_put(json, "message", json_new_string(failure->message ? failure->message : ""));
	json_put(json, "name", json_new_string(failure->name));
	json_put(json, "value", json_new_string(failure->value));
	json_put(json, "traceback", trace_to_json(failure));
	json_put(json, "line", number_or_null(failure->line));
	json_put(json, "column", number_or_null(failure->column));
	json_put(json, "context", context);
	json_put(json, "documentation", json_new_string(failure->documentation));
	return json;
}

/* Both texts were checked and printed by json-c when they came in. */
static struct json_object *outputs_to_json(const struct result *result)
{
	struct json_object *list = json_object_new_array();
	for (size_t i = 0; i < result->output_count; i++) {
		const struct output *output = &result->outputs[i];
		struct json_object *json = json_object_new_object();
		json_put(json, "type", json_new_string(output->is_result ? "result" : "display"));
		json_put(json, "data", json_tokener_parse(output->data));
		json_put(json, "metadata", json_tokener_parse(output->metadata));
		(void)json_object_array_add(list, json);
	}
	return list;
}

static struct json_object *denials_to_json(const struct result *result)
{
	struct json_object *list = json_object_new_array();
	for (size_t i = 0; i < result->denial_count; i++) {
		const struct denial *denial = &result->denials[i];
		struct json_object *json = json_object_new_object();
		json_put(json, "layer", json_new_string(denial->layer));
		json_put(json, "operation", json_new_string(denial->operation));
		json_put(json, "target", text_or_null(denial->target));
		json_put(json, "option", text_or_null(denial->option));
		json_put(json, "evidence", text_or_null(denial->evidence));
		json_put(json, "count", json_object_new_int64(denial->count));
		(void)json_object_array_add(list, json);
	}
	return list;
}

static struct json_object *usage_to_json(const struct usage *usage)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "wall_ms", json_new_decimal(usage->wall_us, 3));
	json_put(json, "cpu_ms", json_new_decimal(usage->cpu_us, 3));
	json_put(json, "max_memory_kb", json_object_new_int64(usage->max_memory_kb));
	json_put(json, "processes", json_object_new_int64(usage->processes));
	json_put(json, "read_bytes", json_object_new_int64(usage->read_bytes));
	json_put(json, "write_bytes", json_object_new_int64(usage->write_bytes));
	return json;
}

static struct json_object *files_to_json(const struct result *result)
{
	struct json_object *list = json_object_new_array();
	for (size_t i = 0; i < result->file_count; i++) {
		const struct out_file *file = &result->files[i];
		struct json_object *json = json_object_new_object();
		json_put(json, "path", json_new_string(file->path));
		json_put(json, "size", json_object_new_int64(file->size));
		json_put(json, "saved_to", json_new_string(file->saved_to));
		json_put(json, "refused", json_new_string(file->refused));
		(void)json_object_array_add(list, json);
	}
	return list;
}

/* Every number of the field table is a limit, but for what is kept; 0 where 0 is out of range means
 * none. */
struct json_object *spec_limits_to_json(const struct spec *spec)
{
	struct json_object *json = json_object_new_object();
	for (size_t i = 0; i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		bool is_plain = field->type == FIELD_SIZE || field->type == FIELD_COUNT;
		bool is_milli = field->type == FIELD_SECONDS || field->type == FIELD_CPUS;
		if ((!is_plain && !is_milli) || field->is_record)
			continue;
		int64_t value = *(const int64_t *)field_slot(spec, field);
		if (value == 0 && field->min > 0)
			json_put(json, field->name, NULL);
		else
			json_put(json, field->name, json_new_decimal(value, is_milli ? 3 : 0));
	}
	return json;
}

static struct json_object *isolation_to_json(const struct result *result)
{
	struct json_object *json = json_object_new_object();
	for (size_t i = 0; i < result->isolation_count; i++) {
		const struct isolation_item *item = &result->isolation[i];
		struct json_object *value = NULL;
		if (item->kind == ISOLATION_BOOL)
			value = json_object_new_boolean(item->number != 0);
		else if (item->kind == ISOLATION_NUMBER)
			value = json_object_new_int64(item->number);
		else
			value = json_new_string(item->text);
		(void)json_object_object_add(json, item->key, value);
	}
	return json;
}

static struct json_object *compiled_to_json(const struct compiled *compiled)
{
	if (!compiled->is_compiled)
		return NULL;
	struct json_object *json = json_object_new_object();
	json_put(json, "cached", json_object_new_boolean(compiled->is_cached));
	json_put(json, "duration", json_new_decimal(compiled->usage.wall_us, 6));
	json_put(json, "cpu_ms", json_new_decimal(compiled->usage.cpu_us, 3));
	json_put(json, "max_memory_kb", json_object_new_int64(compiled->usage.max_memory_kb));
	json_put(json, "output", captured_to_json(&compiled->output));
	json_put(json, "truncated", json_object_new_boolean(compiled->output.is_truncated));
	return json;
}

static void add_texts(struct json_object *list, const struct strings *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		(void)json_object_array_add(list, json_new_string(texts->items[i]));
}

static struct json_object *guard_to_json(const struct result *result, const struct spec *spec)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "profile", json_new_string(profile_names[spec->profile]));
	json_put(json, "verdict", text_or_null(result->guard_verdict));
	return json;
}

static struct json_object *meta_to_json(const struct result *result, const struct spec *spec)
{
	struct json_object *json = json_object_new_object();
	struct json_object *warnings = json_object_new_array();
	struct json_object *blocked = json_object_new_array();
	for (size_t i = 0; i < result->warning_count; i++)
		(void)json_object_array_add(warnings, json_new_string(result->warnings[i]));
	add_texts(warnings, &result->guard_warnings);
	add_texts(blocked, &result->blocked_imports);
	json_put(json, "runtime", json_new_string(result->runtime));
	json_put(json, "language", text_or_null(result->language));
	json_put(json, "language_version", text_or_null(result->language_version));
	json_put(json, "compile", compiled_to_json(&result->compiled));
	json_put(json, "warm", json_object_new_boolean(result->is_warm));
	if (result->session[0]) {
		json_put(json, "session", json_new_string(result->session));
		json_put(json, "execution_count", number_or_null(result->execution_count));
	}
	json_put(json, "truncated",
		json_object_new_boolean(result->out.is_truncated || result->err.is_truncated));
	json_put(json, "stdout_bytes", json_object_new_int64(result->out.total_bytes));
	json_put(json, "stderr_bytes", json_object_new_int64(result->err.total_bytes));
	if (result->out.spilled_to)
		json_put(json, "stdout_file", json_new_string(result->out.spilled_to));
	if (result->err.spilled_to)
		json_put(json, "stderr_file", json_new_string(result->err.spilled_to));
	json_put(json, "guard", guard_to_json(result, spec));
	json_put(json, "blocked_imports", blocked);
	json_put(json, "warnings", warnings);
	json_put(json, "resource_limits", spec_limits_to_json(spec));
	json_put(json, "isolation", isolation_to_json(result));
	if (spec->traceparent && trace_is_valid(spec->traceparent)) {
		char id[TRACE_ID_SIZE];
		trace_id(spec->traceparent, id);
		json_put(json, "trace_id", json_new_string(id));
	}
	json_put(json, "execution_mode", json_new_string("direct"));
	return json;
}

char *result_to_json(const struct result *result, const struct spec *spec, bool is_pretty)
{
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, "id", json_new_string(result->id));
	json_put(json, "status", json_new_string(run_status_names[result->status]));
	json_put(json, "stdout", captured_to_json(&result->out));
	json_put(json, "stderr", captured_to_json(&result->err));
	json_put(json, "exit_code", json_object_new_int64(result_exit_code(result)));
	json_put(json, "signal", result->signal ? json_object_new_int64(result->signal) : NULL);
	json_put(json, "duration", json_new_decimal(result->usage.wall_us, 6));
	json_put(json, "outputs", outputs_to_json(result));
	json_put(json, "error", failure_to_json(&result->error));
	json_put(json, "hint", json_new_string(result->hint));
	json_put(json, "denials", denials_to_json(result));
	json_put(json, "usage", usage_to_json(&result->usage));
	json_put(json, "files", files_to_json(result));
	json_put(json, "meta", meta_to_json(result, spec));
	return json_print(json, is_pretty);
}

/* A result is JSON already: its line breaks can only be space between tokens. */
static char *done_to_json(const char *id, int64_t seq, const char *data, size_t len)
{
	char *line = xasprintf("{\"event\":\"done\",\"data\":%.*s,\"execution_id\":\"%s\","
			       "\"seq\":%" PRId64 "}\n",
		(int)len, data, id, seq);
	size_t last = strlen(line) - 1;
	for (size_t i = 0; i < last; i++) {
		if (line[i] == '\n')
			line[i] = ' ';
	}
	return line;
}

static struct json_object *new_event(const char *event, const char *data, size_t len)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "event", json_new_string(event));
	json_put(json, "data", json_new_text(data, len));
	return json;
}

static char *print_event(struct json_object *json, const char *id, int64_t seq)
{
	json_put(json, "execution_id", json_new_string(id));
	json_put(json, "seq", json_object_new_int64(seq));
	auto_free char *text = json_print(json, false);
	return xasprintf("%s\n", text);
}

char *status_to_json(
	const char *id, int64_t seq, const char *state, const char *key, int64_t number)
{
	auto_json struct json_object *json = new_event("status", state, strlen(state));
	if (key)
		json_put(json, key, json_object_new_int64(number));
	return print_event(json, id, seq);
}

char *event_to_json(const char *id, int64_t seq, const char *event, const char *data, size_t len)
{
	if (strcmp(event, "done") == 0)
		return done_to_json(id, seq, data, len);
	auto_json struct json_object *json = new_event(event, data, len);
	return print_event(json, id, seq);
}
