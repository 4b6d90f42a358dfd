/* SPDX-License-Identifier: Apache-2.0 */
/* Which pages every guest of a template uses. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Notes what a process has touched since it was forked from this one; proc_fd is /proc. */
void habit_note(int proc_fd, pid_t pid);

/* Whether something was noted. */
bool habit_is_known(void);

/* In a guest: takes possession of all these pages at once. */
void habit_follow(void);
