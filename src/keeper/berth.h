/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A berth is a slot with its cgroups: what a lender's cell needs before it has an init. To make and
 * remove three v1 groups takes 0.3 ms of processor time, so those of a dead cell serve the next one
 * of the same policy, hence with the same limits, when they tell nothing of the earlier cell: they
 * rest until the kernel has given back all that was charged to them, and what they count is set
 * back. What cannot be set back, as the most processes there were at once, must be what every cell
 * has. In doubt they are removed. The slot stays locked meanwhile; should we be killed, its lock
 * goes, and the janitor finds the groups.
 */
#pragma once

#include "keeper/cgroup.h"
#include "keeper/machine.h"

enum {
	BERTHS_MAX = 64,  /* what a busy lender needs: they rest for some ten milliseconds */
	BERTHS_QUIET = 4, /* when nothing is asked for */
};

struct berth {
	struct slot slot;
	struct cgroup group;
};

/* Those in no use, the oldest first. Starts as zeros. */
struct berths {
	struct berth items[BERTHS_MAX];
	size_t count;
};

/* Takes slot and groups of a cell of which nobody is left. */
void berths_give(struct berths *berths, struct slot *slot, struct cgroup *group);

/* False: none is as a new one would be. */
bool berths_take(struct berths *berths, struct slot *ret_slot, struct cgroup *ret_group);

/* Lets one go when there are more than quiet times need. */
void berths_shrink(struct berths *berths);

void berths_done(struct berths *berths);
