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

/* Asks for an init, in all its namespaces and the v2 group, if any; takes what was asked for. Both
 * descriptors are the caller's, and -1 when it failed: then the template's report tells why. */
int zygote_ask_init(struct zygote *zygote, int cgroup_fd, struct err *err);
int zygote_take_init(struct zygote *zygote, int *ret_pidfd, int *ret_sock, struct err *err);

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
