/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/beginning.h"

#include <poll.h>
#include <string.h>

#include "base/own.h"
#include "keeper/cell.h"

static bool has_groups(const struct keeper *keeper)
{
	return keeper->wanted & (UINT64_C(1) << STEP_CGROUP);
}

/* ---- one --------------------------------------------------------------------------------------
 */

int beginning_find_berth(struct keeper *keeper, struct beginning *beginning, struct err *err)
{
	if (!keeper->is_lender || !keeper->has_slot)
		return 0;
	beginning->has_group = has_groups(keeper) &&
			       berths_take(&keeper->berths, &beginning->slot, &beginning->group);
	return beginning->has_group ? 0 : slot_take(&beginning->slot, err);
}

static int ask(struct keeper *keeper, struct beginning *beginning, const struct cgroup *group,
	struct err *err)
{
	bool is_v2 = group && keeper->site.kind == CGROUP_V2;
	struct report *report = &keeper->template->base.report;
	if (jail_steps[report->failed].stage != STAGE_TEMPLATE) {
		/* what an earlier one failed of is history */
		report->steps[report->failed] = (struct step_outcome){ 0 };
		report->failed = STEP_NONE;
		report->failed_text[0] = '\0';
	}
	beginning->network = networks_take(&keeper->networks);
	return zygote_ask_init(&keeper->zygote, &beginning->newborn,
		beginning->network ? network_fd(beginning->network) : -1,
		is_v2 ? group->dir_fds[0] : -1, err);
}

static int make(struct keeper *keeper, struct beginning *beginning, struct err *err)
{
	const struct slot *slot = keeper->is_lender ? &beginning->slot : &keeper->slot;
	TRY(beginning_find_berth(keeper, beginning, err));
	if (has_groups(keeper) && !beginning->has_group) {
		TRY(cgroup_make(&beginning->group, &keeper->site, slot->number, err));
		beginning->has_group = true;
	}
	return ask(keeper, beginning, beginning->has_group ? &beginning->group : NULL, err);
}

/* Waits, unless it was heard of. */
static int hear(struct keeper *keeper, struct beginning *beginning, bool is_ahead, struct err *err)
{
	struct newborn *newborn = &beginning->newborn;
	if (beginning->has_heard)
		return 0;
	beginning->has_heard = true; /* there is no second word */
	TRY(zygote_take_init(&keeper->zygote, newborn, err));
	/* to look at a new network takes as long as to make it: not while somebody waits */
	if (is_ahead && !beginning->network && newborn->pidfd >= 0)
		beginning->network = networks_watch(&keeper->networks,
			take_fd(&newborn->network_fd), newborn->pid, newborn->pidfd);
	return 0;
}

/* What a cell took of it is the cell's. */
static void let_go(struct keeper *keeper, struct beginning *beginning)
{
	newborn_done(&beginning->newborn);
	/* one that was never to raise a cell may not be gone yet */
	networks_give(&keeper->networks, take_ptr(&beginning->network), false);
	if (beginning->has_group)
		cgroup_remove(&beginning->group);
	slot_free(&beginning->slot);
}

static void give_berth(struct beginning *beginning, struct cell *cell)
{
	cell->slot = beginning->slot;
	beginning->slot.fd = -1;
	cell->group = beginning->group;
	cell->has_group = beginning->has_group;
	beginning->has_group = false;
}

/* False: it failed, and the template's report tells why. */
static bool give_init(struct beginning *beginning, struct cell *cell)
{
	if (beginning->newborn.pidfd < 0)
		return false;
	cell->pidfd = take_fd(&beginning->newborn.pidfd);
	cell->status_fd = take_fd(&beginning->newborn.sock);
	cell->network = take_ptr(&beginning->network);
	return true;
}

