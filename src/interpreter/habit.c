/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guest shares its template's memory until it writes there, and each first write is a fault and a
 * copy: some 170 pages for the shortest program, 3 µs each. All guests of a template touch the same
 * ones, for they are copies of one process and do the same. So one of them runs a program of ours
 * to its end while nobody waits (trial.c), and the kernel's own list tells which pages became its
 * own; every other one takes these before it stands at its gate, all at once, which is cheaper too.
 * What is only read, code above all, is not copied at a fork but looked up again: it is noted as
 * well.
 *
 * A list that is wrong costs time or memory, nothing else.
 */
#include "interpreter/habit.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/own.h"

#ifndef MADV_POPULATE_READ /* since 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum {
	STRETCHES_MAX = 2000,
	PAGE = 4096,
	ENTRIES = 512,      /* of the kernel's list, read at once */
	READ_GAP = 16,      /* pages that it is cheaper to look up too than to begin anew */
	MAPS_MAX = 1 << 18, /* of text */
};

/* Of an entry of /proc/PID/pagemap. */
#define IS_PRESENT (UINT64_C(1) << 63)
#define IS_FILE (UINT64_C(1) << 61)
#define IS_OWN (UINT64_C(1) << 56) /* nobody else has this page */

struct stretch {
	uintptr_t start, end;
	int advice;
};

static struct {
	size_t count;
	bool is_known;
	struct stretch stretches[STRETCHES_MAX];
} habit;

bool habit_is_known(void)
{
	return habit.is_known;
}

static int advice_for(uint64_t entry)
{
	if (!(entry & IS_PRESENT))
		return -1;
	if (entry & IS_FILE)
		return MADV_POPULATE_READ;
	return entry & IS_OWN ? MADV_POPULATE_WRITE : -1;
}

static void note_page(uintptr_t at, int advice)
{
	struct stretch *last = habit.count > 0 ? &habit.stretches[habit.count - 1] : NULL;
	uintptr_t gap = advice == MADV_POPULATE_READ ? (uintptr_t)READ_GAP * PAGE : 0;
	if (last && last->advice == advice && at >= last->end && at - last->end <= gap)
		last->end = at + PAGE;
	else if (habit.count < STRETCHES_MAX)
		habit.stretches[habit.count++] = (struct stretch){ at, at + PAGE, advice };
}

static void note_mapping(int fd, uintptr_t start, uintptr_t end)
{
	uint64_t entries[ENTRIES];
	for (uintptr_t at = start; at < end;) {
		size_t left = (end - at) / PAGE;
		size_t wanted = left < ENTRIES ? left : ENTRIES;
		ssize_t n = pread(fd, entries, wanted * sizeof(entries[0]),
			(off_t)(at / PAGE * sizeof(entries[0])));
		if (n <= 0)
			return;
		for (size_t i = 0; i < (size_t)n / sizeof(entries[0]); i++, at += PAGE) {
			int advice = advice_for(entries[i]);
			if (advice >= 0)
				note_page(at, advice);
		}
	}
}

/* "7f1c2e000000-7f1c2e021000 rw-p …": what is shared is none of a guest's memory. */
static void note_line(int fd, const char *line)
{
	char *rest = NULL;
	uintptr_t start = strtoull(line, &rest, 16);
	uintptr_t end = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;
	if (end > start && strlen(rest) > 5 && rest[1] == 'r' && rest[4] == 'p')
		note_mapping(fd, start, end);
}

/* Not with malloc(): what it would leave behind in the template is what guests are learnt from. */
void habit_note(int proc_fd, pid_t pid)
{
	char name[64];
	size_t len = 0;
	ssize_t n = 1;
	(void)snprintf(name, sizeof(name), "%d/maps", (int)pid);
	auto_fd int maps_fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
	(void)snprintf(name, sizeof(name), "%d/pagemap", (int)pid);
	auto_fd int pages_fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
	char *text =
		mmap(NULL, MAPS_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (text == MAP_FAILED)
		return;
	for (; maps_fd >= 0 && n > 0 && len<MAPS_MAX - 1; len += n> 0 ? (size_t)n : 0)
		n = read(maps_fd, text + len, MAPS_MAX - 1 - len);
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		note_line(pages_fd, line);
	}
	(void)munmap(text, MAPS_MAX);
	habit.is_known =
		habit.count > 0 && habit.count < STRETCHES_MAX && sysconf(_SC_PAGESIZE) == PAGE;
}

void habit_follow(void)
{
	for (size_t i = 0; habit.is_known && i < habit.count; i++) {
		const struct stretch *stretch = &habit.stretches[i];
		/* one that is not there is passed over */
		/* NOLINTBEGIN(performance-no-int-to-ptr): the kernel tells addresses as numbers */
		(void)madvise(
			(void *)stretch->start, stretch->end - stretch->start, stretch->advice);
		/* NOLINTEND(performance-no-int-to-ptr) */
	}
}
