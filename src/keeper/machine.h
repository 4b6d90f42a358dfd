/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine gives us: privilege, a place for slots, cgroups. */
#pragma once

#include "jail/jail.h"

enum jail_mode machine_mode(void);

enum {
	SLOT_COUNT = 4096,
	SLOT_UID_BASE = 200000, /* as root, slot N is uid and gid 200000+N */
};

/* A slot is a number no other cell has: a byte of the lock file, locked as long as a descriptor
 * of it is open in the supervisor or the cell's init. The kernel frees it when both are dead. */
struct slot {
	int number;
	int fd; /* owned */
};

int slot_take(struct slot *slot, struct err *err);
void slot_free(struct slot *slot);

/* Takes this very slot, if nobody holds it. */
bool slot_take_number(struct slot *slot, int number);

/* The same for who looks at many: the descriptor, opened when it is -1, serves one after the other
 * until slot_free(). */
bool slot_try(struct slot *slot, int number);
void slot_give_back(struct slot *slot);
