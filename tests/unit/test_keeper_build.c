/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/io.h"
#include "keeper/build.h"
#include "unit/scratch.h"

/* One cell has built, the other is to run it. The test stands in the directory that holds both. */
static struct workspace built = { .fd = -1 };
static struct workspace fresh = { .fd = -1 };
static char root[] = "/tmp/hotcell-test-XXXXXX";
static struct err err;

static void clean_up(void)
{
	scratch_remove(root);
}

static void make_workspace(const char *name, struct workspace *workspace)
{
	auto_free char *tmp = xasprintf("%s/tmp", name);
	ASSERT_EQ(mkdir(name, 0755) | mkdir(tmp, 0755), 0);
	workspace->fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	workspace->uid = geteuid();
	workspace->gid = getegid();
	ASSERT(workspace->fd >= 0);
}

static void set_up(void)
{
	ASSERT(mkdtemp(root));
	ASSERT_EQ(atexit(clean_up), 0);
	ASSERT_EQ(chdir(root), 0);
	make_workspace("built", &built);
	make_workspace("fresh", &fresh);
	ASSERT_OK(workspace_prepare_build(&built, &err));
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ASSERT(fd >= 0);
	ASSERT_EQ(io_write(fd, text, strlen(text)), 0);
	ASSERT_EQ(fchmod(fd, mode), 0);
}

static void has_file(const char *path, const char *text, mode_t mode)
{
	char found[64];
	struct stat st;
	ASSERT(io_read_at(AT_FDCWD, path, found, sizeof(found)) >= 0);
	ASSERT_STR(found, text);
	ASSERT_EQ(stat(path, &st), 0);
	ASSERT_EQ(st.st_mode & 07777, mode);
}

static void move_over(void)
{
	auto_fd int fd = -1;
	ASSERT_OK(workspace_take_build(&built, &fd, &err));
	ASSERT_OK(workspace_put_build(&fresh, fd, &err));
}

TEST(a_program_goes_over_with_its_bytes_and_its_mode)
{
	set_up();
	write_file("built/tmp/hotcell-build/main", "\177ELF", 0711);
	move_over();
	has_file("fresh/tmp/hotcell-build/main", "\177ELF", 0755);
}

TEST(a_directory_goes_over_with_all_below)
{
	set_up();
	ASSERT_EQ(mkdir("built/tmp/hotcell-build/main", 0700), 0);
	ASSERT_EQ(mkdir("built/tmp/hotcell-build/main/p", 0700), 0);
	write_file("built/tmp/hotcell-build/main/p/A.class", "a", 0600);
	write_file("built/tmp/hotcell-build/main/start", "A", 0600);
	move_over();
	has_file("fresh/tmp/hotcell-build/main/p/A.class", "a", 0644);
	has_file("fresh/tmp/hotcell-build/main/start", "A", 0644);
}

TEST(set_id_bits_stay_behind)
{
	set_up();
	write_file("built/tmp/hotcell-build/main", "x", 06755);
	move_over();
	has_file("fresh/tmp/hotcell-build/main", "x", 0755);
}

TEST(links_and_special_files_in_a_directory_are_passed_over)
{
	set_up();
	ASSERT_EQ(mkdir("built/tmp/hotcell-build/main", 0700), 0);
	ASSERT_EQ(symlink("/etc/passwd", "built/tmp/hotcell-build/main/link"), 0);
	ASSERT_EQ(mkfifo("built/tmp/hotcell-build/main/fifo", 0600), 0);
	write_file("built/tmp/hotcell-build/main/file", "x", 0600);
	move_over();
	struct stat st;
	ASSERT_EQ(lstat("fresh/tmp/hotcell-build/main/link", &st), -1);
	ASSERT_EQ(lstat("fresh/tmp/hotcell-build/main/fifo", &st), -1);
	has_file("fresh/tmp/hotcell-build/main/file", "x", 0644);
}

TEST(a_program_that_is_no_file_is_refused)
{
	int fd = -1;
	set_up();
	ASSERT_FAIL(workspace_take_build(&built, &fd, &err), ERR_MISSING);
	ASSERT_HAS(err.text, "the compiler made nothing at /tmp/hotcell-build/main");
	ASSERT_EQ(symlink("/etc/passwd", "built/tmp/hotcell-build/main"), 0);
	ASSERT_FAIL(workspace_take_build(&built, &fd, &err), ERR_INVALID);
	ASSERT_EQ(unlink("built/tmp/hotcell-build/main"), 0);
	ASSERT_EQ(mkfifo("built/tmp/hotcell-build/main", 0600), 0);
	ASSERT_FAIL(workspace_take_build(&built, &fd, &err), ERR_INVALID);
	ASSERT_EQ(unlink("built/tmp/hotcell-build/main"), 0);
	ASSERT_EQ(rmdir("built/tmp/hotcell-build"), 0);
	ASSERT_EQ(symlink("/etc", "built/tmp/hotcell-build"), 0);
	ASSERT_FAIL(workspace_take_build(&built, &fd, &err), ERR_INVALID);
	ASSERT_EQ(fd, -1);
}

TEST(a_program_longer_than_the_limit_is_refused_before_a_byte_is_copied)
{
	auto_fd int fd = -1;
	struct stat st;
	set_up();
	write_file("built/tmp/hotcell-build/main", "", 0700);
	ASSERT_EQ(truncate("built/tmp/hotcell-build/main", (int64_t)LIMIT_BUILD_BYTES + 1), 0);
	ASSERT_OK(workspace_take_build(&built, &fd, &err));
	ASSERT_FAIL(workspace_put_build(&fresh, fd, &err), ERR_LIMIT);
	ASSERT_EQ(lstat("fresh/tmp/hotcell-build/main", &st), -1);
}

TEST(directories_without_end_are_refused)
{
	auto_fd int fd = -1;
	set_up();
	ASSERT_EQ(mkdir("built/tmp/hotcell-build/main", 0700), 0);
	ASSERT_EQ(chdir("built/tmp/hotcell-build/main"), 0);
	for (int i = 0; i <= LIMIT_TREE_DEPTH; i++)
		ASSERT_EQ(mkdir("d", 0700) | chdir("d"), 0);
	ASSERT_EQ(chdir(root), 0);
	ASSERT_OK(workspace_take_build(&built, &fd, &err));
	ASSERT_FAIL(workspace_put_build(&fresh, fd, &err), ERR_LIMIT);
	ASSERT_HAS(err.text, "directories deep");
}

TEST(build_save_keeps_it_on_the_host_under_a_new_name)
{
	auto_fd int fd = -1;
	set_up();
	ASSERT_EQ(mkdir("built/tmp/hotcell-build/main", 0700), 0);
	write_file("built/tmp/hotcell-build/main/tool", "x", 0700);
	ASSERT_OK(workspace_take_build(&built, &fd, &err));
	ASSERT_OK(build_save(fd, AT_FDCWD, "kept", &err));
	has_file("kept/tool", "x", 0755);
	ASSERT_FAIL(build_save(fd, AT_FDCWD, "kept", &err), ERR_SYSTEM);
	ASSERT_EQ(err.sys, EEXIST);
}
