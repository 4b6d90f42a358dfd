/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runner that was started in a cell that its client holds. The kernel likes to wake a process
 * where it last ran, also if that is where its client is at work: roused ahead of its job it would
 * wait there until the client has nothing more to do. So it is kept off the client's processor
 * until its job comes. Other payloads leave it by themselves (payload_settle()), when they are
 * handed what they need; their client may have gone after them by the time they are roused.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct elsewhere {
	int pidfd; /* owned; -1: there is none */
	pid_t pid;
	int cpu;        /* that it is kept off */
	cpu_set_t cpus; /* what it gets back; empty: it has all of them */
};

/* Finds who is in the cell's group beside its init, and touches nobody. False: there is no one, or
 * more than one. */
bool elsewhere_find(struct elsewhere *elsewhere, int init_pidfd, int procs_fd);

/* Keeps it off the caller's processor. */
void elsewhere_begin(struct elsewhere *elsewhere, int init_pidfd, int procs_fd);

/* The caller may be on another one by now. */
void elsewhere_follow(struct elsewhere *elsewhere);

/* One that was only found has left the processor its client was on then. Where that is another now,
 * keeps it off that one for the moment in which it is roused; these are all that it may use, a bit
 * for each, 0: nobody knows. */
void elsewhere_meet(struct elsewhere *elsewhere, uint64_t processors);

/* Gives back what was taken. The program is not to see that anything was. */
void elsewhere_end(struct elsewhere *elsewhere);

void elsewhere_close(struct elsewhere *elsewhere);
