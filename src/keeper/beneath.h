/* SPDX-License-Identifier: Apache-2.0 */
/* The one way the keeper opens a path that somebody else may have shaped. */
#pragma once

#include <stdint.h>

/* openat2 that stays below dir_fd on the same file system and follows no link. fd or -errno. */
int beneath_open(int dir_fd, const char *path, uint64_t flags, unsigned int mode);
