/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is freed while modules load leaves holes all over an interpreter's memory, and each one that
 * a guest uses is a page more to copy. Filled for good, they send a guest to new pages, which it
 * shares with nobody and fills one after the other.
 *
 * One page that guests write to has the fork copy 512 entries in place of the one of a large page.
 * So modules begin at a large page, as far as libc's memory goes, and what comes after them at
 * another one, as far as Python's goes: most of theirs stay whole.
 */
#define Py_LIMITED_API 0x03070000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/huge.h"
#include "interpreter/holes.h"

enum {
	SMALL_MAX = 512, /* what Python allocates from pools of one size each */
	SMALL_STEP = 16,
	POOL_HEAD = 48,
	FILL_MAX = 1 << 20,
	LARGE_MAX = 1 << 16,
	ANEW_MAX = 8 << 20, /* bytes to fill until there is a large page */
	KEPT_MAX = 80,      /* freed objects of one kind, which Python keeps for the next ones */
	KEPT_TUPLES = 20,   /* the same for each size below this */
};

/* NOLINTBEGIN(clang-analyzer-unix.Malloc): what fills a hole is never given back */

static uintptr_t anew; /* where the new pages begin; 0: nowhere in particular */

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

static bool is_old(const void *object)
{
	return object && (uintptr_t)object < anew;
}

/* Nobody is to look at it, the garbage collector neither. True: it was old. */
static bool leave(PyObject *container)
{
	if (container)
		PyObject_GC_UnTrack(container);
	return is_old(container);
}

/* What Python keeps of objects that are gone may be old. */
static void use_kept(void)
{
	for (int i = 0; i < KEPT_MAX; i++) {
		PyObject *dict = PyDict_New();
		if (dict) /* its keys are kept apart from it */
			(void)PyDict_SetItemString(dict, "a", Py_None);
		(void)leave(dict);
	}
	for (int i = 0; i < KEPT_MAX && leave(PyList_New(0)); i++)
		;
	for (int i = 0; i < KEPT_MAX && is_old(PyFloat_FromDouble(i)); i++)
		;
	for (Py_ssize_t size = 1; size < KEPT_TUPLES; size++)
		for (int i = 0; i < KEPT_MAX && leave(PyTuple_New(size)); i++)
			;
	PyErr_Clear();
}

static uintptr_t find_pool_size(void)
{
	PyObject *version = PySys_GetObject("hexversion");
	return version && PyLong_AsLong(version) >= 0x030a0000 ? 1 << 14 : 1 << 12;
}

void holes_fill(void)
{
	uintptr_t pool_size = find_pool_size();
	uintptr_t top = find_top();
	use_kept();
	for (size_t size = LARGE_MAX; size > SMALL_MAX; size -= size / 8)
		fill_chunks(size, top);
	for (size_t size = SMALL_MAX; size > 0; size -= SMALL_STEP)
		fill_chunks(size, top);
	for (size_t size = SMALL_STEP; size <= SMALL_MAX; size += SMALL_STEP)
		fill_pools(size, pool_size);
}

/* Until a block is the first one of a large page, to which arenas are aligned (merge.c): no older
 * arena has a free pool then. */
static uintptr_t begin_arena(void)
{
	for (int i = 0; i < ANEW_MAX / SMALL_MAX; i++) {
		uintptr_t block = (uintptr_t)PyObject_Malloc(SMALL_MAX);
		if (block % HUGE == POOL_HEAD)
			return block - POOL_HEAD;
	}
	return 0;
}

void holes_end_modules(void)
{
	anew = begin_arena();
	holes_fill();
}

/* Nobody writes to what is left out, so it is not there. */
void holes_begin_modules(void)
{
	uintptr_t top = find_top();
	uintptr_t end = huge_round_up(top);
	while (top < end) {
		size_t size = end - top < LARGE_MAX ? end - top : LARGE_MAX;
		uintptr_t chunk = (uintptr_t)malloc(size);
		top = chunk < top ? end : chunk + size;
	}
}

/* NOLINTEND(clang-analyzer-unix.Malloc) */
