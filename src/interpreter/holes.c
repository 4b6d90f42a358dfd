/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is freed while modules load leaves holes all over an interpreter's memory, and each one that
 * a guest uses is a page more to copy. Filled for good, they send a guest to new pages, which it
 * shares with nobody and fills one after the other.
 */
#define Py_LIMITED_API 0x03070000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <malloc.h>
#include <stdint.h>

#include "interpreter/holes.h"

enum {
	SMALL_MAX = 512, /* what Python allocates from pools of one size each */
	SMALL_STEP = 16,
	POOL_HEAD = 48,
	FILL_MAX = 1 << 20,
	LARGE_MAX = 1 << 16,
};

/* A pool's first block means that no other pool of this size had room. */
static void fill_pools(size_t size, uintptr_t pool_size)
{
	for (int i = 0; i < FILL_MAX; i++) {
		uintptr_t block = (uintptr_t)PyObject_Malloc(size);
		if (block == 0 || (block & (pool_size - 1)) == POOL_HEAD)
			return;
	}
}

/* Where libc cuts from when it has nothing else: its last chunk, which is never given back. */
static uintptr_t find_top(void)
{
	for (int i = 0; i < FILL_MAX; i++) {
		size_t rest = mallinfo2().keepcost;
		uintptr_t chunk = (uintptr_t)malloc(LARGE_MAX);
		if (mallinfo2().keepcost != rest)
			return chunk;
	}
	return UINTPTR_MAX;
}

static void fill_chunks(size_t size, uintptr_t top)
{
	for (int i = 0; i < FILL_MAX; i++) {
		void *chunk = malloc(size);
		if ((uintptr_t)chunk < top)
			continue;
		free(chunk); /* it goes back to where it was cut from */
		return;
	}
}

void holes_fill(long version)
{
	uintptr_t pool_size = version >= 0x030a0000 ? 1 << 14 : 1 << 12;
	uintptr_t top = find_top();
	for (size_t size = LARGE_MAX; size > SMALL_MAX; size -= size / 8)
		fill_chunks(size, top);
	for (size_t size = SMALL_MAX; size > 0; size -= SMALL_STEP)
		fill_chunks(size, top);
	for (size_t size = SMALL_STEP; size <= SMALL_MAX; size += SMALL_STEP)
		fill_pools(size, pool_size);
}
