/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of a cell did, in words. Cells leave numbers: to write the words takes as long as
 * some of the steps, and few people ask. */
#include "jail/steps.h"

#include <stdio.h>

#include "jail/filter.h"

static void tell_step(const struct plan *plan, enum step_id id, struct step_outcome *outcome)
{
	char *text = outcome->detail;
	const size_t size = sizeof(outcome->detail);
	int value = outcome->value;
	switch (id) {
	case STEP_NETWORK:
		(void)snprintf(text, size, "%s%s", net_mode_names[plan->net],
			value ? ", untouched by an earlier cell" : "");
		break;
	case STEP_CGROUP:
		(void)snprintf(text, size, "v%d", plan->cgroup == CGROUP_V1 ? 1 : 2);
		break;
	case STEP_RLIMITS:
		(void)snprintf(text, size, "%lld processes", (long long)plan->pids);
		break;
	case STEP_WORKSPACE:
		(void)snprintf(text, size, "%lld bytes, %lld files in all", (long long)plan->disk,
			(long long)plan->inodes);
		break;
	case STEP_PROC:
		(void)snprintf(
			text, size, "%s", plan->has_full_proc ? "whole, masked" : "processes only");
		break;
	case STEP_INIT_GUARD:
		(void)snprintf(text, size, "%u instructions", filters[FILTER_INIT].len);
		break;
	case STEP_UID:
		(void)snprintf(text, size, "uid %u, gid %u", plan->uid, plan->gid);
		break;
	case STEP_SECCOMP:
		(void)snprintf(text, size, "%u instructions, %s", filter_of(plan)->len,
			value ? "watched" : "not watched");
		break;
	case STEP_LANDLOCK:
		(void)snprintf(text, size, "ABI %d%s", value,
			value >= 6 ? ", abstract sockets and signals scoped" : "");
		break;
	default: /* has none, or the template wrote them */
		break;
	}
}

void jail_tell_steps(const struct plan *plan, struct report *report)
{
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++)
		if (report->steps[id].state == STEP_RAISED)
			tell_step(plan, (enum step_id)id, &report->steps[id]);
}
