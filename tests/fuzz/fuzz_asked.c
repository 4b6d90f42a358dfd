/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a client sends as a job of any kind: it is refused in one line of clean text, or sound.
 */
#include "fuzz/fuzz.h"

#include "worker/worker.h"

static void check_refusal(const struct err *err)
{
	MUST(err->code != ERR_NONE && err->text[0] != '\0');
	for (const char *at = err->text; *at != '\0'; at++)
		MUST((unsigned char)*at >= 0x20 && *at != 0x7f);
}

/* The first byte says which kind. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct asked asked = { 0 };
	struct err err = { 0 };
	if (size == 0)
		return 0;
	enum work_kind kind = (enum work_kind)(data[0] % WORK_KIND_COUNT);
	if (asked_read(&asked, kind, (const char *)data + 1, size - 1, &err) < 0) {
		check_refusal(&err);
	} else {
		MUST(kind != WORK_TURN || asked.spec.code);
		MUST(asked.undo >= 0 && asked.undo <= 64);
		MUST(asked.limit >= 0 && asked.limit <= 1000);
		MUST(asked.idle_s >= 0 && asked.lifetime_s >= 0);
		for (size_t i = 0; i < spec_field_count; i++)
			MUST(asked_takes(kind, &spec_fields[i]) ||
				!spec_is_given(&asked.spec, &spec_fields[i]));
	}
	asked_done(&asked);
	return 0;
}
