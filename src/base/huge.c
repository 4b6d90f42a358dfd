/* SPDX-License-Identifier: Apache-2.0 */
#include "base/huge.h"

#include <sys/mman.h>

#ifndef MADV_COLLAPSE /* since 6.1 */
#define MADV_COLLAPSE 25
#endif

enum { PAGES = HUGE / PAGE };

uintptr_t huge_round_up(uintptr_t at)
{
	return at + (HUGE - at % HUGE) % HUGE;
}

static void give_back(char *start, const char *end)
{
	if (start < end)
		(void)munmap(start, (size_t)(end - start));
}

char *huge_map(size_t size)
{
	char *at =
		mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	char *start = at + (huge_round_up((uintptr_t)at) - (uintptr_t)at);
	give_back(at, start);
	give_back(start + size, at + size + HUGE);
	return start;
}

bool huge_is_full(char *start, size_t size)
{
	unsigned char present[PAGES];
	size_t count = 0;
	for (size_t at = 0; at < size; at += HUGE) {
		size_t part = size - at < HUGE ? size - at : HUGE;
		if (mincore(start + at, part, present) < 0)
			return false; /* some of it was given back */
		for (size_t i = 0; i < part / PAGE; i++)
			count += present[i] & 1;
	}
	return count >= size / PAGE * 3 / 4;
}

bool huge_collapse(char *start, size_t size)
{
	return madvise(start, size, MADV_COLLAPSE) == 0;
}
