/* SPDX-License-Identifier: Apache-2.0 */
/* Which pages every guest of a template uses. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Notes what a process has touched since it was forked from this one; proc_fd is /proc. */
void habit_note(int proc_fd, pid_t pid);

/* While that process still shares its memory with us: has forks copy what it has written to at
 * once, as far as the kernel can and cells stay small. */
void habit_pin(void);

/* In a guest: takes possession of all these pages at once. */
void habit_follow(void);

/* The same of a session, whose turns are alike: notes what it has touched since it was last copied,
 * before it is copied again; or what a copy of this process has touched; */
void habit_note_own_turn(void);
void habit_note_turn(pid_t pid);

/* and takes possession of that afterwards; in a copy, of all that it will need. */
void habit_follow_turn(void);
void habit_follow_all(void);
