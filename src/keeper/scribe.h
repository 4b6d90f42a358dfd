/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scribes: child processes of the keeper that copy the files of sessions (snapshot.h), because the
 * keeper's loop waits for nobody. They are forked when they are first needed, and stay.
 */
#pragma once

#include "base/loop.h"
#include "keeper/snapshot.h"

enum scribe_work { SCRIBE_NONE = 0, SCRIBE_TAKE, SCRIBE_RESTORE, SCRIBE_DROP };

struct scribe_order {
	enum scribe_work work;
	uint32_t id, previous;
	uint32_t uid, gid; /* of the workspace */
};

/* Told when an order was carried out, or could not be. */
typedef void scribe_told(
	void *context, int r, const struct snapshot_report *report, const struct err *err);

enum { SCRIBES_MAX = 4 };

struct scribe_wait;

struct scribe {
	struct scribes *scribes;
	struct watch watch;
	int fd; /* owned; -1: there is none */
	pid_t pid;
	struct scribe_wait *first, *last; /* owned; orders that are under way, in their order */
	size_t count;
};

struct scribes {
	struct loop *loop;
	struct scribe items[SCRIBES_MAX];
};

void scribes_init(struct scribes *scribes, struct loop *loop);
void scribes_done(struct scribes *scribes);

/* Gives an order. `told` is called once, from the loop or, when it cannot be given, at once; NULL:
 * nobody wants to know. Orders that nobody was told of yet may be carried out in any order. */
void scribes_order(struct scribes *scribes, const struct workspace *workspace,
	const struct scribe_order *order, scribe_told *told, void *context);

/* Nobody with this context wants to know any more. */
void scribes_forget(struct scribes *scribes, const void *context);
