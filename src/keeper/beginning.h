/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of a cell: slot, groups, and an init in its namespaces, as every cell of one policy
 * has them. Who keeps a zygote has one asked for ahead of need, and more where cells are needed
 * sooner than the zygote brings their inits: a lender that waits for one serves nobody meanwhile.
 */
#pragma once

#include "keeper/cgroup.h"
#include "keeper/machine.h"
#include "keeper/network.h"
#include "keeper/zygote.h"

enum { BEGINNINGS_MAX = 4 };

struct beginning {
	struct newborn newborn;
	bool has_heard;          /* of it */
	struct network *network; /* owned; that one's; NULL: it is not watched */
	struct slot slot;        /* owned; a lender's; fd -1: the keeper's */
	struct cgroup group;     /* owned; without limits yet */
	bool has_group;
};
#define BEGINNING_NONE                                       \
	(struct beginning)                                   \
	{                                                    \
		.newborn = NEWBORN_NONE, .slot = {.fd = -1 } \
	}

/* Those that were asked for and no cell has taken, the oldest first: in this order the zygote
 * answers. Starts as zeros. */
struct beginnings {
	struct beginning items[BEGINNINGS_MAX];
	size_t count;
	size_t more; /* than one that should be there: 0 in quiet times */
};

struct keeper;
struct cell;

/* A slot, if cells have their own, and the groups of a dead cell with it, if any will do. */
int beginning_find_berth(struct keeper *keeper, struct beginning *beginning, struct err *err);

/* Gives the cell the oldest, as far as it got; waits for its init. False: there is none, or its
 * init failed. */
bool beginning_take(struct cell *cell);

/* The same for a cell that has all of it but its init, when nothing was asked for. */
int beginning_ask_now(struct cell *cell, struct err *err);

/* Asks for what should be there; what cannot be had now is tried again for the next cell. */
void beginnings_ask(struct keeper *keeper);

/* Hears of those that came, without waiting for any. */
void beginnings_look(struct keeper *keeper);

/* Whether the zygote is at work on one that is to be looked at when it comes. */
bool beginnings_are_awaited(const struct keeper *keeper);

/* Lets one go when there are more than quiet times need; lets all go. */
void beginnings_shrink(struct keeper *keeper);
void beginnings_done(struct keeper *keeper);
