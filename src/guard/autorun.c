/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SecureToAutoRun. The wall counts most: where a layer that keeps code from the host did not stand,
 * nothing may run unasked, however harmless it looks. What the policy blocks is a no. What the
 * analysis warns of, or could not see, and what the run was given of the host, is for a person.
 */
#include <string.h>

#include "base/own.h"
#include "guard/guard.h"
#include "model/limits.h"

/* clang-format off */
const char *const autorun_names[AUTORUN_COUNT] = {
	[AUTORUN_NO]  = "no",
	[AUTORUN_ASK] = "ask",
	[AUTORUN_YES] = "yes",
};

/* Layers without which code could reach the host, as meta.isolation names them. */
static const char *const walls[] = {
	"mount_namespace", "pivot_root", "pid_namespace", "ipc_namespace", "capabilities",
	"no_new_privs", "seccomp", "init_guard",
};
/* clang-format on */

enum { REASONS_MAX = 16 };

static void add_reason(struct strings *reasons, char *text)
{
	if (reasons->count < REASONS_MAX)
		strings_add(reasons, text);
	free(text);
}

static const struct isolation_item *find_item(const struct result *isolation, const char *key)
{
	for (size_t i = 0; i < isolation->isolation_count; i++)
		if (strcmp(isolation->isolation[i].key, key) == 0)
			return &isolation->isolation[i];
	return NULL;
}

static bool is_item(const struct result *isolation, const char *key)
{
	const struct isolation_item *item = find_item(isolation, key);
	return item && item->kind != ISOLATION_TEXT && item->number != 0;
}

static bool is_text(const struct result *isolation, const char *key, const char *text)
{
	const struct isolation_item *item = find_item(isolation, key);
	return item && item->kind == ISOLATION_TEXT && strcmp(item->text, text) == 0;
}

static enum autorun judge_walls(
	const struct spec *spec, const struct result *isolation, struct strings *reasons)
{
	enum autorun answer = AUTORUN_YES;
	for (size_t i = 0; i < COUNT_OF(walls); i++) {
		if (is_item(isolation, walls[i]))
			continue;
		add_reason(reasons, xasprintf("isolation: the layer %s is not active", walls[i]));
		answer = AUTORUN_NO;
	}
	if (answer == AUTORUN_NO)
		return answer;
	if (!is_item(isolation, "landlock")) {
		add_reason(reasons, xstrdup("isolation: Landlock is not active"));
		answer = AUTORUN_ASK;
	}
	if (!is_text(isolation, "network", "none") && !is_text(isolation, "network", "loopback")) {
		add_reason(reasons, xstrdup("isolation: the code can reach a network"));
		answer = AUTORUN_ASK;
	}
	if (spec->rw.count > 0) {
		add_reason(reasons, xasprintf("policy: the code may change '%s' of the host (--rw)",
					    spec->rw.items[0].from));
		answer = AUTORUN_ASK;
	}
	return answer;
}

static enum autorun judge_code(
	const struct guard_report *report, const struct spec *spec, struct strings *reasons)
{
	enum guard_severity told = SEVERITY_WARN;
	enum guard_verdict verdict = guard_judge(report);
	if (verdict == GUARD_NONE) {
		add_reason(reasons,
			xstrdup(spec->profile == PROFILE_TRUSTED
					? "policy: the profile trusted does not look at the code"
					: "code: its language is not analysed"));
		return AUTORUN_ASK;
	}
	if (verdict == GUARD_ALLOW)
		return AUTORUN_YES;
	if (verdict == GUARD_BLOCK)
		told = SEVERITY_BLOCK;
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct guard_finding *finding = &report->findings[i];
		if (finding->severity == told)
			add_reason(reasons,
				xasprintf("code: line %lld: %s (%s)", (long long)finding->line,
					finding->reason, finding->rule));
	}
	return verdict == GUARD_BLOCK ? AUTORUN_NO : AUTORUN_ASK;
}

enum autorun guard_autorun(const struct guard_report *report, const struct spec *spec,
	const struct result *isolation, struct strings *reasons)
{
	enum autorun code = judge_code(report, spec, reasons);
	enum autorun wall = judge_walls(spec, isolation, reasons);
	enum autorun answer = code < wall ? code : wall;
	if (answer == AUTORUN_YES)
		add_reason(
			reasons, xstrdup("nothing in the code to warn of, and every layer of the "
					 "cell is active"));
	return answer;
}
