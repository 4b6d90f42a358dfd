/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/engine.h"
#include "store/store.h"

/* What nobody may hear of: only the id stays, by which a log may know it. */
static void withhold(struct result *result)
{
	char id[sizeof(result->id)];
	memcpy(id, result->id, sizeof(id));
	result_done(result);
	result_init(result);
	memcpy(result->id, id, sizeof(id));
}

static struct store_run run_of(
	const struct spec *spec, const struct engine_code *code, const struct result *result)
{
	return (struct store_run){ .spec = spec,
		.result = result,
		.code = code->text,
		.code_len = code->len,
		.token = code->token,
		.draft = code->draft,
		.memory = code->memory };
}

struct audit_draft *engine_draft_record(
	const struct spec *spec, const struct engine_code *code, const struct result *result)
{
	const struct store_run run = run_of(spec, code, result);
	return audit_draft(&run);
}

void engine_draft_free(struct audit_draft *draft)
{
	audit_draft_free(draft);
}

int engine_record_beginning(const struct spec *spec, const struct engine_code *code,
	const struct result *result, struct err *err)
{
	const struct store_run run = run_of(spec, code, result);
	return audit_begin(&run, err);
}

int engine_record(const struct spec *spec, const struct engine_code *code, struct result *result,
	struct err *ret_unrecorded, struct err *err)
{
	const struct store_run run = run_of(spec, code, result);
	struct err problem = { 0 };
	if (artifact_write(&run, &problem) < 0) {
		result_warn(result, "%s", problem.text);
		*ret_unrecorded = problem;
	}
	if (audit_write(&run, &problem) == 0)
		return 0;
	if (spec->audit >= AUDIT_REQUIRED) {
		withhold(result);
		*err = problem;
		return -1;
	}
	result_warn(result, "%s", problem.text);
	*ret_unrecorded = problem;
	return 0;
}
