/* SPDX-License-Identifier: Apache-2.0 */
/* Directories and files of the state directory that are ours alone. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

/* Opens DIR/NAME… of the state directory, each a directory of ours; `names` ends with NULL. With
 * `is_made` what is missing is made, else *ret_fd is -1 when there is none. */
int state_open(const char *const *names, bool is_made, int *ret_fd, struct err *err);

/* Opens a file of ours in such a directory: no link, nothing but a file, no second name. 0, or
 * -errno; -EPERM: it is not ours alone. *ret_st is what fstat() says of it. */
int state_open_file(int dir_fd, const char *name, int flags, int *ret_fd, struct stat *ret_st);

/* Locks it against others who do so, until it is closed. 0, or -ETIMEDOUT when somebody does not
 * let go of it, or another -errno. */
int state_lock(int fd);

/* Lets go of it before that. 0 or -errno. */
int state_unlock(int fd);
