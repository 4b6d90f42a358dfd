/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/pool.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"

enum {
	UNUSED_US = 300 * 1000000,
	PEAK_US = 60 * 1000000,
	BROKEN_PAUSE_US = 2 * 1000000, /* before another attempt at what just failed */
	MANY = 64, /* cells between two looks: with fewer nobody is in a hurry */
	BUSY = 4,  /* cells that are out: with fewer it is not, either */
	WARM = 4,  /* cells that have their pages already: 0.8 MB each; the others have 0.2 */
};

static int open_pool(const char *text, size_t len, size_t most, enum keeper_life life,
	struct pool **ret_pool, struct err *err)
{
	struct pool *pool = xcalloc(1, sizeof(*pool));
	pool->text = xstrndup(text, len);
	pool->len = len;
	pool->most = most;
	pool->wanted = POOL_FIRST < most ? POOL_FIRST : most;
	pool->asked_us = clock_us();
	policy_init(&pool->policy);
	pool->parked = xcalloc(most + 1, sizeof(struct cell *));
	const struct policy *policy = &pool->policy;
	int r = policy_from_json(&pool->policy, text, len, err);
	if (r == 0 && life != KEEPER_LENDER)
		pool->policy.form = FORM_GATE;
	if (r == 0)
		r = keeper_open(&policy->spec, policy->runtime, life, &pool->keeper, err);
	if (r == 0 && policy->form == FORM_GUEST)
		r = keeper_host(pool->keeper, &policy->standing, err);
	if (r < 0) {
		pool_close(pool);
		return -1;
	}
	*ret_pool = pool;
	return 0;
}

int pool_open(const char *text, size_t len, size_t most, struct pool **ret_pool, struct err *err)
{
	return open_pool(text, len, most, KEEPER_LENDER, ret_pool, err);
}

int pool_open_own(const char *text, size_t len, struct pool **ret_pool, struct err *err)
{
	return open_pool(text, len, 0, KEEPER_RESIDENT, ret_pool, err);
}

void pool_close(struct pool *pool)
{
	if (pool->keeper) /* there is no next cell */
		networks_allow(&pool->keeper->networks, false);
	/* all of them at once, then one after the other */
	for (size_t i = 0; i < pool->parked_count; i++)
		cell_strike(pool->parked[i]);
	for (size_t i = 0; i < pool->parked_count; i++)
		cell_free(pool->parked[i]);
	keeper_close(pool->keeper);
	policy_done(&pool->policy);
	free(pool->parked);
	free(pool->text);
	free(pool);
}

void pool_set_floor(struct pool *pool, size_t floor)
{
	pool->floor = floor < pool->most ? floor : pool->most;
	if (pool->wanted < pool->floor)
		pool->wanted = pool->floor;
}

void pool_reuse_networks(struct pool *pool, bool is_allowed)
{
	struct keeper *keeper = pool->keeper;
	bool was_allowed = keeper->networks.is_allowed;
	networks_allow(&keeper->networks, is_allowed && pool->policy.spec.net == NET_NONE);
	if (!was_allowed || keeper->networks.is_allowed)
		return;
	/* whoever comes next is somebody else, perhaps */
	while (pool->parked_count > 0)
		pool_give_up_one(pool);
	beginnings_done(keeper);
}

void pool_set_most(struct pool *pool, size_t most)
{
	pool->most = most;
	pool_set_floor(pool, pool->floor);
	if (pool->wanted > most)
		pool->wanted = most;
	while (pool->parked_count > most)
		pool_give_up_one(pool);
	pool->parked = xrealloc(pool->parked, most + 1, sizeof(struct cell *));
}

bool pool_is_lost(const struct pool *pool)
{
	struct pollfd end = { .fd = pool->keeper->zygote.sock }; /* nothing else is waited for */
	return pool->is_over || poll(&end, 1, 0) > 0;
}

