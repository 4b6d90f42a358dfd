/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "base/io.h"
#include "base/own.h"
#include "jail/jail.h"
#include "keeper/changes.h"
#include "unit/scratch.h"

/* The test stands in a directory with a root and a runtime. */
static char place[] = "/tmp/hotcell-test-XXXXXX";

static void clean_up(void)
{
	scratch_remove(place);
}

static void write_file(const char *path, const char *text)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ASSERT(fd >= 0);
	ASSERT_EQ(io_write(fd, text, strlen(text)), 0);
}

static int set_up(void)
{
	ASSERT(mkdtemp(place));
	ASSERT_EQ(atexit(clean_up), 0);
	ASSERT_EQ(chdir(place), 0);
	ASSERT_EQ(mkdir("root", 0755) | mkdir("root/etc", 0755) | mkdir("root/etc/perl", 0755), 0);
	ASSERT_EQ(mkdir("root/etc/perl/below", 0755) | mkdir("runtime", 0755), 0);
	write_file("root/etc/perl/below/text", "one");
	write_file("root/etc/timezone", "Etc/UTC");
	ASSERT_EQ(symlink("nowhere", "root/etc/localtime"), 0);
	write_file("runtime/boot.py", "pass");
	int fd = changes_watch("root", "runtime");
	ASSERT(fd >= 0);
	return fd;
}

TEST(nothing_has_changed_where_something_was_only_read)
{
	char text[16];
	auto_fd int fd = set_up();
	ASSERT(io_read_at(AT_FDCWD, "root/etc/perl/below/text", text, sizeof(text)) > 0);
	ASSERT(io_read_at(AT_FDCWD, "runtime/boot.py", text, sizeof(text)) > 0);
	write_file("root/etc/passwd", "of no interest");
	ASSERT(!changes_came(fd));
}

TEST(an_entry_more_or_less_is_a_change_told_once)
{
	auto_fd int fd = set_up();
	ASSERT_EQ(symlink("elsewhere", "root/etc/perl/below/link"), 0);
	ASSERT(changes_came(fd));
	ASSERT(!changes_came(fd));
	ASSERT_EQ(unlink("root/etc/perl/below/link"), 0);
	ASSERT(changes_came(fd));
	ASSERT_EQ(rmdir("root/etc/perl/below"), -1);
	ASSERT(!changes_came(fd));
}

TEST(other_content_is_a_change)
{
	auto_fd int fd = set_up();
	write_file("root/etc/perl/below/text", "two");
	ASSERT(changes_came(fd));
	write_file("root/etc/timezone", "Europe/Berlin");
	ASSERT(changes_came(fd));
	write_file("runtime/boot.py", "import os");
	ASSERT(changes_came(fd));
}

/* As who installs something does it; others have the old one open. */
TEST(another_file_in_its_place_is_a_change)
{
	auto_fd int fd = set_up();
	auto_fd int old_fd = open("root/etc/timezone", O_PATH | O_CLOEXEC);
	write_file("root/etc/timezone.new", "Europe/Berlin");
	ASSERT(!changes_came(fd));
	ASSERT_EQ(rename("root/etc/timezone.new", "root/etc/timezone"), 0);
	ASSERT(changes_came(fd));
	ASSERT_EQ(symlink("somewhere", "root/etc/localtime.new"), 0);
	ASSERT_EQ(rename("root/etc/localtime.new", "root/etc/localtime"), 0);
	ASSERT(changes_came(fd));
}

TEST(a_directory_that_is_used_again_and_again_has_not_changed)
{
	auto_fd int fd = set_up();
	auto_fd int dir_fd = open("runtime", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_EQ(futimens(dir_fd, NULL), 0);
	ASSERT(!changes_came(fd));
}

TEST(what_has_more_entries_than_are_copied_is_no_reason_to_fail)
{
	char name[64];
	auto_fd int fd = set_up();
	for (int i = 0; i < JAIL_COPIED_MAX + 10; i++) {
		(void)snprintf(name, sizeof(name), "runtime/%d", i);
		ASSERT_EQ(mkdir(name, 0755), 0);
	}
	auto_fd int other_fd = changes_watch("root", "runtime");
	ASSERT(other_fd >= 0);
	write_file("root/etc/timezone", "Europe/Berlin");
	ASSERT(changes_came(other_fd));
}

TEST(who_cannot_watch_is_told_so)
{
	struct rlimit before;
	auto_fd int fd = set_up();
	ASSERT_EQ(changes_watch("root", "nowhere"), -ENOENT);
	ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	const struct rlimit full = { (rlim_t)fd, before.rlim_max };
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &full), 0);
	ASSERT_EQ(changes_watch("root", "runtime"), -EMFILE);
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0); /* a sanitizer looks around at the end */
}

TEST(nothing_is_watched_and_nothing_has_changed)
{
	ASSERT(!changes_came(-1));
}
