/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runner that was started in a cell that its client holds. The kernel likes to wake a process
 * where it last ran, also if that is where its client is at work: roused ahead of its job it would
 * wait there until the client has nothing more to do. So it is kept off the client's processor
 * until its job comes. Other payloads leave it by themselves (payload_settle()), and choose their
 * processors meanwhile: what is given back to them here would undo that.
 */
#pragma once

#include <sched.h>
#include <sys/types.h>

struct elsewhere {
	int pidfd; /* owned; -1: there is none */
	pid_t pid;
	int cpu;        /* that it is kept off */
	cpu_set_t cpus; /* what it gets back; empty: it has all of them */
};

/* Keeps who is in the cell's group beside its init off the caller's processor. */
void elsewhere_begin(struct elsewhere *elsewhere, int init_pidfd, int procs_fd);

/* The caller may be on another one by now. */
void elsewhere_follow(struct elsewhere *elsewhere);

/* Gives back what was taken. The program is not to see that anything was. */
void elsewhere_end(struct elsewhere *elsewhere);

void elsewhere_close(struct elsewhere *elsewhere);
