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
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpreter/text.h"

#ifndef MADV_COLLAPSE /* since 6.1 */
#define MADV_COLLAPSE 25
#endif

enum {
	PAGE = 4096,
	HUGE = 2 << 20,
	PAGES = HUGE / PAGE,
	LEAST = PAGES * 3 / 4, /* a stretch with fewer pages in use would become too heavy */
	STRETCHES_MAX = 1024,
};

/* Not part of the stable interface, and the same since Python 3.4. */
struct arena_allocator {
	void *context;
	void *(*alloc)(void *context, size_t size);
	void (*free)(void *context, void *arena, size_t size);
};

static struct {
	char *stretches[STRETCHES_MAX];
	size_t count;
	char *next, *end; /* of the last one, what is not given out */
	char *heap;       /* where libc's began to grow */
	void *function;   /* one of the interpreter's own */
	bool is_over;     /* what comes now is a guest's */
} huge;

static char *map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static char *round_up(char *at)
{
	return at + (HUGE - (uintptr_t)at % HUGE) % HUGE;
}

static void give_back(char *start, const char *end)
{
	if (start < end)
		(void)munmap(start, (size_t)(end - start));
}

static bool add_stretch(void)
{
	char *at = huge.count < STRETCHES_MAX ? map(2 * (size_t)HUGE) : NULL;
	if (!at)
		return false;
	char *start = round_up(at);
	give_back(at, start);
	give_back(start + HUGE, at + 2 * (size_t)HUGE);
	huge.stretches[huge.count++] = start;
	huge.next = start;
	huge.end = start + HUGE;
	return true;
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
	huge.heap = sbrk(0);
	huge.function = *(void **)&set;
	if (set && sysconf(_SC_PAGESIZE) == PAGE)
		set(&arenas);
}

static bool is_full(char *start)
{
	unsigned char present[PAGES];
	size_t count = 0;
	if (mincore(start, HUGE, present) < 0)
		return false; /* some of it was given back */
	for (size_t i = 0; i < PAGES; i++)
		count += present[i] & 1;
	return count >= LEAST;
}

static void merge(char *start)
{
	if (is_full(start))
		(void)madvise(start, HUGE, MADV_COLLAPSE); /* else it stays as it is */
}

void huge_merge(void)
{
	const char *heap_end = sbrk(0);
	huge.is_over = true;
	give_back(huge.next, huge.end);
	if (sysconf(_SC_PAGESIZE) != PAGE)
		return;
	if (huge.function)
		text_merge(huge.function);
	for (size_t i = 0; i < huge.count; i++)
		merge(huge.stretches[i]);
	for (char *at = round_up(huge.heap); at + HUGE <= heap_end; at += HUGE)
		merge(at);
}