/* Who installs something changes many files one after the other. */
bool pool_is_outdated(struct pool *pool)
{
	bool came = changes_came(pool->keeper->changes_fd);
	pool->is_outdated |= came;
	return pool->is_outdated && !came && !pool->is_over;
}

void pool_replace(struct pool *pool, struct pool *newer)
{
	if (newer) {
		pool_set_floor(newer, pool->floor);
		newer->wanted = pool->wanted;
		newer->peak = pool->peak;
		newer->peak_us = pool->peak_us;
		newer->asked_us = pool->asked_us;
	}
	pool->is_over = true;
	pool->wanted = pool->floor = 0;
	while (pool->parked_count > 0)
		pool_give_up_one(pool);
}

static bool is_alive(const struct cell *cell)
{
	struct pollfd death = { .fd = cell->pidfd, .events = POLLIN };
	return cell->status_fd >= 0 && cell->gate_fd >= 0 && poll(&death, 1, 0) == 0;
}

static struct cell *remove_at(struct pool *pool, size_t index)
{
	struct cell *cell = pool->parked[index];
	pool->parked_count--;
	memmove(&pool->parked[index], &pool->parked[index + 1],
		(pool->parked_count - index) * sizeof(struct cell *));
	return cell;
}

static int raise_one(struct pool *pool, bool is_ahead, struct cell **ret_cell, struct err *err)
{
	const struct policy *policy = &pool->policy;
	enum cell_form form = policy->form;
	/* what is needed now need not wait first */
	if (form == FORM_STARTED && !is_ahead)
		form = FORM_GATE;
	if (form == FORM_GUEST && !keeper_is_host(pool->keeper))
		form = FORM_GATE;
	struct cell *cell = cell_new(pool->keeper, &policy->spec, policy->has_full_proc, form);
	cell->is_ahead = is_ahead;
	int r = cell_raise(cell, err);
	if (r < 0 && form == FORM_GUEST) { /* its interpreter is gone */
		cell_free(cell);
		cell = cell_new(pool->keeper, &policy->spec, policy->has_full_proc, FORM_GATE);
		r = cell_raise(cell, err);
	}
	if (r == 0 && form == FORM_STARTED)
		r = cell_start(cell, &policy->standing, err);
	if (r < 0) {
		pool->broken_us = clock_us();
		cell_free(cell);
		return -1;
	}
	*ret_cell = cell;
	return 0;
}

/* The oldest that stands; where none does, the oldest: it will be the first. */
static size_t first_standing(const struct pool *pool)
{
	for (size_t i = 0; i < pool->parked_count; i++)
		if (cell_stands(pool->parked[i]))
			return i;
	return 0;
}

int pool_take(struct pool *pool, struct cell **ret_cell, bool *ret_is_warm, struct err *err)
{
	*ret_cell = NULL;
	pool->asked_us = clock_us();
	while (pool->parked_count > 0 && !*ret_cell) {
		struct cell *cell = remove_at(pool, first_standing(pool));
		if (is_alive(cell))
			*ret_cell = cell;
		else
			cell_free(cell);
	}
	*ret_is_warm = *ret_cell != NULL;
	if (!*ret_cell) {
		TRY(raise_one(pool, false, ret_cell, err));
		*ret_is_warm = (*ret_cell)->walls.form == FORM_GUEST;
		pool->missed++;
		pool->wanted = 2 * pool->wanted < pool->most ? 2 * pool->wanted : pool->most;
		if (pool->wanted == 0)
			pool->wanted = pool->most > 0 ? 1 : 0;
	}
	pool->served++;
	pool->lent++;
	pool->taken++;
	return 0;
}

/* The zygote is late for a pool that is filled, too: but then nobody has its cells. */
bool pool_is_busy(const struct pool *pool)
{
	return pool->lent >= BUSY && pool->lent > pool->parked_count;
}

/* A runner that is started takes a processor for longer than a row of others. */
bool pool_fills_in_rows(const struct pool *pool)
{
	return pool_is_busy(pool) && pool->policy.form != FORM_STARTED;
}

