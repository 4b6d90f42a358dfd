/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/berth.h"

#include <string.h>

enum { LOOKS = 3 }; /* each takes a few microseconds */

static void leave(struct slot *slot, struct cgroup *group)
{
	cgroup_remove(group);
	slot_free(slot);
}

void berths_give(struct berths *berths, struct slot *slot, struct cgroup *group)
{
	if (berths->count == BERTHS_MAX || !cgroup_may_rest(group)) {
		leave(slot, group);
		return;
	}
	/* for all cells to come: who lends one as soon as it is asked for has no time for that */
	cgroup_open_gauges(group);
	struct berth *berth = &berths->items[berths->count++];
	*berth = (struct berth){ .slot = *slot, .group = *group };
	slot->fd = -1;
}

/* Takes the oldest out. */
static struct berth next(struct berths *berths)
{
	struct berth berth = berths->items[0];
	berths->count--;
	memmove(&berths->items[0], &berths->items[1], berths->count * sizeof(berth));
	return berth;
}

bool berths_take(struct berths *berths, struct slot *ret_slot, struct cgroup *ret_group)
{
	for (size_t looks = 0; berths->count > 0 && looks < LOOKS; looks++) {
		struct berth berth = next(berths);
		if (cgroup_refresh(&berth.group)) {
			*ret_slot = berth.slot;
			*ret_group = berth.group;
			return true;
		}
		berths->items[berths->count++] = berth; /* not yet */
	}
	return false;
}

void berths_shrink(struct berths *berths)
{
	if (berths->count <= BERTHS_QUIET)
		return;
	struct berth berth = next(berths);
	leave(&berth.slot, &berth.group);
}

void berths_done(struct berths *berths)
{
	while (berths->count > 0) {
		struct berth *berth = &berths->items[--berths->count];
		leave(&berth->slot, &berth->group);
	}
}
