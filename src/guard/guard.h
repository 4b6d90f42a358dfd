/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard: what is said about code before it runs. It is advice and policy in front of the cell,
 * never the boundary. The analysis itself is a part of each language (runtimes/NAME/) and happens
 * in a cell, Python's in the very cell that will run the code; this room tells the analysis what
 * the policy is, checks what it reports, and draws the verdict.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "model/message.h"
#include "model/result.h"
#include "model/spec.h"

struct json_object;

enum guard_verdict {
	GUARD_NONE = 0, /* nothing was analysed */
	GUARD_ALLOW,
	GUARD_WARN,
	GUARD_BLOCK,
	GUARD_VERDICT_COUNT,
};

enum guard_severity {
	SEVERITY_NONE = 0,
	SEVERITY_INFO,
	SEVERITY_WARN,
	SEVERITY_BLOCK,
	GUARD_SEVERITY_COUNT,
};

extern const char *const guard_verdict_names[GUARD_VERDICT_COUNT];
extern const char *const guard_severity_names[GUARD_SEVERITY_COUNT];

struct guard_finding {
	char *rule; /* owned, as the rest */
	char *reason;
	char *module; /* what is imported; NULL: it is no import */
	enum guard_severity severity;
	int64_t line;   /* from 1; 0: unknown */
	int64_t column; /* from 1; 0: unknown */
};

/* The SecurityReport. Starts as { 0 }. */
struct guard_report {
	bool is_analysed;
	struct guard_finding *findings; /* owned */
	size_t finding_count;
	int64_t left_out; /* findings there was no room for, none graver than those that are here */
	struct strings imports;
};

void guard_report_done(struct guard_report *report);

/* Takes what an analysis said: a MESSAGE_REPORT, whose shape was checked. */
void guard_report_take(struct guard_report *report, const struct message *message);

enum guard_verdict guard_judge(const struct guard_report *report);

/* May this run without asking a person? */
enum autorun { AUTORUN_NO = 0, AUTORUN_ASK, AUTORUN_YES, AUTORUN_COUNT };
extern const char *const autorun_names[AUTORUN_COUNT];

/* From code, policy and the isolation that was really active. Adds the reasons to `reasons`. */
enum autorun guard_autorun(const struct guard_report *report, const struct spec *spec,
	const struct result *isolation, struct strings *reasons);

/* The report as JSON text (owned by the caller). `file` may be NULL. With `autorun` also that
 * verdict and its reasons. */
char *guard_report_to_json(const struct guard_report *report, const struct spec *spec,
	const char *language, const char *file, const enum autorun *autorun,
	const struct strings *reasons, bool is_pretty);

/* What an analysis is told: the policy as a JSON text (owned by the caller). */
char *guard_policy(const struct spec *spec);

/* The way back: what such an object says becomes the policy of the spec. */
int guard_policy_read(struct json_object *json, struct spec *spec, struct err *err);

/* Whether it is the default, of which a runner need not be told. */
bool guard_is_default(const struct spec *spec);

/* Whether the policy can refuse anything, so that code which is not analysed must not pass. */
bool guard_is_binding(const struct spec *spec);

/* Writes the report's verdict into the result of a run: warnings, or that it was refused. */
void guard_apply(const struct guard_report *report, const struct spec *spec, struct result *result);

/* The same for code whose runner looked at it before it ran it: one that said nothing found
 * nothing. A program that was held to the policy while it ran and ended by that was refused, too.
 */
void guard_apply_run(struct guard_report *report, const struct spec *spec, struct result *result);

/* What a runner said that it refused while the code ran. The code may say so as well: it counts for
 * nothing else. `module` may be NULL. */
void guard_note_refused(struct result *result, const char *module);

/* Refuses what cannot be analysed. `what` as in "Go is not analysed". */
void guard_refuse(struct result *result, const char *what);
