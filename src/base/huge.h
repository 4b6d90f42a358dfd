/* SPDX-License-Identifier: Apache-2.0 */
/* Large pages of memory that is a process's own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAGE = 4096, HUGE = 2 << 20 };

uintptr_t huge_round_up(uintptr_t at);

/* Memory for large pages, of a size that is a multiple of theirs; NULL: there is none. */
char *huge_map(size_t size);

/* Whether so much of a range is in use that it would not become too heavy. */
bool huge_is_full(char *start, size_t size);

/* Makes them of a range that is aligned; false: not all of them. */
bool huge_collapse(char *start, size_t size);
