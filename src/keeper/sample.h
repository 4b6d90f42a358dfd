/* SPDX-License-Identifier: Apache-2.0 */
/* Where no cgroup counts, look: what the processes of a cell use right now. */
#pragma once

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

/* What the processes of a cell, the ended ones included, have read and written so far. */
void sample_io(int init_pidfd, int64_t *ret_read, int64_t *ret_written);

/* Whose pidfd it is; -1: nobody's any more. */
pid_t sample_pid(int pidfd);
