/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fork does for a page and the end of the copy undoes, it does to the page's own record
 * somewhere in memory: 0.16 µs for each of those that a template got one by one. Pages of one large
 * page have their records side by side and are counted as one, even where they are mapped singly:
 * 0.04 µs. So memory that fills a large page becomes one where it is, and what is not aligned for
 * that is copied into large pages elsewhere, which take its place piece by piece.
 *
 * Nothing is packed that this code itself writes to: its stack, and where libc keeps what it knows
 * of the thread.
 */
#include "interpreter/pack.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/huge.h"
#include "base/own.h"
#include "interpreter/proc_text.h"

enum {
	PIECES_MAX = 128,
	PIECE_LEAST = 32 * PAGE,    /* for less, a mapping more is too much */
	GAP_MAX = 2 * PAGE,         /* more than this of nothing ends a piece */
	PIECES_SIZE_MAX = 64 << 20, /* what is larger is data */
};

struct piece {
	char *start;
	size_t size;
	int protection;
};

struct pack {
	struct piece pieces[PIECES_MAX];
	size_t count;
	size_t size; /* of all */
};

/* NOLINTBEGIN(performance-no-int-to-ptr): the kernel tells addresses as numbers */
static bool is_there(uintptr_t page)
{
	unsigned char present = 0;
	return mincore((void *)page, PAGE, &present) == 0 && (present & 1);
}

static void add_piece(struct pack *pack, uintptr_t start, uintptr_t end, int protection)
{
	struct piece piece = { (char *)start, end - start, protection };
	if (piece.size < PIECE_LEAST || pack->count == PIECES_MAX ||
		pack->size + piece.size > PIECES_SIZE_MAX)
		return;
	pack->pieces[pack->count++] = piece;
	pack->size += piece.size;
}

/* Where nobody has been, a guest gets an empty page sooner than a copy of one. */
static void add_pieces(struct pack *pack, uintptr_t start, uintptr_t end, int protection)
{
	uintptr_t first = start; /* from here to `last` pages are there */
	uintptr_t last = start;
	for (uintptr_t at = start; at < end; at += PAGE) {
		if (!is_there(at))
			continue;
		if (at - last > GAP_MAX) {
			add_piece(pack, first, last, protection);
			first = at;
		}
		last = at + PAGE;
	}
	add_piece(pack, first, last, protection);
}

static bool merge(uintptr_t start)
{
	return huge_is_full((char *)start, HUGE) && huge_collapse((char *)start, HUGE);
}
/* NOLINTEND(performance-no-int-to-ptr) */

static bool is_ours(const struct mapping *mapping)
{
	const uintptr_t own[] = { (uintptr_t)__builtin_frame_address(0),
		(uintptr_t)__builtin_thread_pointer() };
	for (size_t i = 0; i < COUNT_OF(own); i++)
		if (mapping->start <= own[i] && own[i] < mapping->end)
			return true;
	return false;
}

static void take(struct pack *pack, const struct mapping *mapping)
{
	int protection = PROT_READ | (mapping->is_writable ? PROT_WRITE : 0);
	bool can_merge = mapping->is_writable && !mapping->is_file;
	uintptr_t rest = mapping->start;
	for (uintptr_t at = huge_round_up(rest); can_merge && at + HUGE <= mapping->end;
		at += HUGE) {
		if (!merge(at))
			continue;
		add_pieces(pack, rest, at, protection);
		rest = at + HUGE;
	}
	add_pieces(pack, rest, mapping->end, protection);
}

/* "VmFlags: rd wr mr mw me ac sd": whoever asked for more, not to be copied at a fork for example,
 * is to have it. */
static bool is_plain(const char *flags)
{
	static const char plain[] = "rd wr mr mw me ac sd ";
	for (; strlen(flags) >= 3; flags += 3) {
		char flag[4] = { flags[0], flags[1], ' ' };
		if (!strstr(plain, flag))
			return false;
	}
	return true;
}

static void look(struct pack *pack, struct proc_text *text)
{
	static const char flags[] = "VmFlags: ";
	static const char anonymous[] = "Anonymous: ";
	struct mapping mapping = { 0 };
	unsigned long size_kb = 0;
	for (char *line; (line = proc_text_line(text));) {
		if (strncmp(line, anonymous, strlen(anonymous)) == 0)
			size_kb = strtoul(line + strlen(anonymous), NULL, 10);
		else if (strncmp(line, flags, strlen(flags)) != 0)
			(void)mapping_read(&mapping, line);
		else if (size_kb > 0 && mapping.is_private && mapping.is_readable &&
			 !mapping.is_executable && !is_ours(&mapping) &&
			 is_plain(line + strlen(flags)))
			take(pack, &mapping);
	}
}

/* From here to the end nothing but the stack is written to. */
static void replace(const struct pack *pack)
{
	size_t size = huge_round_up(pack->size);
	char *copy = pack->count > 0 ? huge_map(size) : NULL;
	char *at = copy;
	if (!copy)
		return;
	for (size_t i = 0; i < pack->count; at += pack->pieces[i++].size)
		memcpy(at, pack->pieces[i].start, pack->pieces[i].size);
	at = copy;
	if (huge_collapse(copy, size)) {
		for (size_t i = 0; i < pack->count; at += pack->pieces[i++].size) {
			const struct piece *piece = &pack->pieces[i];
			if (mprotect(at, piece->size, piece->protection) == 0)
				(void)mremap(at, piece->size, piece->size,
					MREMAP_MAYMOVE | MREMAP_FIXED, piece->start);
		}
	}
	(void)munmap(copy, size);
}

void pack_memory(int proc_fd)
{
	struct pack pack = { .count = 0 };
	struct proc_text text;
	if (!proc_text_open(&text, proc_fd, "self/smaps"))
		return;
	look(&pack, &text);
	proc_text_close(&text);
	replace(&pack);
}
