/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever an analysis reports: the verdict is at least as grave as its gravest finding, and what
 * is made of it is sound. */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "guard/guard.h"
#include "wire/json.h"

static void judge(const struct guard_report *report, struct spec *spec)
{
	struct result result;
	struct strings reasons = { 0 };
	result_init(&result);
	result.status = STATUS_OK;
	guard_apply(report, spec, &result);
	enum guard_verdict verdict = guard_judge(report);
	MUST((verdict == GUARD_BLOCK) == (result.status == STATUS_REFUSED));
	enum autorun autorun = guard_autorun(report, spec, &result, &reasons);
	MUST(autorun == AUTORUN_NO && reasons.count > 0); /* there is no isolation here */
	auto_free char *json =
		guard_report_to_json(report, spec, "python", "x.py", &autorun, &reasons, false);
	auto_json struct json_object *again = json_tokener_parse(json);
	MUST(again);
	auto_free char *whole = result_to_json(&result, spec, false);
	auto_json struct json_object *told = json_tokener_parse(whole);
	MUST(told);
	strings_done(&reasons);
	result_done(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { 0 };
	struct message message = { 0 };
	struct guard_report report = { 0 };
	struct spec spec;
	if (message_read(&message, (const char *)data, size, &err) < 0)
		return 0;
	spec_init(&spec);
	if (message.kind == MESSAGE_REPORT) {
		guard_report_take(&report, &message);
		MUST(report.finding_count <= LIMIT_FINDINGS);
		for (int profile = 0; profile < PROFILE_COUNT; profile++) {
			spec.profile = profile;
			judge(&report, &spec);
		}
	} else if (message.kind == MESSAGE_REFUSED) {
		(void)message_refused_module(&message);
	}
	guard_report_done(&report);
	spec_done(&spec);
	message_done(&message);
	return 0;
}
