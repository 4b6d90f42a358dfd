/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a job: an object with fields of a spec and fields of the job's own. Both are rows of
 * tables, and read alike: what is not known is refused, and what is known is bounded.
 */
#include <stddef.h>
#include <string.h>

#include "base/own.h"
#include "model/field.h"
#include "model/limits.h"
#include "model/units.h"
#include "wire/json.h"
#include "wire/utf8.h"
#include "worker/worker.h"

enum { SECONDS_MAX = 30 * 86400, UNDO_MAX = 64, RECORDS_MAX = 1000 };

#define AT(member) .offset = offsetof(struct asked, member)

/* clang-format off */
static const struct field session_fields[] = {
	{ .name = "verb", .type = FIELD_TEXT, AT(verb), .example = "new",
	  .help = "what is to be done" },
	{ .name = "session", .type = FIELD_TEXT, AT(session), .example = "work",
	  .help = "the name of the session" },
	{ .name = "name", .type = FIELD_TEXT, AT(name), .example = "work",
	  .help = "the name it gets; without one it is called by its id" },
	{ .name = "idle", .type = FIELD_COUNT, AT(idle_s), .min = 1, .max = SECONDS_MAX,
	  .fallback = "3600", .example = "600",
	  .help = "end the session after so many seconds without an execution" },
	{ .name = "lifetime", .type = FIELD_COUNT, AT(lifetime_s), .min = 1, .max = SECONDS_MAX,
	  .fallback = "86400", .example = "7200",
	  .help = "end it after so many seconds in any case" },
	{ .name = "undo", .type = FIELD_COUNT, AT(undo), .min = 0, .max = UNDO_MAX,
	  .fallback = "0", .example = "10",
	  .help = "keep the last so many executions undoable" },
};

static const struct field turn_fields[] = {
	{ .name = "session", .type = FIELD_TEXT, AT(session), .example = "work",
	  .help = "the name of the session" },
	{ .name = "filename", .type = FIELD_TEXT, AT(filename), .example = "step.py",
	  .help = "what the code is called in a trace" },
	{ .name = "wait", .type = FIELD_BOOL, AT(waits), .example = "true",
	  .help = "wait while another execution has its turn, else that is refused" },
	{ .name = "reload", .type = FIELD_BOOL, AT(reloads), .example = "true",
	  .help = "load modules of a mounted project again that changed" },
	{ .name = "input", .type = FIELD_BOOL, AT(answers_input), .example = "true",
	  .help = "what the code asks for comes as input_request, and is answered; else its input is "
		  "at its end" },
};

static const struct field check_fields[] = {
	{ .name = "autorun", .type = FIELD_BOOL, AT(wants_autorun), .example = "true",
	  .help = "also tell whether it may run without asking a person: yes, ask or no" },
};

static const struct field record_fields[] = {
	{ .name = "id", .type = FIELD_TEXT, AT(id), .example = "20261115T184455Z-3f9a1c0d",
	  .help = "the execution of this id, or whose id alone begins so" },
	{ .name = "status", .type = FIELD_TEXT, AT(status), .choices = run_status_names + 1,
	  .example = "error", .help = "only those that ended so" },
	{ .name = "since", .type = FIELD_TEXT, AT(since), .example = "2h",
	  .help = "only those since: 90s, 10m, 2h or 3d ago, or a date" },
	{ .name = "before", .type = FIELD_TEXT, AT(before), .example = "20261115T184455Z-3f9a1c0d",
	  .help = "only those before the execution of this id: the page after the one it ended" },
	{ .name = "limit", .type = FIELD_COUNT, AT(limit), .min = 1, .max = RECORDS_MAX,
	  .fallback = "100", .example = "20", .help = "the newest so many" },
};

static const struct {
	const struct field *fields;
	size_t count;
} own_fields[WORK_KIND_COUNT] = {
	[WORK_SESSION] = { session_fields, COUNT_OF(session_fields) },
	[WORK_TURN]    = { turn_fields, COUNT_OF(turn_fields) },
	[WORK_CHECK]   = { check_fields, COUNT_OF(check_fields) },
	[WORK_RECORDS] = { record_fields, COUNT_OF(record_fields) },
};
/* clang-format on */

