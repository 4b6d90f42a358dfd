/* SPDX-License-Identifier: Apache-2.0 */
/* Where no cgroup counts, look: what the processes of a cell use right now. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sample {
	int64_t memory; /* bytes */
	int64_t cpu_us;
	int64_t processes;
};

/* Sums over init's descendants, found through init's pidfd, and adds the files of the workspace.
 * Above `memory_limit` it looks closer, so that pages shared by processes count once. Zeros when
 * init is gone. */
void sample_take(int init_pidfd, int workspace_fd, int64_t memory_limit, struct sample *sample);

/* What the processes of a cell, the ended ones included, have read and written so far. procs_fd is
 * the list that its group has; -1: none, they are looked for one after the other. */
void sample_io(int init_pidfd, int procs_fd, int64_t *ret_read, int64_t *ret_written);

/* The same for a cell that has nobody but an init and its payload, whose accounts were opened while
 * nobody waited: two files in place of a dozen. Those of a cell without a payload stay -1. False:
 * one of them is gone, and its account with it. */
enum { SAMPLE_ACCOUNTS = 2 };
void sample_open_accounts(int procs_fd, int fds[SAMPLE_ACCOUNTS]);
bool sample_accounts(const int fds[SAMPLE_ACCOUNTS], int64_t *ret_read, int64_t *ret_written);

/* Whether the list of a group names two processes; -1: it does not. */
bool sample_is_pair(int procs_fd);

/* What a process has read and written so far, with those that it buried. */
struct account {
	int fds[SAMPLE_ACCOUNTS]; /* owned; for sample_accounts(); -1: none */
	int64_t read_bytes, write_bytes;
};

/* `has_servant`: the process only passes on what its first child says, which is counted too. */
void account_open(struct account *account, pid_t pid, bool has_servant);
void account_close(struct account *account);

/* Who is in a group beside the cell's init; -1: nobody, or more than one. */
pid_t sample_other(int init_pidfd, int procs_fd);

/* Whose pidfd it is; -1: nobody's any more. */
pid_t sample_pid(int pidfd);
