/* SPDX-License-Identifier: Apache-2.0 */
/* The code of an interpreter in large pages. */
#pragma once

#include <link.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_RUNS_MAX = 8 };

struct run {
	uintptr_t start, end;
};

/* Merges what is only read of the program or library that has `function` in it, as far as it fills
 * large pages; the rest stays as it is. */
void text_merge(const void *function);

/* Its parts: what of an object is only read and fills large pages; returns how many runs. */
size_t text_find(const struct dl_phdr_info *object, struct run runs[TEXT_RUNS_MAX]);

/* Puts a copy in large pages in the place of a run. 0 or -errno: nothing has changed. */
int text_replace(const struct run *run);
