/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/guard.h"

#include <string.h>

#include "base/own.h"
#include "test.h"
#include "wire/json.h"

static struct guard_report report;
static struct spec spec;
static struct result result;

static void begin(const char *findings)
{
	struct err err = { 0 };
	struct message message;
	auto_free char *text =
		xasprintf("{\"event\":\"report\",\"findings\":[%s],\"imports\":[\"os\"],"
			  "\"left_out\":0}",
			findings);
	report = (struct guard_report){ 0 };
	spec_init(&spec);
	result_init(&result);
	ASSERT_OK(message_read(&message, text, strlen(text), &err));
	guard_report_take(&report, &message);
	message_done(&message);
}

static void end(void)
{
	guard_report_done(&report);
	spec_done(&spec);
	result_done(&result);
}

static void add_layer(const char *key, const char *text)
{
	struct isolation_item *item = &result.isolation[result.isolation_count++];
	*item = (struct isolation_item){ .key = key, .number = 1 };
	if (!text)
		return;
	item->kind = ISOLATION_TEXT;
	(void)snprintf(item->text, sizeof(item->text), "%s", text);
}

static void add_walls(void)
{
	static const char *const layers[] = { "mount_namespace", "pivot_root", "pid_namespace",
		"ipc_namespace", "capabilities", "no_new_privs", "seccomp", "init_guard",
		"landlock" };
	for (size_t i = 0; i < COUNT_OF(layers); i++)
		add_layer(layers[i], NULL);
	add_layer("network", "none");
}

#define FINDING(severity, module)                  \
	"{\"rule\":\"r\",\"severity\":\"" severity \
	"\",\"line\":3,\"column\":1,\"reason\":\"why\"" module "}"
#define OS ",\"module\":\"os\""

TEST(the_gravest_finding_is_the_verdict)
{
	begin("");
	ASSERT_EQ(guard_judge(&report), GUARD_ALLOW);
	end();
	begin(FINDING("info", ""));
	ASSERT_EQ(guard_judge(&report), GUARD_ALLOW);
	end();
	begin(FINDING("warn", OS) "," FINDING("info", ""));
	ASSERT_EQ(guard_judge(&report), GUARD_WARN);
	end();
	begin(FINDING("info", "") "," FINDING("block", OS) "," FINDING("warn", ""));
	ASSERT_EQ(guard_judge(&report), GUARD_BLOCK);
	end();
}

TEST(a_severity_nobody_knows_blocks)
{
	begin(FINDING("fine", ""));
	ASSERT_EQ(guard_judge(&report), GUARD_BLOCK);
	end();
}

TEST(nothing_analysed_is_no_verdict)
{
	struct guard_report none = { 0 };
	ASSERT_EQ(guard_judge(&none), GUARD_NONE);
}

TEST(a_blocked_import_has_the_exact_message)
{
	begin(FINDING("block", OS));
	result.status = STATUS_ERROR;
	guard_apply(&report, &spec, &result);
	ASSERT_EQ(result.status, STATUS_REFUSED);
	ASSERT_EQ(result_exit_code(&result), EXIT_GUARD_REFUSED);
	ASSERT_STR(result.error.message, "Security policy blocked import: os");
	ASSERT_STR(result.error.kind, "refused");
	ASSERT_EQ(result.error.line, 3);
	ASSERT_EQ(result.blocked_imports.count, 1);
	ASSERT_STR(result.blocked_imports.items[0], "os");
	end();
}

TEST(a_warning_goes_into_the_result_and_changes_nothing_else)
{
	begin(FINDING("warn", OS));
	result.status = STATUS_OK;
	guard_apply(&report, &spec, &result);
	ASSERT_EQ(result.status, STATUS_OK);
	ASSERT_EQ(result.warning_count, 0);
	ASSERT_EQ(result.guard_warnings.count, 1);
	ASSERT_STR(result.guard_warnings.items[0], "guard: line 3: why");
	end();
}

TEST(what_ended_by_the_policy_in_strict_was_refused)
{
	begin("");
	spec.profile = PROFILE_STRICT;
	result.status = STATUS_ERROR;
	result.error.value = xstrdup("Security policy blocked import: os");
	guard_apply_run(&report, &spec, &result);
	ASSERT_EQ(result.status, STATUS_REFUSED);
	ASSERT_STR(result.error.message, "Security policy blocked import: os");
	end();
	begin("");
	result.status = STATUS_ERROR;
	result.error.value = xstrdup("Security policy blocked import: os");
	guard_apply_run(&report, &spec, &result);
	ASSERT_EQ(result.status, STATUS_ERROR);
	end();
}

TEST(the_default_policy_needs_no_words)
{
	begin("");
	ASSERT(guard_is_default(&spec));
	ASSERT(!guard_is_binding(&spec));
	strings_add(&spec.block_modules, "ctypes");
	ASSERT(!guard_is_default(&spec));
	auto_free char *text = guard_policy(&spec);
	ASSERT_STR(text, "{\"profile\":\"standard\",\"block_imports\":false,\"allow\":[],"
			 "\"block\":[\"ctypes\"]}");
	ASSERT(guard_is_binding(&spec));
	end();
}

TEST(a_policy_is_read_back_as_it_was_written)
{
	struct err err = { 0 };
	struct spec other;
	begin("");
	spec_init(&other);
	spec.profile = PROFILE_STRICT;
	spec.block_imports = true;
	strings_add(&spec.allow_modules, "numpy");
	strings_add(&spec.block_modules, "ctypes");
	auto_free char *text = guard_policy(&spec);
	auto_json struct json_object *json = json_tokener_parse(text);
	ASSERT_OK(guard_policy_read(json, &other, &err));
	auto_free char *again = guard_policy(&other);
	ASSERT_STR(again, text);
	auto_json struct json_object *wrong = json_tokener_parse("{\"profile\":\"lax\"}");
	ASSERT_FAIL(guard_policy_read(wrong, &other, &err), ERR_INVALID);
	spec_done(&other);
	end();
}

TEST(what_was_refused_while_code_ran_is_named_once)
{
	begin("");
	guard_note_refused(&result, "os");
	guard_note_refused(&result, "os");
	guard_note_refused(&result, NULL);
	ASSERT_EQ(result.blocked_imports.count, 1);
	end();
}

TEST(only_clean_code_behind_whole_walls_runs_unasked)
{
	struct strings reasons = { 0 };
	begin("");
	add_walls();
	ASSERT_EQ(guard_autorun(&report, &spec, &result, &reasons), AUTORUN_YES);
	pairs_add(&spec.rw, "/srv", "/mnt");
	ASSERT_EQ(guard_autorun(&report, &spec, &result, &reasons), AUTORUN_ASK);
	result.isolation[6].number = 0; /* seccomp */
	ASSERT_EQ(guard_autorun(&report, &spec, &result, &reasons), AUTORUN_NO);
	end();
	begin(FINDING("warn", OS));
	add_walls();
	ASSERT_EQ(guard_autorun(&report, &spec, &result, &reasons), AUTORUN_ASK);
	end();
	begin(FINDING("block", OS));
	add_walls();
	ASSERT_EQ(guard_autorun(&report, &spec, &result, &reasons), AUTORUN_NO);
	end();
	strings_done(&reasons);
}

TEST(no_isolation_at_all_is_a_no)
{
	struct strings reasons = { 0 };
	begin("");
	ASSERT_EQ(guard_autorun(&report, &spec, &result, &reasons), AUTORUN_NO);
	ASSERT(reasons.count > 0);
	strings_done(&reasons);
	end();
}
