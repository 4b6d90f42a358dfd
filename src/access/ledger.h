/* SPDX-License-Identifier: Apache-2.0 */
/* What the porter needs of the ledger besides. */
#pragma once

#include <sys/stat.h>

#include "access/access.h"

/* A number that changes when somebody else has written to it. */
int ledger_version(struct ledger *ledger, int64_t *ret_version, struct err *err);

/* Adds to what the token of that name has used on that day (since 1970). */
int ledger_spend(
	struct ledger *ledger, const char *name, int64_t day, int64_t cpu_us, struct err *err);

/* The same as when it was opened. */
void ledger_set_patience(struct ledger *ledger, int ms);

/* The file as it was opened; and as it is there now: 0, or -errno. */
void ledger_stat(const struct ledger *ledger, struct stat *ret_st);
int ledger_look(struct stat *ret_st);

int64_t ledger_today(void);
