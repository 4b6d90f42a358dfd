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
 * Of these pages, most are copied right at the fork (base/pin.c), whether or not there will be time
 * later. What is copied so is for good: a cell that stands ready is to be small, so there is a
 * limit.
 *
 * A list that is wrong costs time or memory, nothing else.
 */
#include "interpreter/habit.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/huge.h"
#include "base/own.h"
#include "base/pin.h"
#include "interpreter/proc_text.h"

#ifndef MADV_POPULATE_READ /* since 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum {
	STRETCHES_MAX = 2000,
	ENTRIES = 512,           /* of the kernel's list, read at once */
	READ_GAP = 16,           /* pages that it is cheaper to look up too than to begin anew */
	PINS_MAX = 160,          /* pages, which every guest then has for itself */
	TURN_LEAST = 160,        /* pages: whoever touched fewer has had no turn, */
	TURN_MOST = 1024,        /* and whoever touched more had one that is not like others */
	TURN_MAPPING = 64 << 20, /* what is larger is data */
	TURN_USES = 16,          /* what is followed is not seen any more, and so looked for anew */
};

/* Of an entry of /proc/PID/pagemap. */
#define IS_PRESENT (UINT64_C(1) << 63)
#define IS_FILE (UINT64_C(1) << 61)
#define IS_OWN (UINT64_C(1) << 56) /* nobody else has this page */

struct stretch {
	uintptr_t start, end;
	int advice;
};

/* A page of these that nobody writes to costs nothing. */
struct stretches {
	size_t count;
	struct stretch items[STRETCHES_MAX];
};

/* What guests touch, and what turns do. */
static struct stretches guest, turn;
static unsigned int turn_uses; /* how often that was followed */
static bool was_copied;        /* before that, pages of our own are no turn's */

/* A look at the pages of a process. */
struct look {
	struct stretches *to;
	int pages_fd;
	bool is_turn;      /* of a session, which may have much data */
	size_t page_count; /* that it has written to */
};

static int advice_for(uint64_t entry)
{
	if (!(entry & IS_PRESENT))
		return -1;
	if (entry & IS_FILE)
		return MADV_POPULATE_READ;
	return entry & IS_OWN ? MADV_POPULATE_WRITE : -1;
}

static void note_page(struct look *look, uintptr_t at, int advice)
{
	struct stretches *to = look->to;
	struct stretch *last = to->count > 0 ? &to->items[to->count - 1] : NULL;
	uintptr_t gap = advice == MADV_POPULATE_READ ? (uintptr_t)READ_GAP * PAGE : 0;
	look->page_count += advice == MADV_POPULATE_WRITE;
	if (last && last->advice == advice && at >= last->end && at - last->end <= gap)
		last->end = at + PAGE;
	else if (to->count < STRETCHES_MAX)
		to->items[to->count++] = (struct stretch){ at, at + PAGE, advice };
}

static void note_mapping(struct look *look, uintptr_t start, uintptr_t end)
{
	uint64_t entries[ENTRIES];
	for (uintptr_t at = start; at < end;) {
		size_t left = (end - at) / PAGE;
		size_t wanted = left < ENTRIES ? left : ENTRIES;
		ssize_t n = pread(look->pages_fd, entries, wanted * sizeof(entries[0]),
			(off_t)(at / PAGE * sizeof(entries[0])));
		if (n <= 0)
			return;
		for (size_t i = 0; i < (size_t)n / sizeof(entries[0]); i++, at += PAGE) {
			int advice = advice_for(entries[i]);
			if (advice >= 0)
				note_page(look, at, advice);
		}
	}
}

/* Not with malloc(): what it would leave behind in the template is what guests are learnt from.
 * False: it is not known. */
static bool note_process(int proc_fd, const char *process, struct look *look)
{
	char name[64];
	struct proc_text text;
	(void)snprintf(name, sizeof(name), "%s/pagemap", process);
	auto_fd int pages_fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
	(void)snprintf(name, sizeof(name), "%s/maps", process);
	look->to->count = 0;
	look->pages_fd = pages_fd;
	if (!proc_text_open(&text, proc_fd, name))
		return false;
	for (const char *line; (line = proc_text_line(&text));) {
		struct mapping mapping;
		/* what is shared is none of a guest's memory */
		if (mapping_read(&mapping, line) && mapping.is_readable && mapping.is_private &&
			(!look->is_turn || mapping.end - mapping.start <= TURN_MAPPING))
			note_mapping(look, mapping.start, mapping.end);
	}
	proc_text_close(&text);
	return look->to->count < STRETCHES_MAX && sysconf(_SC_PAGESIZE) == PAGE;
}

