/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/record.h"

#include <string.h>

/* What nobody may hear of: only the id stays, by which a log may know it. */
static void withhold(struct result *result)
{
	char id[sizeof(result->id)];
	memcpy(id, result->id, sizeof(id));
	result_done(result);
	result_init(result);
	memcpy(result->id, id, sizeof(id));
}

int record(const struct store_run *run, struct result *result, struct err *ret_unrecorded,
	struct err *err)
{
	struct err problem = { 0 };
	if (artifact_write(run, &problem) < 0) {
		result_warn(result, "%s", problem.text);
		*ret_unrecorded = problem;
	}
	if (audit_write(run, &problem) == 0)
		return 0;
	if (run->spec->audit >= AUDIT_REQUIRED) {
		withhold(result);
		*err = problem;
		return -1;
	}
	result_warn(result, "%s", problem.text);
	*ret_unrecorded = problem;
	return 0;
}
