/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/guard.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "wire/json.h"

/* clang-format off */
const char *const guard_verdict_names[GUARD_VERDICT_COUNT] = {
	[GUARD_NONE]  = "none",
	[GUARD_ALLOW] = "allow",
	[GUARD_WARN]  = "warn",
	[GUARD_BLOCK] = "block",
};

const char *const guard_severity_names[GUARD_SEVERITY_COUNT] = {
	[SEVERITY_NONE]  = "none",
	[SEVERITY_INFO]  = "info",
	[SEVERITY_WARN]  = "warn",
	[SEVERITY_BLOCK] = "block",
};

static const enum guard_verdict verdict_of[GUARD_SEVERITY_COUNT] = {
	[SEVERITY_NONE]  = GUARD_BLOCK,
	[SEVERITY_INFO]  = GUARD_ALLOW,
	[SEVERITY_WARN]  = GUARD_WARN,
	[SEVERITY_BLOCK] = GUARD_BLOCK,
};
/* clang-format on */

void guard_report_done(struct guard_report *report)
{
	for (size_t i = 0; i < report->finding_count; i++) {
		free(report->findings[i].rule);
		free(report->findings[i].reason);
		free(report->findings[i].module);
	}
	free(report->findings);
	strings_done(&report->imports);
	*report = (struct guard_report){ 0 };
}

static char *copy_text(struct json_object *json, const char *name)
{
	struct json_object *value = json_object_object_get(json, name);
	return value ? xstrdup(json_object_get_string(value)) : NULL;
}

static enum guard_severity severity_of(struct json_object *json)
{
	const char *name = json_object_get_string(json_object_object_get(json, "severity"));
	for (int i = SEVERITY_NONE + 1; i < GUARD_SEVERITY_COUNT; i++)
		if (strcmp(name, guard_severity_names[i]) == 0)
			return (enum guard_severity)i;
	return SEVERITY_BLOCK; /* what nobody knows is not let through */
}

static void take_finding(struct guard_finding *finding, struct json_object *json)
{
	*finding = (struct guard_finding){
		.rule = copy_text(json, "rule"),
		.reason = copy_text(json, "reason"),
		.module = copy_text(json, "module"),
		.severity = severity_of(json),
		.line = json_object_get_int64(json_object_object_get(json, "line")),
		.column = json_object_get_int64(json_object_object_get(json, "column")),
	};
}

void guard_report_take(struct guard_report *report, const struct message *message)
{
	struct json_object *findings = json_object_object_get(message->json, "findings");
	struct json_object *imports = json_object_object_get(message->json, "imports");
	guard_report_done(report);
	report->is_analysed = true;
	report->left_out = json_object_get_int64(json_object_object_get(message->json, "left_out"));
	size_t count = json_object_array_length(findings);
	report->findings = xcalloc(count + 1, sizeof(*report->findings));
	for (; report->finding_count < count; report->finding_count++)
		take_finding(&report->findings[report->finding_count],
			json_object_array_get_idx(findings, report->finding_count));
	for (size_t i = 0; i < json_object_array_length(imports); i++)
		strings_add(&report->imports,
			json_object_get_string(json_object_array_get_idx(imports, i)));
}

enum guard_verdict guard_judge(const struct guard_report *report)
{
	enum guard_verdict verdict = report->is_analysed ? GUARD_ALLOW : GUARD_NONE;
	for (size_t i = 0; i < report->finding_count; i++)
		if (verdict_of[report->findings[i].severity] > verdict)
			verdict = verdict_of[report->findings[i].severity];
	return verdict;
}

static struct json_object *finding_to_json(const struct guard_finding *finding)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "rule", json_new_string(finding->rule));
	json_put(json, "severity", json_new_string(guard_severity_names[finding->severity]));
	json_put(json, "line", finding->line ? json_object_new_int64(finding->line) : NULL);
	json_put(json, "column", finding->column ? json_object_new_int64(finding->column) : NULL);
	json_put(json, "reason", json_new_string(finding->reason));
	json_put(json, "module", json_new_string(finding->module));
	return json;
}

char *guard_report_to_json(const struct guard_report *report, const struct spec *spec,
	const char *language, const char *file, const enum autorun *autorun,
	const struct strings *reasons, bool is_pretty)
{
	auto_json struct json_object *json = json_object_new_object();
	struct json_object *findings = json_object_new_array();
	for (size_t i = 0; i < report->finding_count; i++)
		(void)json_object_array_add(findings, finding_to_json(&report->findings[i]));
	json_put(json, "file", json_new_string(file));
	json_put(json, "language", json_new_string(language));
	json_put(json, "profile", json_new_string(profile_names[spec->profile]));
	json_put(json, "analysed", json_object_new_boolean(report->is_analysed));
	json_put(json, "verdict", json_new_string(guard_verdict_names[guard_judge(report)]));
	json_put(json, "findings", findings);
	json_put(json, "left_out", json_object_new_int64(report->left_out));
	json_put(json, "imports", strings_to_json(&report->imports));
	if (autorun) {
		struct json_object *answer = json_object_new_object();
		json_put(answer, "verdict", json_new_string(autorun_names[*autorun]));
		json_put(answer, "reasons", strings_to_json(reasons));
		json_put(json, "autorun", answer);
	}
	return json_print(json, is_pretty);
}