void habit_note(int proc_fd, pid_t pid)
{
	char process[16];
	struct look look = { .to = &guest };
	(void)snprintf(process, sizeof(process), "%d", (int)pid);
	if (!note_process(proc_fd, process, &look))
		guest.count = 0;
}

static void follow(const struct stretches *stretches, int advice)
{
	for (size_t i = 0; i < stretches->count; i++) {
		const struct stretch *stretch = &stretches->items[i];
		if (stretch->advice != advice)
			continue;
		/* one that is not there is passed over */
		/* NOLINTBEGIN(performance-no-int-to-ptr): the kernel tells addresses as numbers */
		(void)madvise(
			(void *)stretch->start, stretch->end - stretch->start, stretch->advice);
		/* NOLINTEND(performance-no-int-to-ptr) */
	}
}

/* The first of those that are written to; returns how many stretches. */
static size_t choose_pins(struct iovec pins[PINS_MAX])
{
	size_t count = 0;
	size_t left = (size_t)PINS_MAX * PAGE;
	for (size_t i = 0; i < guest.count && left > 0; i++) {
		const struct stretch *stretch = &guest.items[i];
		size_t size = stretch->end - stretch->start;
		if (stretch->advice != MADV_POPULATE_WRITE)
			continue;
		size = size < left ? size : left;
		left -= size;
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): as below */
		pins[count++] = (struct iovec){ (void *)stretch->start, size };
	}
	return count;
}

/* No guest has to take these any more. */
static void forget_pins(const struct iovec *pins, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0, pin = 0; i < guest.count; i++) {
		struct stretch stretch = guest.items[i];
		if (pin < count && stretch.advice == MADV_POPULATE_WRITE)
			stretch.start += pins[pin++].iov_len;
		if (stretch.start < stretch.end)
			guest.items[kept++] = stretch;
	}
	guest.count = kept;
}

void habit_pin(void)
{
	struct iovec pins[PINS_MAX];
	size_t count = choose_pins(pins);
	auto_fd int fd = count > 0 ? pin_open() : -1;
	if (fd < 0)
		return;
	/* a large page would be copied as a whole; as long as others share that, writing to a part
	 * of it makes it a page of its own */
	for (size_t i = 0; i < count; i++)
		(void)madvise(pins[i].iov_base, pins[i].iov_len, MADV_POPULATE_WRITE);
	if (pin_pages(fd, pins, count) < 0)
		return;
	forget_pins(pins, count);
	(void)take_fd(&fd); /* as long as there are guests to be forked */
}

void habit_follow(void)
{
	follow(&guest, MADV_POPULATE_WRITE);
	follow(&guest, MADV_POPULATE_READ);
}

/* A turn that is not like others changes nothing. */
static void note_turn(const char *process)
{
	static struct stretches found;
	struct look look = { .to = &found, .is_turn = true };
	if (!note_process(AT_FDCWD, process, &look) || look.page_count < TURN_LEAST ||
		look.page_count > TURN_MOST)
		return;
	memcpy(turn.items, found.items, found.count * sizeof(found.items[0]));
	turn.count = found.count;
	turn_uses = 0;
}

void habit_note_turn(pid_t pid)
{
	char process[32];
	(void)snprintf(process, sizeof(process), "/proc/%d", (int)pid);
	if (turn.count == 0)
		note_turn(process);
}

void habit_note_own_turn(void)
{
	if (turn_uses >= TURN_USES)
		turn.count = turn_uses = 0;
	else if (was_copied && turn.count == 0)
		note_turn("/proc/self");
	was_copied = true;
}

void habit_follow_turn(void)
{
	turn_uses++;
	follow(&turn, MADV_POPULATE_WRITE);
}

/* What guests write to is left alone: it would be taken for what the next turn did. */
void habit_follow_all(void)
{
	follow(turn.count > 0 ? &turn : &guest, MADV_POPULATE_READ);
	habit_follow_turn();
}
