/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's end of a zygote. */
#pragma once

#include <sched.h>
#include <sys/types.h>

#include "jail/jail.h"

struct zygote {
	int sock; /* owned; closing it ends the zygote and its cells */
	pid_t pid;
	int pidfd;      /* owned; only of one that becomes its cell's init */
	cpu_set_t cpus; /* what it gets back when it is called back; empty: it was not sent away */
};

/* How a zygote comes to be. */
enum zygote_form {
	ZYGOTE_PROGRAM = 0, /* the program, for a supervisor that stays and may grow */
	ZYGOTE_COPY,        /* a copy of us, who are small and will be gone soon */
	ZYGOTE_BORN,        /* a copy in the namespaces of its one cell, whose init it becomes */
};

/* Starts a zygote; the program is found beside ours or in ../lib/hotcell. `cgroup_fd` is the v2
 * group of one that is born, or -1. */
int zygote_start(struct zygote *zygote, enum zygote_form form, enum jail_mode mode, int cgroup_fd,
	struct err *err);
void zygote_stop(struct zygote *zygote);

/* One that is born works beside us, on another processor, until it is called back. */
void zygote_call_back(struct zygote *zygote);

/* `owner_pidfd`: the zygote in whose user namespace an interpreter is to work, or -1. */
int zygote_template(struct zygote *zygote, int page_fd, int owner_pidfd, struct err *err);

/* An init that waits for its cell. */
struct newborn {
	int sock;       /* owned; closing it ends one that was not asked to raise anything; what it
			   says of its cell comes from there, too */
	int pidfd;      /* owned; -1: it failed, and the template's report tells why */
	int network_fd; /* owned; where it is the first; -1: it is not, or nobody may follow */
	pid_t pid;
};
#define NEWBORN_NONE                                                 \
	(struct newborn)                                             \
	{                                                            \
		.sock = -1, .pidfd = -1, .network_fd = -1, .pid = -1 \
	}

/* Asks for an init, in all its namespaces and the v2 group, if any, and in a network that an
 * earlier cell left, if one is given (-1); then takes what was asked for. */
int zygote_ask_init(struct zygote *zygote, struct newborn *newborn, int network_fd, int cgroup_fd,
	struct err *err);
int zygote_take_init(struct zygote *zygote, struct newborn *newborn, struct err *err);

/* Ends one that nobody took, and waits for it. */
void newborn_done(struct newborn *newborn);

/* Starts an interpreter that becomes a zygote by itself (its first argument sees to that), and has
 * it fork a payload into the cell of an init, with enum guest_fd. */
int zygote_host(struct zygote *zygote, const struct strings *argv, struct err *err);
int zygote_invite_guest(struct zygote *zygote, const int *fds, size_t fd_count, struct err *err);

/* Has the init at `sock`, or the zygote that becomes one, raise a cell. */
int zygote_raise(int sock, const int *fds, size_t fd_count, struct err *err);

/* The page a cell and we share, and the descriptor to send it by (both owned by the caller). */
int page_make(size_t size, void **ret_page, int *ret_fd, struct err *err);
void page_free(void *page, size_t size);

/* Why a cell could not be raised, from the page's report. Returns -1. */
int page_failure(const struct cell_page *page, struct err *err);