int beginning_ask_now(struct cell *cell, struct err *err)
{
	struct keeper *keeper = cell->keeper;
	struct beginning beginning = BEGINNING_NONE;
	struct err earlier = { 0 };
	int r = ask(keeper, &beginning, cell->has_group ? &cell->group : NULL, err);
	/* the answers come in the order of the questions */
	for (size_t i = 0; r == 0 && i < keeper->beginnings.count; i++)
		(void)hear(keeper, &keeper->beginnings.items[i], false, &earlier);
	if (r == 0)
		r = hear(keeper, &beginning, cell->is_ahead, err);
	if (r == 0 && !give_init(&beginning, cell))
		r = cell_failure(cell, err);
	let_go(keeper, &beginning);
	return r;
}

/* ---- those that stand ready -------------------------------------------------------------------
 */

/* The oldest goes out of the list. */
static struct beginning pop(struct beginnings *beginnings)
{
	struct beginning first = beginnings->items[0];
	beginnings->count--;
	memmove(&beginnings->items[0], &beginnings->items[1],
		beginnings->count * sizeof(beginnings->items[0]));
	return first;
}

/* To whom the next is late, more would have been of use; to whom two are ready, one is. */
static void adapt(struct keeper *keeper)
{
	struct beginnings *beginnings = &keeper->beginnings;
	bool is_late = beginnings->count == 0 || !beginnings->items[0].has_heard;
	bool is_idle = beginnings->count > 1 && beginnings->items[1].has_heard;
	if (is_late && keeper->is_lender && beginnings->more + 1 < BEGINNINGS_MAX)
		beginnings->more++;
	else if (is_idle && beginnings->more > 0)
		beginnings->more--;
}

bool beginning_take(struct cell *cell)
{
	struct keeper *keeper = cell->keeper;
	struct beginnings *beginnings = &keeper->beginnings;
	struct err err = { 0 };
	adapt(keeper);
	if (beginnings->count == 0)
		return false;
	struct beginning beginning = pop(beginnings);
	bool is_there = hear(keeper, &beginning, cell->is_ahead, &err) == 0;
	if (is_there)
		give_berth(&beginning, cell);
	is_there = is_there && give_init(&beginning, cell);
	let_go(keeper, &beginning);
	return is_there;
}

void beginnings_ask(struct keeper *keeper)
{
	struct beginnings *beginnings = &keeper->beginnings;
	struct err err = { 0 };
	while (keeper->is_resident && beginnings->count < 1 + beginnings->more) {
		struct beginning *next = &beginnings->items[beginnings->count];
		*next = BEGINNING_NONE;
		if (make(keeper, next, &err) < 0) {
			let_go(keeper, next);
			return;
		}
		beginnings->count++;
	}
}

void beginnings_look(struct keeper *keeper)
{
	struct beginnings *beginnings = &keeper->beginnings;
	struct pollfd answer = { .fd = keeper->zygote.sock, .events = POLLIN };
	struct err err = { 0 };
	for (size_t i = 0; i < beginnings->count; i++)
		if (!beginnings->items[i].has_heard &&
			(poll(&answer, 1, 0) <= 0 ||
				hear(keeper, &beginnings->items[i], true, &err) < 0))
			return;
}

bool beginnings_are_awaited(const struct keeper *keeper)
{
	const struct beginnings *beginnings = &keeper->beginnings;
	return beginnings->count > 0 && !beginnings->items[beginnings->count - 1].has_heard &&
	       keeper->networks.is_allowed;
}

/* The newest: those before it were heard of before it was. */
static void drop_last(struct keeper *keeper)
{
	struct beginnings *beginnings = &keeper->beginnings;
	struct err err = { 0 };
	/* the answers are not to be taken for others' */
	for (size_t i = 0; keeper->zygote.sock >= 0 && i < beginnings->count; i++)
		(void)hear(keeper, &beginnings->items[i], false, &err);
	let_go(keeper, &beginnings->items[--beginnings->count]);
}

void beginnings_shrink(struct keeper *keeper)
{
	struct beginnings *beginnings = &keeper->beginnings;
	if (beginnings->more == 0)
		return;
	beginnings->more--;
	if (beginnings->count > 1 + beginnings->more)
		drop_last(keeper);
}

void beginnings_done(struct keeper *keeper)
{
	while (keeper->beginnings.count > 0)
		drop_last(keeper);
}
