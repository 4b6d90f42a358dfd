/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "keeper/keeper.h"
#include "unit/scratch.h"

/* A workspace with a home in it; where it is, for whoever looks from outside. */
static char place[64];

static int make_workspace(void)
{
	(void)snprintf(place, sizeof(place), "/tmp/hotcell-home-XXXXXX");
	ASSERT(mkdtemp(place) != NULL);
	int fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT(fd >= 0);
	ASSERT_EQ(mkdirat(fd, "home", 0755), 0);
	return fd;
}

static void remove_workspace(int fd)
{
	(void)close(fd);
	scratch_remove(place);
}

static void put(int workspace_fd, const char *path, const char *text)
{
	struct err err = { 0 };
	auto_fd int fd = -1;
	ASSERT_OK(home_create(workspace_fd, &fd, &err));
	ASSERT_EQ(io_write(fd, text, strlen(text)), 0);
	ASSERT_OK(home_name(workspace_fd, fd, path, &err));
}

static void read_back(int workspace_fd, const char *path, const char *wanted)
{
	struct err err = { 0 };
	char text[64] = "";
	auto_fd int fd = -1;
	ASSERT_OK(home_open(workspace_fd, path, &fd, &err));
	ASSERT(read(fd, text, sizeof(text) - 1) >= 0);
	ASSERT_STR(text, wanted);
}

TEST(a_path_is_below_the_home_or_none)
{
	static const char *const bad[] = { "", "/", "/etc/passwd", "..", "a/..", "../a", "./a",
		"a/./b", "a//b", "a/", "/home/user/", "/home/user/../x", "/home/users/x" };
	struct err err = { 0 };
	char *path = NULL;
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		ASSERT_FAIL(home_path(bad[i], &path, &err), ERR_INVALID);
	ASSERT_OK(home_path("/home/user/a/b", &path, &err));
	ASSERT_STR(path, "a/b");
	free(take_ptr(&path));
	ASSERT_OK(home_path("..a/b..", &path, &err));
	ASSERT_STR(path, "..a/b..");
	free(path);
}

TEST(what_is_put_in_comes_out_and_replaces_what_was_there)
{
	int fd = make_workspace();
	put(fd, "a/b/c", "one");
	read_back(fd, "a/b/c", "one");
	put(fd, "a/b/c", "two");
	read_back(fd, "a/b/c", "two");
	struct err err = { 0 };
	ASSERT_FAIL(home_remove(fd, "a/b", &err), ERR_INVALID);
	ASSERT_OK(home_remove(fd, "a/b/c", &err));
	ASSERT_OK(home_remove(fd, "a/b", &err));
	ASSERT_FAIL(home_remove(fd, "a/b", &err), ERR_MISSING);
	remove_workspace(fd);
}

TEST(no_link_is_followed)
{
	int fd = make_workspace();
	auto_fd int home_fd = openat(fd, "home", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err = { 0 };
	auto_fd int file_fd = -1;
	auto_fd int new_fd = -1;
	struct stat st;
	ASSERT_EQ(symlinkat("/etc/passwd", home_fd, "link"), 0);
	ASSERT_EQ(symlinkat("/etc", home_fd, "etc"), 0);
	ASSERT_EQ(mkfifoat(home_fd, "fifo", 0600), 0);
	ASSERT_FAIL(home_open(fd, "link", &file_fd, &err), ERR_INVALID);
	ASSERT_FAIL(home_open(fd, "etc/passwd", &file_fd, &err), ERR_INVALID);
	ASSERT_FAIL(home_open(fd, "fifo", &file_fd, &err), ERR_INVALID);
	ASSERT_FAIL(home_open(fd, "nothing", &file_fd, &err), ERR_MISSING);
	ASSERT_OK(home_create(fd, &new_fd, &err));
	ASSERT_FAIL(home_name(fd, new_fd, "etc/hotcell-unit", &err), ERR_INVALID);
	ASSERT(access("/etc/hotcell-unit", F_OK) < 0);
	ASSERT_FAIL(home_remove(fd, "etc/passwd", &err), ERR_INVALID);
	put(fd, "link", "a file now");
	ASSERT_EQ(fstatat(home_fd, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
	ASSERT(S_ISREG(st.st_mode));
	ASSERT_OK(home_remove(fd, "etc", &err));
	ASSERT(access("/etc/passwd", F_OK) == 0);
	remove_workspace(fd);
}
