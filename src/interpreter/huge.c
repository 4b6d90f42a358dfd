/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fork copies an entry for each page, and the end of the copy takes each one back: 19 µs for a
 * megabyte of small pages, 1 µs for one of large pages. What loaded modules leave in memory is
 * hardly ever written to again, so a template's is merged into large pages before it is forked. A
 * guest that does write somewhere still copies 4 KiB, no more.
 *
 * Python takes its memory in arenas wherever the kernel puts them, and a large page must begin at a
 * multiple of its size: so arenas are cut from stretches that do.
 */
#include "interpreter/huge.h"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpreter/pack.h"
#include "interpreter/text.h"

#ifndef MADV_COLLAPSE /* since 6.1 */
#define MADV_COLLAPSE 25
#endif

enum {
	PAGES = HUGE / PAGE,
	STRETCH = 16 * HUGE, /* each is a mapping of its own */
	HEAP_ROOM = 1 << 18,
};

/* Not part of the stable interface, and the same since Python 3.4. */
struct arena_allocator {
	void *context;
	void *(*alloc)(void *context, size_t size);
	void (*free)(void *context, void *arena, size_t size);
};

static struct {
	char *next, *end; /* of the last stretch, what is not given out */
	void *function;   /* one of the interpreter's own */
	bool is_over;     /* what comes now is a guest's */
} huge;

static char *map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

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
	char *at = map(size + HUGE);
	if (!at)
		return NULL;
	char *start = at + (huge_round_up((uintptr_t)at) - (uintptr_t)at);
	give_back(at, start);
	give_back(start + size, at + size + HUGE);
	return start;
}

static bool add_stretch(void)
{
	huge.next = huge_map(STRETCH);
	huge.end = huge.next ? huge.next + STRETCH : NULL;
	return huge.next;
}

static void *alloc_arena(void *context, size_t size)
{
	(void)context;
	if (huge.is_over || size > HUGE || HUGE % size != 0)
		return map(size);
	if ((size_t)(huge.end - huge.next) < size && !add_stretch())
		return map(size);
	huge.next += size;
	return huge.next - size;
}

static void free_arena(void *context, void *arena, size_t size)
{
	(void)context;
	(void)munmap(arena, size);
}

void huge_begin(void)
{
	static struct arena_allocator arenas = { .alloc = alloc_arena, .free = free_arena };
	void (*set)(struct arena_allocator *) = NULL;
	*(void **)&set = dlsym(RTLD_DEFAULT, "PyObject_SetArenaAllocator");
	huge.function = *(void **)&set;
	if (set && sysconf(_SC_PAGESIZE) == PAGE)
		set(&arenas);
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

void huge_merge(int proc_fd)
{
	huge.is_over = true;
	give_back(huge.next, huge.end);
	/* some room stays: each guest would have to ask for it again */
	(void)malloc_trim(HEAP_ROOM);
	if (sysconf(_SC_PAGESIZE) != PAGE)
		return;
	if (huge.function)
		text_merge(huge.function);
	pack_memory(proc_fd);
}
