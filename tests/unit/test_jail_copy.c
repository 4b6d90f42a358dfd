/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/io.h"
#include "jail/steps.h"
#include "unit/scratch.h"

enum { ENTRIES = 10, BYTES = 64 << 10 };

/* The test stands in a directory with `from`, which is small. */
static char root[] = "/tmp/hotcell-test-XXXXXX";
static int from_fd;
static struct stat from;

static void clean_up(void)
{
	scratch_remove(root);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ASSERT(fd >= 0);
	ASSERT_EQ(io_write(fd, text, strlen(text)), 0);
	ASSERT_EQ(fchmod(fd, mode), 0);
}

static void look(void)
{
	ASSERT_EQ(fstat(from_fd, &from), 0);
}

static void set_up(void)
{
	ASSERT(mkdtemp(root));
	ASSERT_EQ(atexit(clean_up), 0);
	ASSERT_EQ(chdir(root), 0);
	ASSERT_EQ(mkdir("from", 0755) | mkdir("from/below", 0755), 0);
	write_file("from/text", "of the host\n", 0644);
	write_file("from/below/program", "#!/bin/sh\n", 0755);
	ASSERT_EQ(symlink("../nowhere", "from/below/link"), 0);
	from_fd = open("from", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT(from_fd >= 0);
	look();
}

static bool is_small(void)
{
	struct copy_allowance allowance = { ENTRIES, BYTES };
	look();
	return copy_is_small(from_fd, &from, &allowance);
}

static void copy(void)
{
	struct err err = { 0 };
	ASSERT_OK(copy_to(from_fd, "to", &from, &err));
}

static void check_alike(const char *one, const char *other)
{
	struct stat a;
	struct stat b;
	ASSERT_EQ(stat(one, &a) | stat(other, &b), 0);
	ASSERT_EQ(a.st_mode, b.st_mode);
	ASSERT_EQ(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
	ASSERT_EQ(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
}

TEST(a_copy_has_what_its_original_has)
{
	char text[64];
	set_up();
	const struct timespec long_ago[] = { { 1000, 7 }, { 2000, 9 } };
	ASSERT_EQ(utimensat(AT_FDCWD, "from/text", long_ago, 0), 0);
	ASSERT_EQ(utimensat(AT_FDCWD, "from/below", long_ago, 0), 0);
	ASSERT(is_small());
	copy();
	ASSERT(io_read_at(AT_FDCWD, "to/text", text, sizeof(text)) > 0);
	ASSERT_STR(text, "of the host\n");
	ASSERT_EQ(readlink("to/below/link", text, sizeof(text)), 10);
	ASSERT_EQ(memcmp(text, "../nowhere", 10), 0);
	check_alike("from", "to");
	check_alike("from/text", "to/text");
	check_alike("from/below", "to/below");
	check_alike("from/below/program", "to/below/program");
}

TEST(a_single_file_is_copied_as_well)
{
	struct err err = { 0 };
	struct copy_allowance allowance = { ENTRIES, BYTES };
	char text[64];
	set_up();
	auto_fd int fd = open("from/text", O_RDONLY | O_CLOEXEC);
	ASSERT(fd >= 0);
	ASSERT_EQ(fstat(fd, &from), 0);
	ASSERT(copy_is_small(fd, &from, &allowance));
	ASSERT_OK(copy_to(fd, "alone", &from, &err));
	ASSERT(io_read_at(AT_FDCWD, "alone", text, sizeof(text)) > 0);
	ASSERT_STR(text, "of the host\n");
}

TEST(what_is_taken_off_the_allowance_is_what_is_there)
{
	struct copy_allowance allowance = { ENTRIES, BYTES };
	set_up();
	ASSERT(copy_is_small(from_fd, &from, &allowance));
	ASSERT_EQ(allowance.entries, ENTRIES - 5); /* with itself */
	ASSERT(allowance.bytes < BYTES);
	struct copy_allowance few = { 4, BYTES };
	ASSERT(!copy_is_small(from_fd, &from, &few));
	ASSERT_EQ(few.entries, 4); /* others may still need it */
	struct copy_allowance short_of_bytes = { ENTRIES, 12 };
	ASSERT(!copy_is_small(from_fd, &from, &short_of_bytes));
	ASSERT_EQ(short_of_bytes.bytes, 12);
}

TEST(what_not_everybody_may_read_is_not_copied)
{
	set_up();
	write_file("from/below/secret", "x", 0640);
	ASSERT(!is_small());
	ASSERT_EQ(chmod("from/below/secret", 0644), 0);
	ASSERT(is_small());
	ASSERT_EQ(chmod("from/below", 0750), 0);
	ASSERT(!is_small());
}

TEST(what_is_neither_file_nor_directory_nor_link_is_not_copied)
{
	set_up();
	ASSERT_EQ(mkfifo("from/pipe", 0644), 0);
	ASSERT(!is_small());
}

TEST(too_deep_is_not_small)
{
	set_up();
	ASSERT_EQ(chdir("from"), 0);
	for (int i = 0; i < 9; i++)
		ASSERT_EQ(mkdir("d", 0755) | chdir("d"), 0);
	struct copy_allowance allowance = { 1000, BYTES };
	ASSERT(!copy_is_small(from_fd, &from, &allowance));
}

TEST(what_changed_since_is_passed_over_without_waiting)
{
	set_up();
	ASSERT(is_small());
	ASSERT_EQ(unlink("from/text"), 0);
	ASSERT_EQ(mkfifo("from/text", 0644), 0);
	write_file("from/below/secret", "x", 0600);
	copy();
	ASSERT_EQ(access("to/text", F_OK), -1);
	ASSERT_EQ(access("to/below/secret", F_OK), -1);
	ASSERT_EQ(access("to/below/program", X_OK), 0);
}

TEST(a_place_that_is_taken_is_an_error)
{
	struct err err = { 0 };
	set_up();
	ASSERT_EQ(mkdir("to", 0755), 0);
	ASSERT_EQ(copy_to(from_fd, "to", &from, &err), -1);
	ASSERT(strstr(err.text, "copy '/to'"));
}
