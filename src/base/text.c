/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's code comes from a file. The entries for a file's pages are not copied at a fork:
 * each copy looks them up again, one fault for sixteen of them, and takes each back at its end. A
 * large page is one entry, and one that is not a file's is handed down. In a file it would have to
 * be all code or all constants, and no distribution aligns them so; memory of our own can be both,
 * and has a copy. It is made elsewhere and takes the place of the original at once, so nobody ever
 * finds another byte there.
 *
 * What does not fill a large page where it is can be handed down as well: to copy an entry of each
 * of its pages takes less than to look a few up, as long as they are parts of one large page.
 *
 * Other libraries stay as they are, but each has three mappings that are only read, its code
 * between constants, and a fork copies mappings one by one, too: with one protection they are one.
 *
 * By both, constants beside code become executable, as they were before linkers kept them apart;
 * nothing is writable that was not.
 */
#include "base/text.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/huge.h"

static uintptr_t round_up_page(uintptr_t at)
{
	return (at + PAGE - 1) / PAGE * PAGE;
}

static void add_segment(
	const struct dl_phdr_info *object, size_t i, struct run *runs, size_t *count)
{
	const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
	uintptr_t start = object->dlpi_addr + segment->p_vaddr;
	uintptr_t end = round_up_page(start + segment->p_memsz);
	struct run *last = *count > 0 ? &runs[*count - 1] : NULL;
	start -= start % PAGE;
	/* where two share a page, the later one has it */
	if (last && last->end > start)
		last->end = start;
	if ((segment->p_flags & (PF_R | PF_W)) != PF_R)
		return;
	if (!last || last->end != start) {
		if (*count == TEXT_RUNS_MAX)
			return;
		last = &runs[(*count)++];
		*last = (struct run){ .start = start };
	}
	last->end = end;
	last->segment_count++;
	last->has_code |= (segment->p_flags & PF_X) != 0;
}

bool object_has(const struct dl_phdr_info *object, uintptr_t address)
{
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD &&
			address - object->dlpi_addr - segment->p_vaddr < segment->p_memsz)
			return true;
	}
	return false;
}

size_t text_find(const struct dl_phdr_info *object, struct run runs[TEXT_RUNS_MAX])
{
	size_t count = 0;
	for (size_t i = 0; i < object->dlpi_phnum; i++) /* in the order of their addresses */
		if (object->dlpi_phdr[i].p_type == PT_LOAD)
			add_segment(object, i, runs, &count);
	return count;
}

/* NOLINTBEGIN(performance-no-int-to-ptr): the loader tells addresses as numbers */
void text_join(const struct run *run)
{
	if (run->segment_count > 1 && run->has_code)
		(void)mprotect((void *)run->start, run->end - run->start, PROT_READ | PROT_EXEC);
}

/* A sanitizer has bytes between constants that memcpy() may not read; `volatile`, so that no
 * compiler makes one of this. */
__attribute__((no_sanitize("address"))) static void copy_pages(
	volatile uint64_t *to, const uint64_t *from, size_t size)
{
	for (size_t i = 0; i < size / sizeof(*from); i++)
		to[i] = from[i];
}

static int put_copy(uintptr_t from, uintptr_t to)
{
	char *text = (char *)from;
	size_t size = to - from;
	size_t room = huge_round_up(size);
	if (sysconf(_SC_PAGESIZE) != PAGE)
		return -ENOTSUP;
	char *copy = huge_map(room);
	if (!copy)
		return -errno;
	copy_pages((uint64_t *)copy, (const uint64_t *)text, size);
	__builtin___clear_cache(copy, copy + size);
	bool is_put = huge_collapse(copy, room) &&
		      mprotect(copy, size, PROT_READ | PROT_EXEC) == 0 &&
		      mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, text) == text;
	int saved_errno = errno;
	if (!is_put)
		(void)munmap(copy, room);
	else if (room > size)
		(void)munmap(copy + size, room - size);
	return is_put ? 0 : -saved_errno;
}

int text_replace(const struct run *run)
{
	uintptr_t from = huge_round_up(run->start);
	uintptr_t to = run->end - run->end % HUGE;
	return from < to ? put_copy(from, to) : 0;
}

int text_hand_down(const struct run *run)
{
	return run->has_code ? put_copy(run->start, run->end) : 0;
}
/* NOLINTEND(performance-no-int-to-ptr) */

static int join(struct dl_phdr_info *object, size_t size, void *context)
{
	struct run runs[TEXT_RUNS_MAX];
	size_t count = text_find(object, runs);
	(void)size;
	(void)context;
	for (size_t i = 0; i < count; i++)
		text_join(&runs[i]);
	return 0;
}

void text_join_all(void)
{
	(void)dl_iterate_phdr(join, NULL);
}

struct search {
	uintptr_t wanted; /* an address in the object */
	struct run runs[TEXT_RUNS_MAX];
	size_t count;
};

static int look(struct dl_phdr_info *object, size_t size, void *context)
{
	struct search *search = context;
	(void)size;
	if (!object_has(object, search->wanted))
		return 0;
	search->count = text_find(object, search->runs);
	return 1;
}

void text_place(uintptr_t address, int (*put)(const struct run *run))
{
	struct search search = { .wanted = address };
	(void)dl_iterate_phdr(look, &search);
	for (size_t i = 0; i < search.count; i++)
		(void)put(&search.runs[i]);
}
