/* SPDX-License-Identifier: Apache-2.0 */
/* The policy on its way to an analysis, and what its verdict means for a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "guard/guard.h"
#include "wire/json.h"

static struct json_object *names_to_json(const struct strings *names)
{
	struct json_object *json = json_object_new_array();
	for (size_t i = 0; i < names->count; i++)
		(void)json_object_array_add(json, json_new_string(names->items[i]));
	return json;
}

bool guard_is_default(const struct spec *spec)
{
	return spec->profile == PROFILE_STANDARD && !spec->block_imports &&
	       spec->allow_modules.count == 0 && spec->block_modules.count == 0;
}

char *guard_policy(const struct spec *spec)
{
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, "profile", json_new_string(profile_names[spec->profile]));
	json_put(json, "block_imports", json_object_new_boolean(spec->block_imports));
	json_put(json, "allow", names_to_json(&spec->allow_modules));
	json_put(json, "block", names_to_json(&spec->block_modules));
	return json_print(json, false);
}

/* A key of ours that is a field of the spec. */
static void rename_key(
	struct json_object *from, const char *key, struct json_object *to, const char *field)
{
	struct json_object *value = json_object_object_get(from, key);
	if (value)
		json_put(to, field, json_object_get(value));
}

int guard_policy_read(struct json_object *json, struct spec *spec, struct err *err)
{
	auto_json struct json_object *fields = json_object_new_object();
	rename_key(json, "profile", fields, "profile");
	rename_key(json, "block_imports", fields, "block_imports");
	rename_key(json, "allow", fields, "allow_modules");
	rename_key(json, "block", fields, "block_modules");
	const char *text = json_object_to_json_string(fields);
	strings_done(&spec->allow_modules); /* lists would be added to */
	strings_done(&spec->block_modules);
	return spec_from_json(spec, text, strlen(text), err);
}

bool guard_is_binding(const struct spec *spec)
{
	return spec->profile == PROFILE_STRICT ||
	       (spec->profile == PROFILE_STANDARD &&
		       (spec->block_imports || spec->block_modules.count > 0));
}

static void set_refused(struct result *result)
{
	result->status = STATUS_REFUSED;
	result->exit_code = EXIT_GUARD_REFUSED;
	result->signal = 0;
}

static void refuse(
	const struct guard_finding *finding, const struct spec *spec, struct result *result)
{
	bool is_strict = spec->profile == PROFILE_STRICT;
	failure_done(&result->error);
	set_refused(result);
	if (finding->module)
		result_set_error(
			result, "refused", "Security policy blocked import: %s", finding->module);
	else
		result_set_error(result, "refused", "Security policy blocked %s: %s", finding->rule,
			finding->reason);
	result->error.line = finding->line;
	result->error.column = finding->column;
	free(result->hint);
	if (finding->module)
		result->hint = xasprintf("If it is meant to: --allow-import %s%s", finding->module,
			is_strict ? "; or --profile standard" : "");
	else
		result->hint = xasprintf(
			"If it is meant to: --profile %s", is_strict ? "standard" : "trusted");
}

static bool has_name(const struct strings *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->items[i], name) == 0)
			return true;
	return false;
}

void guard_apply(const struct guard_report *report, const struct spec *spec, struct result *result)
{
	const struct guard_finding *worst = NULL;
	enum guard_verdict verdict = guard_judge(report);
	(void)snprintf(result->guard_verdict, sizeof(result->guard_verdict), "%s",
		guard_verdict_names[verdict]);
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct guard_finding *finding = &report->findings[i];
		if (finding->severity == SEVERITY_BLOCK) {
			worst = worst ? worst : finding;
			if (finding->module && !has_name(&result->blocked_imports, finding->module))
				strings_add(&result->blocked_imports, finding->module);
		} else if (finding->severity == SEVERITY_WARN &&
			   result->guard_warnings.count < LIMIT_WARNINGS) {
			auto_free char *text = xasprintf(
				"guard: line %lld: %s", (long long)finding->line, finding->reason);
			strings_add(&result->guard_warnings, text);
		}
	}
	if (verdict == GUARD_BLOCK && worst)
		refuse(worst, spec, result);
}

static void apply_end(const struct spec *spec, struct result *result)
{
	static const char words[] = "Security policy blocked ";
	const char *value = result->error.value;
	if (spec->profile != PROFILE_STRICT || result->status != STATUS_ERROR || !value ||
		strncmp(value, words, sizeof(words) - 1) != 0)
		return;
	set_refused(result);
	(void)snprintf(result->error.kind, sizeof(result->error.kind), "refused");
	free(result->error.message);
	result->error.message = xstrdup(value);
}

void guard_apply_run(struct guard_report *report, const struct spec *spec, struct result *result)
{
	report->is_analysed |=
		result->error.kind[0] == '\0' || strcmp(result->error.kind, "syntax") != 0;
	guard_apply(report, spec, result);
	apply_end(spec, result);
}

void guard_note_refused(struct result *result, const char *module)
{
	struct strings *names = &result->blocked_imports;
	if (module && names->count < LIMIT_WARNINGS && !has_name(names, module))
		strings_add(names, module);
}

void guard_refuse(struct result *result, const char *what)
{
	failure_done(&result->error);
	set_refused(result);
	(void)snprintf(result->guard_verdict, sizeof(result->guard_verdict), "%s",
		guard_verdict_names[GUARD_BLOCK]);
	result_set_error(result, "refused", "Security policy blocked code: %s", what);
	free(result->hint);
	result->hint = xstrdup("If it is to run all the same: --profile standard; the cell holds "
			       "it as ever");
}
