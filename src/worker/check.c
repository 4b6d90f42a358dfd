/* SPDX-License-Identifier: Apache-2.0 */
/* The guard's verdict on code, which is not run. */
#include "base/own.h"
#include "guard/guard.h"
#include "worker/parts.h"

static char *check(const struct order *order, struct asked *asked, struct guard_report *report,
	struct result *result, struct err *err)
{
	struct strings reasons = { 0 };
	struct spec *spec = &asked->spec;
	if (asked_read(asked, WORK_CHECK, order->text, order->head.len, err) < 0 ||
		order_configure(order, spec, err) < 0)
		return NULL;
	if (order_is_cancelled(order)) {
		(void)err_set(err, ERR_INTERRUPTED, "interrupted before it began");
		return NULL;
	}
	if (engine_check(spec, WORKER_CANCEL_FD, report, result, err) < 0)
		return NULL;
	enum autorun autorun = guard_autorun(report, spec, result, &reasons);
	char *json = guard_report_to_json(report, spec, result->language, spec->file,
		asked->wants_autorun ? &autorun : NULL, &reasons, false);
	strings_done(&reasons);
	return json;
}

int do_check(const struct order *order)
{
	struct err err = { 0 };
	struct asked asked;
	struct guard_report report = { 0 };
	struct result result;
	result_init(&result);
	auto_free char *json = check(order, &asked, &report, &result, &err);
	int r = json ? tell_answer(json) : tell_refusal(&err);
	asked_done(&asked);
	guard_report_done(&report);
	result_done(&result);
	return r;
}
