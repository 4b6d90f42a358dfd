/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel likes to keep a new process where its parent is, and lets it wait there until that has
 * nothing more to do. A parent that has work of its own sends its child to another processor, and
 * lets it go wherever it likes a little later.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* *ret_cpus is what the process is to get back: empty when it was not sent away. */
void cpus_send_away(pid_t process, cpu_set_t *ret_cpus);

/* Keeps a process to all of these processors but one. False: there is no other, or it may not be
 * done. */
bool cpus_keep_off(pid_t process, const cpu_set_t *cpus, int cpu);

/* Gives a process, 0 for the caller, its processors back. */
void cpus_give_back(pid_t process, const cpu_set_t *cpus);

/* If the caller is on this processor, it goes to another one that it may use. */
void cpus_leave(int cpu);

void cpus_of_bits(uint64_t bits, cpu_set_t *set);

/* Keeps a process, 0 for the caller, to the processors of these bits; 0 changes nothing. Where it
 * may not be done, all is as before. */
void cpus_place(pid_t process, uint64_t bits);

/* A patient process waits until whoever is at work has had its turn, as do those it makes. Only who
 * has no other policy becomes one. */
void cpus_make_patient(pid_t process);
void cpus_make_impatient(pid_t process);
