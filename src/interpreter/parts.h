/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room know of each other. */
#pragma once

#include "jail/jail.h"

/* thread.c: what libc told the kernel about its only thread, which a clone that libc does not know
 * of would lose. */
struct thread_note {
	void *tid_at;      /* where libc keeps the thread's id */
	void *robust_list; /* and its list of locks to give back */
	size_t robust_size;
};

int thread_note_take(struct thread_note *ret_note, struct err *err);
void thread_note_restore(const struct thread_note *note);

/* serve.c: waits at the gate for the job and takes it; nothing of ours stays. 0; 1: it comes soon;
 * or less. True in *ret_has_fds: with it, or ahead of it, the program's descriptors came, which are
 * in their places. */
int guest_take_job(struct job *ret_job, bool *ret_has_fds);