const struct field *asked_fields(enum work_kind kind, size_t *ret_count)
{
	*ret_count = own_fields[kind].count;
	return own_fields[kind].fields;
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

bool asked_takes(enum work_kind kind, const struct field *field)
{
	static const char *const of_turns[] = { "code", "timeout", "max_output", "env", "stdin",
		"traceparent" };
	static const char *const not_of_sessions[] = { "code", "file", "exec", "args", "stdin",
		"outs", "spill", "traceparent" };
	switch (kind) {
	case WORK_RUN:
	case WORK_CHECK:
		return true;
	case WORK_SESSION:
		return !is_among(field->name, not_of_sessions, COUNT_OF(not_of_sessions));
	case WORK_TURN:
		return is_among(field->name, of_turns, COUNT_OF(of_turns));
	default:
		return false;
	}
}

/* ---- one field of its own -----------------------------------------------------------------------
 */

static int set_own(
	struct asked *asked, const struct field *field, struct json_object *value, struct err *err)
{
	/* clang-format off */
	static const struct { json_type type; const char *words; } types[FIELD_TYPE_COUNT] = {
		[FIELD_BOOL]  = { json_type_boolean, "true or false" },
		[FIELD_TEXT]  = { json_type_string,  "a string" },
		[FIELD_COUNT] = { json_type_int,     "a whole number" },
	};
	/* clang-format on */
	void *slot = (char *)asked + field->offset;
	const char *text = json_object_get_string(value);
	if (!json_object_is_type(value, types[field->type].type))
		return field_refuse(field, VOICE_JSON, ERR_INVALID, err, "must be %s, not %s",
			types[field->type].words, json_kind(value));
	TRY(field_check(field, text, VOICE_JSON, err));
	if (field->type == FIELD_BOOL) {
		*(bool *)slot = json_object_get_boolean(value);
	} else if (field->type == FIELD_COUNT) {
		*(int64_t *)slot = json_object_get_int64(value);
	} else {
		if (strlen(text) > LIMIT_COMMAND_NAME)
			return field_refuse(field, VOICE_JSON, ERR_LIMIT, err,
				"the text is longer than %d bytes", LIMIT_COMMAND_NAME);
		free(*(char **)slot);
		*(char **)slot = xstrdup(text);
	}
	return 0;
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

/* Takes out of the object what is not of a spec. */
static int take_own(
	struct asked *asked, enum work_kind kind, struct json_object *json, struct err *err)
{
	for (size_t i = 0; i < own_fields[kind].count; i++) {
		const struct field *field = &own_fields[kind].fields[i];
		struct json_object *value = NULL;
		if (!json_object_object_get_ex(json, field->name, &value))
			continue;
		if (value) /* null: not given */
			TRY(set_own(asked, field, value, err));
		json_object_object_del(json, field->name);
	}
	return 0;
}

static int refuse_other(enum work_kind kind, const struct field *field, struct err *err)
{
	return err_set(err, ERR_INVALID, "%s: %s", field->name,
		kind == WORK_TURN
			? "is settled when the session is made, not by one execution in it"
			: "belongs to an execution in the session, not to a new one");
}

/* The nearest name may be one of the job's own. */
static int check_names(enum work_kind kind, struct json_object *json, struct err *err)
{
	json_object_object_foreach(json, name, value)
	{
		const char *names[16];
		char quote[48];
		const struct field *field = spec_field(name);
		(void)value;
		if (field && strcmp(field->name, name) == 0) {
			if (!asked_takes(kind, field))
				return refuse_other(kind, field, err);
			continue;
		}
		for (size_t i = 0; i < own_fields[kind].count; i++)
			names[i] = own_fields[kind].fields[i].name;
		const char *near = units_nearest(name, names, own_fields[kind].count);
		if (near)
			return err_set(err, ERR_INVALID, "unknown field '%s', did you mean '%s'?",
				utf8_line(name, quote, sizeof(quote)), near);
	}
	return 0;
}

_Static_assert(COUNT_OF(session_fields) <= 16 && COUNT_OF(turn_fields) <= 16, "names fit");

static int read_both(
	struct asked *asked, enum work_kind kind, struct json_object *json, struct err *err)
{
	TRY(take_own(asked, kind, json, err));
	TRY(check_names(kind, json, err));
	auto_free char *rest = json_print(json, false);
	TRY(spec_from_json(&asked->spec, rest, strlen(rest), err));
	if (kind == WORK_TURN && !asked->spec.code)
		return field_refuse(spec_field("code"), VOICE_JSON, ERR_INVALID, err, "is missing");
	return kind == WORK_CHECK ? spec_check(&asked->spec, err) : 0;
}

int asked_read(
	struct asked *asked, enum work_kind kind, const char *text, size_t len, struct err *err)
{
	auto_json struct json_object *json = NULL;
	*asked = (struct asked){ 0 };
	spec_init(&asked->spec);
	if (kind == WORK_RUN) {
		TRY(spec_from_json(&asked->spec, text, len, err));
		return spec_check(&asked->spec, err);
	}
	TRY(json_read(text, len, LIMIT_SPEC_BYTES, LIMIT_SPEC_DEPTH, &json, err));
	return read_both(asked, kind, json, err);
}

void asked_done(struct asked *asked)
{
	spec_done(&asked->spec);
	free(asked->verb);
	free(asked->session);
	free(asked->name);
	free(asked->filename);
	free(asked->id);
	free(asked->status);
	free(asked->since);
	free(asked->before);
	*asked = (struct asked){ 0 };
}
