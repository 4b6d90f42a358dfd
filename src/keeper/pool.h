/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool: cells of one policy that stand ready. How many there should be follows demand: a request
 * that finds none doubles the number, quiet times lower it again, and a pool that nobody asked for
 * a while goes away with its zygote.
 */
#pragma once

#include "keeper/cell.h"

enum { POOL_FIRST = 2 }; /* cells that stand ready once somebody has asked */

struct pool {
	struct pool *next; /* owned by the lender */
	char *text;        /* owned; of the policy: what the pool is known by */
	size_t len;
	struct policy policy;
	struct keeper *keeper; /* owned */
	struct cell **parked;  /* owned */
	size_t parked_count;
	size_t wanted;     /* how many should stand ready now */
	size_t floor;      /* and at least, because the daemon said so */
	size_t most;       /* and at most */
	size_t lent;       /* cells that are out now */
	size_t peak;       /* most that were taken between two looks, of late */
	int64_t peak_us;   /* when */
	size_t taken;      /* since the last look */
	uint64_t served;   /* cells handed out, ever */
	uint64_t missed;   /* of these, raised only when they were asked for */
	int64_t asked_us;  /* when somebody last did */
	int64_t broken_us; /* when a cell for it could last not be raised; 0: never */
	bool is_outdated;  /* what its template copied has changed since */
	bool is_over;      /* and another one has taken its place */
};

/* Has a zygote raise the template; nobody waits for it. */
int pool_open(const char *text, size_t len, size_t most, struct pool **ret_pool, struct err *err);
void pool_close(struct pool *pool);

/* The same for a single cell that no pool could lend: one whose mounts are mapped to its user. */
int pool_open_own(const char *text, size_t len, struct pool **ret_pool, struct err *err);

/* A cell: one that stands ready, or else one that is being raised. It is the caller's. */
int pool_take(struct pool *pool, struct cell **ret_cell, bool *ret_is_warm, struct err *err);

/* Whether many cells are out, more than stand ready. */
bool pool_is_busy(const struct pool *pool);

/* Whether the next ones are to be raised in a row. */
bool pool_fills_in_rows(const struct pool *pool);

/* Where cells are taken faster than the zygote brings their inits: asks for the next ones at once,
 * and has those who make them work apart. */
void pool_hurry(struct pool *pool);

/* What need not wait for anybody: hears parked cells, replaces those of a lesser form than could be
 * had. False: there is nothing to do. */
bool pool_tend(struct pool *pool);

/* Whether one of its cells is not as ready as it will be: it does not stand yet, or is among the
 * first and was not told that its turn comes soon. Tells one. False: there was none to tell. */
bool pool_is_unready(const struct pool *pool);
bool pool_warm(struct pool *pool);

/* Whether more cells should stand ready; raises one more, gives one up. */
bool pool_is_short(const struct pool *pool);
void pool_fill(struct pool *pool);
void pool_give_up_one(struct pool *pool);

/* At most so many from now on: those beyond it go. */
void pool_set_most(struct pool *pool, size_t most);

/* Whether a cell may be in a network that an earlier one left as it was: where all are one owner's,
 * and none reaches a network from within. */
void pool_reuse_networks(struct pool *pool, bool is_allowed);

/* So many should stand ready whatever the demand, as far as there may be. */
void pool_set_floor(struct pool *pool, size_t floor);

/* Whether its zygote died, and all its cells with it, or another pool has taken its place: nothing
 * more will come of it. */
bool pool_is_lost(const struct pool *pool);

/* Once in a while: whether what its template has copies of has changed, and changes no more. */
bool pool_is_outdated(struct pool *pool);

/* Has a newer one, or none, take its place, with all it knows of demand. */
void pool_replace(struct pool *pool, struct pool *newer);

/* Once in a while: has demand changed? True: nobody needs this pool any more. */
bool pool_look(struct pool *pool, int64_t now_us);
