/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/io.h"
#include "keeper/beneath.h"
#include "keeper/workspace.h"
#include "unit/scratch.h"

/* The host's files are below host/, the workspace is cell/ with its home and tmp. The test stands
 * in the directory that holds both. */
static struct workspace workspace;
static struct pairs files;
static char root[] = "/tmp/hotcell-test-XXXXXX";

static void clean_up(void)
{
	scratch_remove(root);
	pairs_done(&files);
}

static void set_up(void)
{
	ASSERT(mkdtemp(root));
	ASSERT_EQ(atexit(clean_up), 0);
	ASSERT_EQ(chdir(root), 0);
	ASSERT_EQ(mkdir("host", 0755) | mkdir("cell", 0755), 0);
	ASSERT_EQ(mkdir("cell/home", 0755) | mkdir("cell/tmp", 0755), 0);
	workspace = (struct workspace){ .fd = open("cell", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.uid = geteuid(),
		.gid = getegid() };
	ASSERT(workspace.fd >= 0);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ASSERT(fd >= 0);
	ASSERT_EQ(io_write(fd, text, strlen(text)), 0);
	ASSERT_EQ(fchmod(fd, mode), 0);
}

static void check_file(const char *path, const char *want)
{
	char text[256];
	if (io_read_at(AT_FDCWD, path, text, sizeof(text)) < 0)
		FAIL("%s is not there", path);
	ASSERT_STR(text, want);
}

static bool is_there(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

static mode_t mode_of(const char *path)
{
	struct stat st;
	ASSERT_EQ(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

TEST(a_file_is_copied_under_its_name_or_the_one_given)
{
	struct err err = { 0 };
	set_up();
	write_file("host/a.txt", "alpha", 0640);
	write_file("host/empty", "", 0600);
	pairs_add(&files, "host/a.txt", NULL);
	pairs_add(&files, "host/a.txt", "deep/er/b.txt");
	pairs_add(&files, "host/a.txt", "into/");
	pairs_add(&files, "host/empty", NULL);
	ASSERT_OK(workspace_copy_in(&workspace, &files, &err));
	check_file("cell/home/a.txt", "alpha");
	check_file("cell/home/deep/er/b.txt", "alpha");
	check_file("cell/home/into/a.txt", "alpha");
	check_file("cell/home/empty", "");
	ASSERT_EQ(mode_of("cell/home/a.txt"), 0644);
	ASSERT_EQ(mode_of("cell/home/deep/er"), 0755);
}

TEST(no_files_need_no_workspace)
{
	struct err err = { 0 };
	const struct workspace none = { .fd = -1 };
	ASSERT_OK(workspace_copy_in(&none, &files, &err));
	pairs_add(&files, "/etc/passwd", NULL);
	ASSERT_FAIL(workspace_copy_in(&none, &files, &err), ERR_SYSTEM);
	pairs_done(&files);
}

TEST(the_executable_bit_is_all_that_is_kept_of_a_mode)
{
	struct err err = { 0 };
	set_up();
	write_file("host/run", "x", 04711);
	write_file("host/secret", "x", 0600);
	pairs_add(&files, "host/run", NULL);
	pairs_add(&files, "host/secret", NULL);
	ASSERT_OK(workspace_copy_in(&workspace, &files, &err));
	ASSERT_EQ(mode_of("cell/home/run"), 0755);
	ASSERT_EQ(mode_of("cell/home/secret"), 0644);
}

TEST(what_is_copied_belongs_to_the_cells_user)
{
	struct err err = { 0 };
	struct stat st;
	if (geteuid() != 0)
		SKIP("only root can give files away");
	set_up();
	workspace.uid = 200007;
	workspace.gid = 200008;
	write_file("host/a", "x", 0644);
	pairs_add(&files, "host/a", "d/a");
	ASSERT_OK(workspace_copy_in(&workspace, &files, &err));
	ASSERT_EQ(stat("cell/home/d/a", &st), 0);
	ASSERT(st.st_uid == 200007 && st.st_gid == 200008);
	ASSERT_EQ(stat("cell/home/d", &st), 0);
	ASSERT(st.st_uid == 200007 && st.st_gid == 200008);
}

TEST(a_directory_is_copied_with_all_below_and_no_link)
{
	struct err err = { 0 };
	set_up();
	ASSERT_EQ(
		mkdir("host/d", 0700) | mkdir("host/d/sub", 0700) | mkdir("host/d/none", 0700), 0);
	write_file("host/d/.hidden", "h", 0600);
	write_file("host/d/sub/x", "sub", 0700);
	write_file("host/outside", "secret", 0644);
	ASSERT_EQ(symlink("../outside", "host/d/link"), 0);
	ASSERT_EQ(symlink("sub", "host/d/linked-dir"), 0);
	ASSERT_EQ(mkfifo("host/d/fifo", 0600), 0);
	pairs_add(&files, "host/d", "got");
	ASSERT_OK(workspace_copy_in(&workspace, &files, &err));
	check_file("cell/home/got/.hidden", "h");
	check_file("cell/home/got/sub/x", "sub");
	ASSERT_EQ(mode_of("cell/home/got/sub/x"), 0755);
	ASSERT(is_there("cell/home/got/none"));
	ASSERT(!is_there("cell/home/got/link"));
	ASSERT(!is_there("cell/home/got/linked-dir"));
	ASSERT(!is_there("cell/home/got/fifo"));
}

TEST(a_link_that_is_named_is_followed)
{
	struct err err = { 0 };
	set_up();
	write_file("host/a", "alpha", 0644);
	ASSERT_EQ(symlink("a", "host/link"), 0);
	pairs_add(&files, "host/link", NULL);
	ASSERT_OK(workspace_copy_in(&workspace, &files, &err));
	check_file("cell/home/link", "alpha");
	ASSERT_EQ(mode_of("cell/home/link"), 0644);
}

TEST(what_is_no_file_or_directory_is_refused_without_waiting)
{
	struct err err = { 0 };
	set_up();
	ASSERT_EQ(mkfifo("host/fifo", 0600), 0);
	pairs_add(&files, "host/fifo", NULL);
	ASSERT_FAIL(workspace_copy_in(&workspace, &files, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "--file");
	ASSERT_HAS(err.text, "host/fifo");
	pairs_done(&files);
	pairs_add(&files, "/dev/null", NULL);
	ASSERT_FAIL(workspace_copy_in(&workspace, &files, &err), ERR_INVALID);
	pairs_done(&files);
	pairs_add(&files, "host/missing", NULL);
	ASSERT_FAIL(workspace_copy_in(&workspace, &files, &err), ERR_SYSTEM);
	ASSERT_EQ(err.sys, ENOENT);
	ASSERT_HAS(err.text, "host/missing");
}

static void make_tower(const char *base, int depth)
{
	auto_free char *path = xstrdup(base);
	ASSERT_EQ(mkdir(path, 0755), 0);
	for (int i = 1; i < depth; i++) {
		char *longer = xasprintf("%s/d", path);
		free(path);
		path = longer;
		ASSERT_EQ(mkdir(path, 0755), 0);
	}
	auto_free char *file = xasprintf("%s/f", path);
	write_file(file, "bottom", 0644);
}

TEST(a_tree_may_be_as_deep_as_the_limit_and_no_deeper)
{
	struct err err = { 0 };
	set_up();
	make_tower("host/good", LIMIT_TREE_DEPTH);
	make_tower("host/deep", LIMIT_TREE_DEPTH + 1);
	pairs_add(&files, "host/good", NULL);
	ASSERT_OK(workspace_copy_in(&workspace, &files, &err));
	pairs_done(&files);
	pairs_add(&files, "host/deep", NULL);
	ASSERT_FAIL(workspace_copy_in(&workspace, &files, &err), ERR_LIMIT);
	ASSERT_HAS(err.text, "--file");
}

TEST(a_second_file_for_the_same_place_is_refused)
{
	struct err err = { 0 };
	set_up();
	write_file("host/a", "alpha", 0644);
	write_file("host/b", "beta", 0644);
	pairs_add(&files, "host/a", "x");
	pairs_add(&files, "host/b", "x");
	ASSERT_FAIL(workspace_copy_in(&workspace, &files, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "twice");
	check_file("cell/home/x", "alpha");
}

TEST(a_place_outside_home_is_refused)
{
	static const char *const places[] = { "../tmp/x", "a/../../x", "/etc/x" };
	struct err err = { 0 };
	set_up();
	write_file("host/a", "alpha", 0644);
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		pairs_add(&files, "host/a", places[i]);
		ASSERT_FAIL(workspace_copy_in(&workspace, &files, &err), ERR_INVALID);
		pairs_done(&files);
	}
	pairs_add(&files, "host/a", "/home/user/x");
	ASSERT_OK(workspace_copy_in(&workspace, &files, &err));
	check_file("cell/home/x", "alpha");
}

TEST(the_code_is_put_once_and_through_no_link)
{
	struct err err = { 0 };
	set_up();
	ASSERT_OK(workspace_put(&workspace, "main.py", "print(1)", 8, &err));
	check_file("cell/home/main.py", "print(1)");
	ASSERT_EQ(mode_of("cell/home/main.py"), 0644);
	ASSERT_FAIL(workspace_put(&workspace, "main.py", "x", 1, &err), ERR_INVALID);
	ASSERT_EQ(symlink("../../host/made", "cell/home/link"), 0);
	ASSERT_EQ(workspace_put(&workspace, "link", "x", 1, &err), -1);
	ASSERT(!is_there("host/made"));
	check_file("cell/home/main.py", "print(1)");
}

TEST(beneath_open_follows_nothing_and_leaves_nothing)
{
	set_up();
	write_file("cell/home/a", "alpha", 0644);
	ASSERT_EQ(symlink("a", "cell/home/link"), 0);
	ASSERT_EQ(symlink("home", "cell/dir"), 0);
	auto_fd int fd = beneath_open(workspace.fd, "home/a", O_RDONLY, 0);
	ASSERT(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
	ASSERT_EQ(beneath_open(workspace.fd, "home/link", O_RDONLY, 0), -ELOOP);
	ASSERT_EQ(beneath_open(workspace.fd, "dir/a", O_RDONLY, 0), -ELOOP);
	ASSERT_EQ(beneath_open(workspace.fd, "../cell/home/a", O_RDONLY, 0), -EXDEV);
	ASSERT_EQ(beneath_open(workspace.fd, "/etc/passwd", O_RDONLY, 0), -EXDEV);
	ASSERT_EQ(beneath_open(workspace.fd, "home/none", O_RDONLY, 0), -ENOENT);
}

TEST(a_workspace_with_room_is_not_full)
{
	const char *what = NULL;
	const struct workspace none = { .fd = -1 };
	set_up();
	ASSERT(!workspace_is_full(&workspace, &what));
	ASSERT(!workspace_is_full(&none, &what));
}

TEST(a_socket_below_a_directory_is_skipped_like_a_fifo)
{
	struct err err = { 0 };
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "host/d/socket" };
	set_up();
	ASSERT_EQ(mkdir("host/d", 0700), 0);
	auto_fd int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT_EQ(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);
	write_file("host/d/x", "x", 0600);
	pairs_add(&files, "host/d", "got");
	ASSERT_OK(workspace_copy_in(&workspace, &files, &err));
	check_file("cell/home/got/x", "x");
}

TEST(a_named_link_in_a_circle_is_an_error)
{
	struct err err = { 0 };
	set_up();
	ASSERT_EQ(symlink("loop", "host/loop"), 0);
	pairs_add(&files, "host/loop", NULL);
	ASSERT_FAIL(workspace_copy_in(&workspace, &files, &err), ERR_SYSTEM);
}
