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
#include "interpreter/merge.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/huge.h"
#include "base/text.h"
#include "interpreter/data.h"
#include "interpreter/pack.h"

enum {
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
} own;

static char *map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static bool add_stretch(void)
{
	own.next = huge_map(STRETCH);
	own.end = own.next ? own.next + STRETCH : NULL;
	return own.next;
}

static void *alloc_arena(void *context, size_t size)
{
	(void)context;
	if (own.is_over || size > HUGE || HUGE % size != 0)
		return map(size);
	if ((size_t)(own.end - own.next) < size && !add_stretch())
		return map(size);
	own.next += size;
	return own.next - size;
}

static void free_arena(void *context, void *arena, size_t size)
{
	(void)context;
	(void)munmap(arena, size);
}

void merge_begin(void)
{
	static struct arena_allocator arenas = { .alloc = alloc_arena, .free = free_arena };
	void (*set)(struct arena_allocator *) = NULL;
	*(void **)&set = dlsym(RTLD_DEFAULT, "PyObject_SetArenaAllocator");
	own.function = *(void **)&set;
	if (set && sysconf(_SC_PAGESIZE) == PAGE)
		set(&arenas);
}

void merge_memory(int proc_fd)
{
	own.is_over = true;
	if (own.next < own.end)
		(void)munmap(own.next, (size_t)(own.end - own.next));
	/* some room stays: each guest would have to ask for it again */
	(void)malloc_trim(HEAP_ROOM);
	if (sysconf(_SC_PAGESIZE) != PAGE)
		return;
	text_join_all();
	text_place((uintptr_t)own.function, text_replace);
	/* what every guest needs of these is in fifteen places, a fault each */
	text_place((uintptr_t)gnu_get_libc_version, text_hand_down);
	text_place((uintptr_t)merge_begin, text_hand_down);
	data_settle(own.function);
	pack_memory(proc_fd);
}
