/* SPDX-License-Identifier: Apache-2.0 */
/* A file written aside and named when it is whole: readers of its directory see all of it or
 * nothing, and a crash leaves nothing where the file system has files without a name. */
#pragma once

#include <sys/types.h>

struct aside {
	int fd;        /* owned; write to it */
	int dir_fd;    /* borrowed */
	char name[32]; /* not empty: it had to be made under this name */
};

/* In `dir_fd`, which must outlive it. 0 or -errno. */
int aside_open(struct aside *aside, int dir_fd, mode_t mode);

/* Gives it its name, replacing what is there in one step, and closes it. 0 or -errno. */
int aside_name(struct aside *aside, const char *name);

/* Gives it a name that is free, else -EEXIST: then another name may be tried. */
int aside_name_new(struct aside *aside, const char *name);

/* Closes it and leaves nothing. Fine after aside_name() and after a failed aside_open(). */
void aside_drop(struct aside *aside);
