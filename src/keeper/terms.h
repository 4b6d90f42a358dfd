/* SPDX-License-Identifier: Apache-2.0 */
/* A cell as it goes from its lender to who borrows it, or has a turn in it: numbers, and
 * descriptors in this order; then those of its groups, the one that tells of lost memory, the
 * gauges and accounts that were opened, the workspace, the listener of its filter, and those of a
 * program that was started: stdin, stdout, stderr, channel. */
#pragma once

#include "keeper/cell.h"
#include "loan/loan.h"

enum loan_fd {
	LOAN_FD_PAGE = 0, /* the cell's; what its template raised is told there too */
	LOAN_FD_INIT,     /* pidfd */
	LOAN_FD_STATUS,
	LOAN_FD_GATE,
	LOAN_FD_COUNT,
	LOAN_FD_TURN_COUNT = LOAN_FD_STATUS, /* of these, with a turn */
};

/* Whose the cell is that a client asked for ahead: keeper and client settle it on the cell's page,
 * for neither waits for the other. It goes from AHEAD to one of the two, and stays there. */
enum hold {
	HOLD_NONE = 0, /* it was asked for when it was needed */
	HOLD_AHEAD,
	HOLD_TAKEN,   /* the client uses it */
	HOLD_REVOKED, /* the keeper has it back */
};

struct loan_terms {
	uint32_t form; /* enum cell_form: perhaps a lesser one than was asked for */
	uint32_t is_warm;
	uint32_t mode;
	uint32_t cgroup; /* enum cgroup_kind */
	uint32_t group_count;
	uint32_t controllers[CGROUP_FDS_MAX];
	uint32_t has_oom;
	uint32_t has_gauges;
	uint32_t account_count;
	uint32_t has_workspace;
	uint32_t is_ready; /* the payload has told at the gate that its walls stand */
	uint32_t has_listener;
	uint32_t is_turn;
	int64_t earlier_read, earlier_written; /* what the accounts had before a turn */
};

/* Hands the cell over the connection; the lender keeps it, too. 0 or -errno. */
int terms_send(int conn_fd, struct cell *cell, bool is_warm);

/* Whether it went from AHEAD to `hold`: the other side was not faster. */
bool terms_settle(struct cell *cell, enum hold hold);

/* Lets a client into a session's cell for one turn, with words about the session. 0 or -errno. */
int terms_send_turn(int conn_fd, const struct cell *cell, const struct account *account,
	uint32_t turn, const char *words);

/* Makes a keeper with the cell that came, whose descriptors are taken from the message, or takes
 * the one that is there with a cell that is not raised. Less: there is none any more. */
int terms_take(struct loan_message *message, const struct policy *policy, struct keeper **keeper,
	struct err *err);

/* The same for a turn, into the cell that a keeper has for it; *ret_words point into the message.
 */
int terms_take_turn(struct loan_message *message, struct cell *cell, const char **ret_words,
	size_t *ret_len, struct err *err);
