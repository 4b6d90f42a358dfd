/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/io.h"
#include "keeper/snapshot.h"
#include "unit/scratch.h"

/* A workspace in a directory of the host: on tmpfs as in a cell, where there is one. The test
 * stands in its home. */
static struct workspace workspace = { .fd = -1 };
static struct snapshot_report report;
static char root[] = "/dev/shm/hotcell-test-XXXXXX";
static struct err err;

static void clean_up(void)
{
	scratch_remove(root);
}

static void set_up(void)
{
	ASSERT(mkdtemp(root));
	ASSERT_EQ(atexit(clean_up), 0);
	ASSERT_EQ(chdir(root), 0);
	ASSERT_EQ(mkdir("home", 0755), 0);
	workspace.fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	workspace.uid = geteuid();
	workspace.gid = getegid();
	ASSERT(workspace.fd >= 0);
	ASSERT_EQ(chdir("home"), 0);
}

static void write_file(const char *path, const char *text)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ASSERT(fd >= 0);
	ASSERT_EQ(io_write(fd, text, strlen(text)), 0);
}

static void has_file(const char *path, const char *text)
{
	char found[256] = "";
	ASSERT(io_read_at(AT_FDCWD, path, found, sizeof(found)) >= 0);
	ASSERT_STR(found, text);
}

static void take(uint32_t id, uint32_t previous)
{
	ASSERT_OK(snapshot_take(&workspace, id, previous, &report, &err));
}

static void restore(uint32_t id)
{
	ASSERT_OK(snapshot_restore(&workspace, id, &report, &err));
}

TEST(what_was_written_since_is_as_it_was)
{
	set_up();
	write_file("a", "one");
	write_file("b", "same");
	take(1, 0);
	ASSERT_EQ(report.files, 2);
	ASSERT_EQ(report.copied, 2);
	write_file("a", "two, which is longer");
	write_file("new", "x");
	restore(1);
	has_file("a", "one");
	has_file("b", "same");
	ASSERT_EQ(access("new", F_OK), -1);
}

TEST(what_was_removed_comes_back)
{
	struct stat before;
	struct stat after;
	set_up();
	ASSERT_EQ(mkdir("d", 0750) | mkdir("d/e", 0700), 0);
	write_file("d/e/f", "deep");
	ASSERT_EQ(symlink("d/e/f", "link"), 0);
	ASSERT_EQ(mkfifo("queue", 0600), 0);
	ASSERT_EQ(stat("d/e/f", &before), 0);
	take(1, 0);
	ASSERT_EQ(
		unlink("d/e/f") | rmdir("d/e") | rmdir("d") | unlink("link") | unlink("queue"), 0);
	restore(1);
	has_file("link", "deep");
	ASSERT_EQ(stat("d/e/f", &after), 0);
	ASSERT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	ASSERT_EQ(after.st_mode, before.st_mode);
	ASSERT_EQ(stat("d", &after), 0);
	ASSERT_EQ(after.st_mode & 07777, 0750);
	ASSERT_EQ(lstat("queue", &after), 0);
	ASSERT(S_ISFIFO(after.st_mode));
}

TEST(an_open_file_stays_the_same_file)
{
	char text[8] = "";
	set_up();
	write_file("log", "before");
	auto_fd int fd = open("log", O_RDONLY | O_CLOEXEC);
	take(1, 0);
	write_file("log", "after!");
	restore(1);
	ASSERT_EQ(pread(fd, text, sizeof(text) - 1, 0), 6);
	ASSERT_STR(text, "before");
}

TEST(the_same_point_can_be_brought_back_again_and_again)
{
	set_up();
	write_file("a", "one");
	take(1, 0);
	write_file("a", "two");
	take(2, 1);
	for (int i = 0; i < 3; i++) {
		restore(1);
		has_file("a", "one");
		write_file("a", "three");
		restore(2);
		has_file("a", "two");
	}
}

