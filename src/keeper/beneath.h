/* SPDX-License-Identifier: Apache-2.0 */
/* The one way the keeper opens a path that somebody else may have shaped. */
#pragma once

#include <stdint.h>

/* openat2 that stays below dir_fd on the same file system and follows no link. fd or -errno. */
int beneath_open(int dir_fd, const char *path, uint64_t flags, unsigned int mode);

/* Copies `size` bytes, holes as holes, and takes what was data off the budget. 0, -EDQUOT when
 * that is used up, or -errno. */
int copy_bytes(int from_fd, int to_fd, int64_t size, int64_t *budget);