void pool_hurry(struct pool *pool)
{
	size_t more = pool->keeper->beginnings.more;
	if (more > 0)
		beginnings_ask(pool->keeper);
	if (more == BEGINNINGS_MAX - 1 && !pool->keeper->is_apart)
		apart_set(pool->keeper, true);
}

/* A cell that was raised while its interpreter was still loading is of the lesser form. */
static bool replace_lesser(struct pool *pool)
{
	if (pool->policy.form != FORM_GUEST || !keeper_is_host(pool->keeper))
		return false;
	for (size_t i = 0; i < pool->parked_count; i++) {
		if (pool->parked[i]->walls.form == FORM_GUEST)
			continue;
		cell_free(remove_at(pool, i));
		return true;
	}
	return false;
}

bool pool_tend(struct pool *pool)
{
	bool is_busy = replace_lesser(pool);
	for (size_t i = 0; i < pool->parked_count; i++) {
		struct cell *cell = pool->parked[i];
		bool was_ready = cell->is_ready;
		is_busy |= cell_collect(cell);
		if (cell->is_ready && !was_ready)
			cell_open_gauges(cell);
	}
	return is_busy;
}

bool pool_is_unready(const struct pool *pool)
{
	if (beginnings_are_awaited(pool->keeper))
		return true;
	for (size_t i = 0; i < pool->parked_count; i++) {
		const struct cell *cell = pool->parked[i];
		if (!cell_stands(cell) ||
			(i < WARM && cell->walls.form == FORM_GUEST && !cell->is_warm))
			return true;
	}
	return false;
}

bool pool_warm(struct pool *pool)
{
	for (size_t i = 0; i < pool->parked_count && i < WARM; i++)
		if (cell_warm(pool->parked[i]))
			return true;
	return false;
}

bool pool_is_short(const struct pool *pool)
{
	bool is_broken = pool->broken_us != 0 && clock_us() - pool->broken_us < BROKEN_PAUSE_US;
	return pool->parked_count < pool->wanted && !is_broken && !pool_is_lost(pool);
}

void pool_fill(struct pool *pool)
{
	struct err err = { 0 };
	struct cell *cell = NULL;
	if (raise_one(pool, true, &cell, &err) < 0)
		return; /* whoever asks next hears why */
	pool->parked[pool->parked_count++] = cell;
	keeper_tidy(pool->keeper); /* the next one's beginning */
}

void pool_give_up_one(struct pool *pool)
{
	if (pool->parked_count > 0)
		cell_free(remove_at(pool, pool->parked_count - 1));
}

static void drop_dead(struct pool *pool)
{
	for (size_t i = pool->parked_count; i-- > 0;)
		if (!is_alive(pool->parked[i]))
			cell_free(remove_at(pool, i));
}

bool pool_look(struct pool *pool, int64_t now_us)
{
	if (pool->policy.form == FORM_GUEST)
		keeper_renew_host(pool->keeper, &pool->policy.standing);
	drop_dead(pool);
	/* the most that were taken in a second of the last while is what the next may need */
	if (pool->taken >= pool->peak || now_us - pool->peak_us > PEAK_US) {
		pool->peak = pool->taken;
		pool->peak_us = now_us;
	}
	if (pool->taken == 0) {
		networks_shrink(&pool->keeper->networks);
		berths_shrink(&pool->keeper->berths);
		beginnings_shrink(pool->keeper);
	}
	apart_set(pool->keeper, pool->keeper->is_apart && pool->taken >= MANY);
	pool->taken = 0;
	size_t needed = pool->peak > pool->floor ? pool->peak : pool->floor;
	if (pool->wanted > needed)
		pool->wanted--;
	while (pool->parked_count > pool->wanted)
		pool_give_up_one(pool);
	bool is_unused = pool->floor == 0 && now_us - pool->asked_us > UNUSED_US;
	return pool->lent == 0 && (is_unused || pool_is_lost(pool));
}
