/* SPDX-License-Identifier: Apache-2.0 */
/* The processes around us, as /proc tells of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t pid;
	pid_t parent;
	pid_t group;
	int64_t started; /* in ticks since boot */
	bool ignores_interrupt;
	bool catches_interrupt;
};

/* Calls `take` for each process of the group that `leader` leads, and for its children elsewhere.
 */
void processes_each(
	pid_t leader, void (*take)(void *context, const struct process *process), void *context);

int64_t processes_now(void); /* in ticks since boot */
