/* SPDX-License-Identifier: Apache-2.0 */
/* The lender: what the program hotcell-keeper does. */
#pragma once

#include "base/err.h"

struct lend_options {
	const char *socket;  /* where the daemon finds us */
	long most_parked;    /* cells that stand ready, of all pools together */
	long most_sessions;  /* sessions held at once */
	long linger_seconds; /* how long to wait for a new daemon when the last one is gone */
};

/* Lends until it is told to end. */
int lend(const struct lend_options *options, struct err *err);
