/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code is analysed where it can do no harm to whoever analyses it: in a cell, which it enters as a
 * file and is not run in. The analysis speaks over the channel like a runner, and says one thing.
 */
#include <string.h>

#include "base/own.h"
#include "engine/compile.h"
#include "provider/provider.h"

enum { CHECK_TIMEOUT_MS = 30000 };

struct listening {
	struct guard_report *report;
	bool has_heard;
};

static struct heard listen(void *context, const char *data, size_t len, struct buf *pending)
{
	struct listening *listening = context;
	struct message message = { 0 };
	struct err err = { 0 };
	(void)pending;
	if (listening->has_heard || message_read(&message, data, len, &err) < 0)
		return (struct heard){ .is_nonsense = true };
	listening->has_heard = true;
	if (message.kind == MESSAGE_REPORT)
		guard_report_take(listening->report, &message);
	message_done(&message);
	return (struct heard){ 0 };
}

static int refuse_silence(
	const struct compiling *checking, const struct result *result, struct err *err)
{
	if (result->status == STATUS_INTERRUPTED)
		return err_set(err, ERR_INTERRUPTED, "the analysis was interrupted");
	return err_set(err, ERR_BROKEN, "the analysis of %s said nothing (%s): %.200s",
		checking->language->name, run_status_names[result->status],
		result->err.text ? result->err.text : "");
}

int check(const struct compiling *checking, struct guard_report *report, struct result *result,
	struct err *err)
{
	const struct language *language = checking->language;
	const struct provider *provider = NULL;
	void *handle = NULL;
	struct strings argv = { 0 };
	struct listening listening = { .report = report };
	struct spec spec = *checking->spec; /* borrowed: its walls, not what goes in and out */
	spec.timeout_ms = CHECK_TIMEOUT_MS;
	spec.cold = true;
	spec.stdin_path = NULL;
	spec.spill = NULL;
	spec.env = (struct strings){ 0 };
	spec.files = (struct pairs){ 0 };
	spec.outs = (struct pairs){ 0 };
	spec.commands = (struct strings){ 0 };
	const struct places places = { .file = checking->file, .runtime = RUNTIME_DIR };
	language_fill(&language->check, &places, &argv);
	auto_free char *policy = guard_policy(&spec);
	const struct task task = { .spec = &spec,
		.argv = &argv,
		.program = checking->program,
		.code = checking->code,
		.code_len = checking->code_len,
		.needs_full_proc = language->needs_full_proc,
		.policy = policy,
		.ear = { .hear = listen, .context = &listening },
		.interrupt_fd = checking->wishes->interrupt_fd,
		.outlet = { .fds = { -1, -1 } } };
	int r = provider_find(spec.provider, &provider, err);
	if (r == 0)
		r = provider->open(&spec, language->dir, &handle, err);
	if (r == 0)
		r = provider->run(handle, &task, result, NULL, err);
	if (r == 0 && !report->is_analysed)
		r = refuse_silence(checking, result, err);
	if (handle)
		provider->close(handle);
	strings_done(&argv);
	return r;
}
