/* SPDX-License-Identifier: Apache-2.0 */
/* What the lender knows; for lend.c, and for lender.c, which tells of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keeper/lend.h"
#include "keeper/pool.h"
#include "keeper/session.h"

/* Whom the loop hears from. */
enum source_kind {
	SOURCE_LISTENER = 0,
	SOURCE_SIGNALS,
	SOURCE_DAEMON,
	SOURCE_LOAN,  /* its client spoke, or hung up */
	SOURCE_DEATH, /* of the cell of a loan that ended */
	SOURCE_SESSIONS,
	SOURCE_GONE, /* dropped while the loop may still have an event of it */
};

struct source {
	enum source_kind kind;
	int fd; /* owned */
	struct source *next;
	/* of a loan */
	struct pool *pool;
	struct cell *cell; /* owned; NULL: its client keeps its seat without one */
	int64_t begun_us;  /* that, or the loan */
	int64_t ahead_us;  /* since when its client holds it unused; 0: it does not */
	bool is_last;      /* its client may not stay: others wait */
};

struct lender {
	struct lend_options options;
	int epoll_fd; /* owned */
	struct source listener, signals;
	struct source session_events;
	struct sessions *sessions; /* owned */
	struct source *daemons;    /* owned, as the rest */
	struct source *loans;      /* lent, or dying */
	struct source *gone;
	struct pool *pools;
	size_t pool_count, loan_count;
	size_t ahead_count;      /* of the loans */
	size_t seat_count;       /* of the loans, those without a cell */
	uint64_t again;          /* loans of those who had kept their seats */
	uint64_t served, missed; /* by pools that are gone */
	int64_t next_look_us;
	int64_t granted_us;     /* when a cell was last lent */
	int64_t alone_since_us; /* 0: a daemon is there */
	bool is_low_on_memory;
	bool has_one_owner; /* the daemon says so: all its clients are the same to it */
	bool is_over;
};

/* Cells that stand ready, of all pools. */
size_t lender_parked(const struct lender *lender);

/* Sends its account as JSON; the whole of it names each cell that is out. */
void lender_tell(const struct lender *lender, int fd, bool is_whole);
