/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/own.h"
#include "interpreter/text.h"

enum { HUGE = 2 << 20 };

static ElfW(Phdr) segment(unsigned int flags, uintptr_t start, uintptr_t end)
{
	return (ElfW(Phdr)){
		.p_type = PT_LOAD, .p_flags = flags, .p_vaddr = start, .p_memsz = end - start
	};
}

static size_t find(const ElfW(Phdr) * segments, size_t count, uintptr_t base, struct run *runs)
{
	const struct dl_phdr_info object = {
		.dlpi_addr = base, .dlpi_phdr = segments, .dlpi_phnum = (ElfW(Half))count
	};
	return text_find(&object, runs);
}

TEST(neighbours_that_are_only_read_fill_large_pages_together)
{
	/* as Debian links python3.11 */
	const ElfW(Phdr) segments[] = {
		{ .p_type = PT_INTERP, .p_flags = PF_R, .p_vaddr = 0x400318, .p_memsz = 0x1c },
		segment(PF_R, 0x400000, 0x41e468),
		segment(PF_R | PF_X, 0x41f000, 0x6cee49),
		segment(PF_R, 0x6cf000, 0x93f0a0),
		segment(PF_R | PF_W, 0x940dc8, 0xac3b78),
	};
	struct run runs[TEXT_RUNS_MAX];
	ASSERT_EQ(find(segments, COUNT_OF(segments), 0, runs), 1);
	ASSERT_EQ(runs[0].start, 0x400000);
	ASSERT_EQ(runs[0].end, 0x800000);
	/* at another address less of it is aligned */
	ASSERT_EQ(find(segments, COUNT_OF(segments), 0x1000, runs), 1);
	ASSERT_EQ(runs[0].start, 0x600000);
	ASSERT_EQ(runs[0].end, 0x800000);
}

TEST(what_is_written_to_or_not_there_is_in_none)
{
	struct run runs[TEXT_RUNS_MAX];
	const ElfW(Phdr) gap[] = {
		segment(PF_R, 0x400000, 0x500000),
		segment(PF_R | PF_X, 0x501000, 0x600000),
	};
	const ElfW(Phdr) written[] = {
		segment(PF_R | PF_X, 0x400000, 0x500000),
		segment(PF_R | PF_W, 0x500000, 0x501000),
		segment(PF_R, 0x501000, 0x600000),
	};
	/* the last page is both, and the loader gives it to the later one */
	const ElfW(Phdr) shared[] = {
		segment(PF_R | PF_X, 0x400000, 0x5ff800),
		segment(PF_R | PF_W, 0x5ff900, 0x800000),
	};
	const ElfW(Phdr) unreadable[] = { segment(PF_X, 0x400000, 0x800000) };
	ASSERT_EQ(find(gap, COUNT_OF(gap), 0, runs), 0);
	ASSERT_EQ(find(written, COUNT_OF(written), 0, runs), 0);
	ASSERT_EQ(find(shared, COUNT_OF(shared), 0, runs), 0);
	ASSERT_EQ(find(unreadable, COUNT_OF(unreadable), 0, runs), 0);
}

TEST(no_more_runs_are_told_than_there_is_room_for)
{
	ElfW(Phdr) segments[TEXT_RUNS_MAX + 2];
	struct run runs[TEXT_RUNS_MAX];
	for (size_t i = 0; i < COUNT_OF(segments); i++)
		segments[i] = segment(PF_R, 4 * i * HUGE, (4 * i + 1) * HUGE);
	ASSERT_EQ(find(segments, COUNT_OF(segments), 0, runs), TEXT_RUNS_MAX);
}

/* Of the mapping that begins at `start`: "r-xp". */
static void read_protection(uintptr_t start, char protection[5])
{
	char line[512];
	auto_file FILE *maps = fopen("/proc/self/maps", "re");
	protection[0] = '\0';
	while (maps && fgets(line, sizeof(line), maps))
		if (strtoull(line, NULL, 16) == start)
			(void)snprintf(protection, 5, "%.4s", strchr(line, ' ') + 1);
}

TEST(a_run_keeps_its_bytes_and_is_not_writable)
{
	char protection[5];
	size_t size = 3 * (size_t)HUGE;
	unsigned char *at =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(at != MAP_FAILED);
	for (size_t i = 0; i < size; i++)
		at[i] = (unsigned char)(i * 7 + i / 4096);
	ASSERT_EQ(mprotect(at, size, PROT_READ), 0);
	struct run run = { .start = ((uintptr_t)at + HUGE - 1) / HUGE * HUGE };
	run.end = run.start + HUGE;
	int r = text_replace(&run);
	for (size_t i = 0; i < size; i++)
		ASSERT_EQ(at[i], (unsigned char)(i * 7 + i / 4096));
	read_protection(run.start, protection);
	if (r == 0)
		ASSERT_STR(protection, "r-xp");
	else /* this kernel has no large pages, or none left */
		ASSERT(strchr(protection, 'w') == NULL && strchr(protection, 'x') == NULL);
	(void)munmap(at, size);
}

TEST(who_is_merged_runs_on)
{
	text_merge((const void *)(uintptr_t)&text_find);
	text_merge((const void *)(uintptr_t)&printf);
	text_merge(NULL);
	ASSERT_EQ(abs(-1), 1);
}
