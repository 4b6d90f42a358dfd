/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept between runs: a directory of this user alone, and what is removed from it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The directory for what is worth remembering, made when needed and nobody else's to change: the
 * user's cache, or the system's for root. Its path is owned by the caller. -1: there is none. */
int cache_open(char **ret_path, struct err *err);

/* A directory of it that nobody else may even read, made when needed. -1: there is none. */
int cache_open_private(const char *name, struct err *err);

/* Whether what was opened is ours, and nobody else's to change. */
bool cache_is_safe(int fd);

/* rm -r below a directory that is ours alone. */
void cache_remove(int dir_fd, const char *name);

/* Notes that an entry was used today. */
void cache_touch(int fd);

/* Removes what was prepared or found out and was not used for a month. */
void cache_sweep(int cache_fd);

/* For names of entries. A reader must make sure that it met what it was looking for. */
uint64_t cache_hash(const void *data, size_t len);
