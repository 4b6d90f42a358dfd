/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a program and its libraries, in as few pieces as can be. */
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

/* Whether the address is in a program or library. */
bool object_has(const struct dl_phdr_info *object, uintptr_t address);

/* For the program or library that has this address in it: puts its runs, by one of the two below,
 * in places that suit forks better. What the kernel does not do stays as it is. */
void text_place(uintptr_t address, int (*put)(const struct run *run));

/* A copy in the place of those large pages that a run fills. 0, or -errno: nothing changed. */
int text_replace(const struct run *run);

/* The same for all of a run that has code, which need not fill one. */
int text_hand_down(const struct run *run);

/* Makes one mapping of each run that has code, in all that is loaded. */
void text_join_all(void);

/* The parts of these: returns how many runs there are; */
size_t text_find(const struct dl_phdr_info *object, struct run runs[TEXT_RUNS_MAX]);

/* makes one mapping of a run that has code. */
void text_join(const struct run *run);
