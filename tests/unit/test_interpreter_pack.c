/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/huge.h"
#include "base/own.h"
#include "interpreter/pack.h"

enum { SIZE = 3 << 20, STEP = 512 };

static unsigned char *map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(at != MAP_FAILED);
	return at;
}

static unsigned char byte_at(size_t i)
{
	return (unsigned char)(i / STEP * 7 + i / PAGE + 1);
}

static void fill(unsigned char *at, size_t size)
{
	for (size_t i = 0; i < size; i += STEP)
		at[i] = byte_at(i);
}

static void must_be_filled(const unsigned char *at, size_t size)
{
	for (size_t i = 0; i < size; i += STEP)
		ASSERT_EQ(at[i], byte_at(i));
}

static void pack(void)
{
	auto_fd int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ASSERT(proc_fd >= 0);
	pack_memory(proc_fd);
}

TEST(what_is_packed_keeps_its_bytes_and_may_be_written_to)
{
	unsigned char *large = map(SIZE);
	unsigned char *small = map(SIZE / 16);
	unsigned char *libc = malloc(SIZE / 32);
	fill(large, SIZE);
	fill(small, SIZE / 16);
	fill(libc, SIZE / 32);
	pack();
	must_be_filled(large, SIZE);
	must_be_filled(small, SIZE / 16);
	must_be_filled(libc, SIZE / 32);
	for (size_t i = 0; i < SIZE; i += PAGE)
		large[i]++;
	free(libc);
	libc = realloc(malloc(SIZE / 64), SIZE / 16);
	fill(libc, SIZE / 16);
	must_be_filled(libc, SIZE / 16);
	free(libc);
}

TEST(what_is_only_read_stays_so)
{
	unsigned char *at = map(SIZE);
	fill(at, SIZE);
	ASSERT_EQ(mprotect(at, SIZE, PROT_READ), 0);
	pack();
	must_be_filled(at, SIZE);
	/* the kernel may not write there either, and does not end us for it */
	auto_fd int zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	ASSERT_EQ(read(zero_fd, &at[SIZE / 2], 1), -1);
	ASSERT_EQ(errno, EFAULT);
}

/* The size of the mapping that begins here; 0: none does. */
static size_t mapping_at(const unsigned char *at)
{
	char line[512];
	size_t size = 0;
	auto_file FILE *maps = fopen("/proc/self/maps", "re");
	ASSERT(maps);
	while (size == 0 && fgets(line, sizeof(line), maps)) {
		char *rest = NULL;
		uintptr_t start = strtoull(line, &rest, 16);
		if (start == (uintptr_t)at)
			size = strtoull(rest + 1, NULL, 16) - start;
	}
	return size;
}

TEST(of_what_does_not_fill_a_large_page_the_pages_that_are_there_are_packed)
{
	const size_t there = (size_t)100 * PAGE;
	unsigned char *at = (unsigned char *)huge_map(3 * HUGE);
	ASSERT(at);
	fill(at, HUGE + there);
	at[2 * HUGE] = 1; /* a single page, far from the others */
	pack();
	must_be_filled(at, HUGE + there);
	ASSERT_EQ(at[2 * HUGE], 1);
	unsigned char present = 0;
	ASSERT_EQ(mincore(at + HUGE + there, PAGE, &present), 0);
	ASSERT_EQ(present & 1, 0);
	unsigned char *other = (unsigned char *)huge_map(HUGE);
	fill(other, HUGE);
	if (huge_collapse((char *)other, HUGE)) /* this kernel has large pages */
		ASSERT_EQ(mapping_at(at + HUGE), there);
}

/* 0: the child finds what it was asked for. */
static int in_child(const unsigned char *at, unsigned char want)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		_exit(*at != want);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

TEST(who_asked_for_more_of_its_memory_has_it)
{
	unsigned char *wiped = map(SIZE);
	unsigned char *plain = map(SIZE);
	fill(wiped, SIZE);
	fill(plain, SIZE);
	ASSERT_EQ(madvise(wiped, SIZE, MADV_WIPEONFORK), 0);
	pack();
	ASSERT_EQ(in_child(&wiped[PAGE], 0), 0);
	ASSERT_EQ(in_child(&plain[PAGE], byte_at(PAGE)), 0);
}

TEST(without_proc_nothing_happens)
{
	unsigned char *at = map(SIZE);
	fill(at, SIZE);
	pack_memory(-1);
	must_be_filled(at, SIZE);
}
