/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/huge.h"
#include "base/own.h"
#include "base/text.h"

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

TEST(neighbours_that_are_only_read_are_one_run)
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
	ASSERT_EQ(find(segments, COUNT_OF(segments), 0x1000, runs), 1);
	ASSERT_EQ(runs[0].start, 0x401000);
	ASSERT_EQ(runs[0].end, 0x941000);
	ASSERT_EQ(runs[0].segment_count, 3);
	ASSERT(runs[0].has_code);
}

TEST(what_is_written_to_or_not_there_is_in_none)
{
	struct run runs[TEXT_RUNS_MAX];
	const ElfW(Phdr) apart[] = {
		segment(PF_R, 0x400000, 0x500000),
		segment(PF_R | PF_X, 0x501000, 0x600000),
		segment(PF_R | PF_W, 0x600000, 0x601000),
		segment(PF_R, 0x601000, 0x700000),
		segment(PF_X, 0x700000, 0x800000),
	};
	/* the last page is both, and the loader gives it to the later one */
	const ElfW(Phdr) shared[] = {
		segment(PF_R | PF_X, 0x400000, 0x5ff800),
		segment(PF_R | PF_W, 0x5ff900, 0x800000),
	};
	ASSERT_EQ(find(apart, COUNT_OF(apart), 0, runs), 3);
	ASSERT_EQ(runs[0].end, 0x500000);
	ASSERT_EQ(runs[1].start, 0x501000);
	ASSERT_EQ(runs[1].end, 0x600000);
	ASSERT_EQ(runs[2].start, 0x601000);
	ASSERT_EQ(runs[2].end, 0x700000);
	ASSERT(!runs[0].has_code && runs[1].has_code && !runs[2].has_code);
	ASSERT_EQ(find(shared, COUNT_OF(shared), 0, runs), 1);
	ASSERT_EQ(runs[0].end, 0x5ff000);
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

static unsigned char byte_at(size_t i)
{
	return (unsigned char)(i * 7 + i / 4096);
}

/* Memory that can only be read, each page another one. */
static unsigned char *map_bytes(size_t size)
{
	unsigned char *at =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(at != MAP_FAILED);
	for (size_t i = 0; i < size; i++)
		at[i] = byte_at(i);
	ASSERT_EQ(mprotect(at, size, PROT_READ), 0);
	return at;
}

static void check_bytes(const unsigned char *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		ASSERT_EQ(at[i], byte_at(i));
}

TEST(a_run_keeps_its_bytes_and_is_not_writable)
{
	char protection[5];
	size_t size = 3 * (size_t)HUGE;
	unsigned char *at = map_bytes(size);
	const struct run run = { (uintptr_t)at, (uintptr_t)at + size, 1, true };
	const struct run small = { run.start, run.start + HUGE - PAGE, 1, true };
	uintptr_t first = huge_round_up(run.start);
	ASSERT_EQ(text_replace(&small), 0); /* there is nothing to do */
	int r = text_replace(&run);
	check_bytes(at, size);
	read_protection(first, protection);
	if (r == 0)
		ASSERT_STR(protection, "r-xp");
	else /* this kernel has no large pages, or none left */
		ASSERT(strpbrk(protection, "wx") == NULL);
	(void)munmap(at, size);
}

TEST(only_code_with_neighbours_is_joined)
{
	char protection[5];
	unsigned char *at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(at != MAP_FAILED);
	const uintptr_t start = (uintptr_t)at;
	text_join(&(struct run){ start, start + PAGE, 1, true });
	text_join(&(struct run){ start, start + PAGE, 2, false });
	ASSERT(mprotect(at, PAGE, PROT_READ) == 0);
	read_protection(start, protection);
	ASSERT(strpbrk(protection, "wx") == NULL);
	text_join(&(struct run){ start, start + PAGE, 2, true });
	read_protection(start, protection);
	ASSERT_STR(protection, "r-xp");
}

TEST(a_small_run_is_handed_down_whole)
{
	char protection[5];
	const size_t size = 5 * (size_t)PAGE;
	unsigned char *at = map_bytes(size);
	const struct run constants = { (uintptr_t)at, (uintptr_t)at + size, 1, false };
	const struct run code = { (uintptr_t)at, (uintptr_t)at + size, 1, true };
	ASSERT_EQ(text_hand_down(&constants), 0);
	read_protection(code.start, protection);
	ASSERT_STR(protection, "r--p");
	int r = text_hand_down(&code);
	check_bytes(at, size);
	read_protection(code.start, protection);
	ASSERT_STR(protection, r == 0 ? "r-xp" : "r--p"); /* without large pages: as it was */
	(void)munmap(at, size);
}

/* Whether the mapping that has this in it is a file's. */
static bool is_of_file(uintptr_t address)
{
	char line[512];
	auto_file FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		char *rest = NULL;
		uintptr_t start = strtoull(line, &rest, 16);
		uintptr_t end = strtoull(rest + 1, NULL, 16);
		if (start <= address && address < end)
			return strchr(line, '/') != NULL;
	}
	return false;
}

TEST(who_is_put_elsewhere_runs_on)
{
	static const char own[] = "a constant is in the same object as the code";
	ASSERT(is_of_file((uintptr_t)is_of_file));
	text_join_all();
	text_place((uintptr_t)own, text_replace);
	text_place(0, text_hand_down);
	ASSERT(is_of_file((uintptr_t)is_of_file));
	text_place((uintptr_t)own, text_hand_down);
	ASSERT_EQ(abs(-1), 1);
	size_t size = 2 * (size_t)HUGE;
	char *at = huge_map(size);
	ASSERT(at);
	if (huge_collapse(at, size)) /* this kernel has large pages */
		ASSERT(!is_of_file((uintptr_t)is_of_file));
	(void)munmap(at, size);
}
