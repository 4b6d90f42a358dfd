/* SPDX-License-Identifier: Apache-2.0 */
/* A guest of the template itself, from which it learns what its guests do (habit.c). */
#pragma once

#include <sys/types.h>

struct trial {
	int gate_fds[2]; /* owned; ours, the guest's */
};

/* Gets everything ready that a guest finds, its job included. 0 or -errno. */
int trial_open(struct trial *trial, const char *code);

/* Waits for the guest's last word, notes its habits and ends it. */
void trial_watch(struct trial *trial, pid_t pid);
void trial_close(struct trial *trial);
