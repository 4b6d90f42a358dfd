/* SPDX-License-Identifier: Apache-2.0 */
/* Where no cgroup counts, look: what the processes of a cell use right now. */
#pragma once

#include <stdint.h>

struct sample {
	int64_t memory; /* bytes resident, shared pages counted once per process */
	int64_t cpu_us;
	int64_t processes;
};

/* Sums over init's descendants, found through init's pidfd. Zeros when it is gone. */
void sample_take(int init_pidfd, struct sample *sample);
