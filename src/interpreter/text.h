/* SPDX-License-Identifier: Apache-2.0 */
/* The code of an interpreter and its libraries, in as few pieces as can be. */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_RUNS_MAX = 8 };

/* Segments of an object that are only read, with no gap between them. */
struct run {
	uintptr_t start, end;
	size_t segment_count;
	bool has_code;
};

/* Joins the code of all that is loaded, merges that of the program or library which has `function` in
 * it into large pages, and has forks hand down that of libc and our own. What the kernel does not do
 * stays as it is. */
void text_merge(const void *function);

/* Its parts: returns how many there are; */
size_t text_find(const struct dl_phdr_info *object, struct run runs[TEXT_RUNS_MAX]);

/* makes one mapping of a run that has code; */
void text_join(const struct run *run);

/* puts a copy in the place of those large pages that a run fills. 0, or -errno: nothing changed. */
int text_replace(const struct run *run);

/* the same for all of a run that has code, which need not fill one. */
int text_hand_down(const struct run *run);