TEST(a_change_of_the_same_length_at_once_is_seen)
{
	set_up();
	for (uint32_t i = 1; i <= 50; i++) {
		char text[16];
		(void)snprintf(text, sizeof(text), "%04u", i);
		write_file("a", text);
		take(i, i - 1);
		write_file("a", "zzzz");
		restore(i);
		has_file("a", text);
	}
}

TEST(what_did_not_change_is_not_copied_again)
{
	set_up();
	write_file("a", "one");
	write_file("b", "one");
	take(1, 0);
	write_file("b", "two");
	take(2, 1);
	ASSERT_EQ(report.files, 2);
	if (report.copied == 2)
		SKIP("this kernel's file times do not tell two changes apart");
	ASSERT_EQ(report.copied, 1);
	restore(2);
	ASSERT_EQ(report.copied, 0);
	restore(1);
	ASSERT_EQ(report.copied, 1);
}

TEST(something_else_under_the_same_name_gives_way)
{
	set_up();
	write_file("thing", "a file");
	ASSERT_EQ(mkdir("place", 0755), 0);
	write_file("place/x", "x");
	take(1, 0);
	ASSERT_EQ(unlink("thing") | mkdir("thing", 0700), 0);
	write_file("thing/y", "y");
	ASSERT_EQ(unlink("place/x") | rmdir("place") | symlink("/etc", "place"), 0);
	restore(1);
	has_file("thing", "a file");
	has_file("place/x", "x");
}

TEST(files_that_became_one_are_two_again)
{
	set_up();
	write_file("a", "a");
	write_file("b", "b");
	take(1, 0);
	ASSERT_EQ(unlink("b") | link("a", "b"), 0);
	write_file("a", "both");
	restore(1);
	has_file("a", "a");
	has_file("b", "b");
}

TEST(what_nobody_may_read_is_copied_too)
{
	struct stat st;
	set_up();
	ASSERT_EQ(mkdir("closed", 0700), 0);
	write_file("closed/secret", "s");
	ASSERT_EQ(chmod("closed/secret", 0) | chmod("closed", 0), 0);
	take(1, 0);
	take(2, 1);
	ASSERT_EQ(stat("closed", &st), 0);
	ASSERT_EQ(st.st_mode & 07777, 0);
	ASSERT_EQ(chmod("closed", 0700) | unlink("closed/secret"), 0);
	restore(2);
	ASSERT_EQ(stat("closed", &st), 0);
	ASSERT_EQ(st.st_mode & 07777, 0);
	ASSERT_EQ(chmod("closed", 0700) | chmod("closed/secret", 0600), 0);
	has_file("closed/secret", "s");
	ASSERT_OK(snapshot_drop(&workspace, 1, &err));
	ASSERT_OK(snapshot_drop(&workspace, 2, &err));
	ASSERT_EQ(access("../points/2", F_OK), -1);
}

TEST(a_socket_is_left_out_by_name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "door" };
	set_up();
	auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT_EQ(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	take(1, 0);
	ASSERT_EQ(report.skipped, 1);
	ASSERT_STR(report.first_skipped, "door");
}

TEST(a_point_that_was_dropped_is_gone)
{
	set_up();
	write_file("a", "one");
	take(1, 0);
	take(2, 1);
	ASSERT_OK(snapshot_drop(&workspace, 1, &err));
	ASSERT_OK(snapshot_drop(&workspace, 1, &err));
	ASSERT_EQ(snapshot_restore(&workspace, 1, &report, &err), -1);
	write_file("a", "two");
	restore(2);
	has_file("a", "one");
}

TEST(too_many_directories_deep_is_refused_and_leaves_nothing)
{
	set_up();
	for (int i = 0; i < 70; i++)
		ASSERT_EQ(mkdir("d", 0755) | chdir("d"), 0);
	ASSERT_EQ(snapshot_take(&workspace, 1, 0, &report, &err), -1);
	ASSERT(strstr(err.text, "directories deep"));
	ASSERT_EQ(faccessat(workspace.fd, "points/1", F_OK, 0), -1);
}
