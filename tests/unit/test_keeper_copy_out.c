/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "base/io.h"
#include "keeper/workspace.h"
#include "unit/scratch.h"

/* The workspace is cell/ with its home and tmp; results go to out/. The test stands in the
 * directory that holds both. */
static struct workspace workspace;
static struct result result;
static struct spec spec;
static char root[] = "/tmp/hotcell-test-XXXXXX";

static void clean_up(void)
{
	scratch_remove(root);
	result_done(&result);
	spec_done(&spec);
}

static void set_up(void)
{
	ASSERT(mkdtemp(root));
	result_init(&result);
	spec_init(&spec);
	ASSERT_EQ(atexit(clean_up), 0);
	ASSERT_EQ(chdir(root), 0);
	ASSERT_EQ(mkdir("cell", 0755), 0);
	ASSERT_EQ(mkdir("cell/home", 0755) | mkdir("cell/tmp", 0755), 0);
	workspace.fd = open("cell", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ASSERT(workspace.fd >= 0);
	auto_fd int probe_fd = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (probe_fd < 0)
		SKIP("this file system has no nameless files");
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

static void take(const char *from, const char *to, const char *program)
{
	struct err err = { 0 };
	pairs_add(&spec.outs, from, to);
	ASSERT_OK(workspace_copy_out(&workspace, &spec, program, &result, &err));
	pairs_done(&spec.outs);
}

static const struct out_file *find(const char *path)
{
	for (size_t i = 0; i < result.file_count; i++)
		if (strcmp(result.files[i].path, path) == 0)
			return &result.files[i];
	FAIL("'%s' is not among %zu files", path, result.file_count);
}

static void check_saved(const char *path, const char *saved_to, const char *text)
{
	const struct out_file *file = find(path);
	ASSERT(!file->refused);
	ASSERT_STR(file->saved_to, saved_to);
	ASSERT_EQ(file->size, strlen(text));
	check_file(saved_to, text);
}

static void check_refused(const char *path, const char *why)
{
	const struct out_file *file = find(path);
	ASSERT_HAS(file->refused, why);
	ASSERT(!file->saved_to);
	auto_free char *target = xasprintf("out/%s", path);
	ASSERT(!is_there(target));
}

TEST(a_pattern_takes_the_files_it_matches)
{
	set_up();
	write_file("cell/home/a.txt", "alpha", 0600);
	write_file("cell/home/b.txt", "", 0700);
	write_file("cell/home/c.png", "png", 0644);
	write_file("cell/home/.d.txt", "hidden", 0644);
	take("*.txt", "out", NULL);
	ASSERT_EQ(result.file_count, 2);
	check_saved("a.txt", "out/a.txt", "alpha");
	check_saved("b.txt", "out/b.txt", "");
	ASSERT(!is_there("out/c.png") && !is_there("out/.d.txt"));
	ASSERT_EQ(result.warning_count, 0);
	struct stat st;
	ASSERT_EQ(stat("out/a.txt", &st), 0);
	ASSERT_EQ(st.st_mode & 0111, 0);
	ASSERT_EQ(stat("out/b.txt", &st), 0);
	ASSERT(st.st_mode & 0100);
	take(".*", "out", NULL);
	check_saved(".d.txt", "out/.d.txt", "hidden");
}

TEST(a_directory_is_taken_with_all_below)
{
	set_up();
	ASSERT_EQ(mkdir("cell/home/d", 0755) | mkdir("cell/home/d/e", 0755), 0);
	write_file("cell/home/d/x", "x", 0644);
	write_file("cell/home/d/e/.y", "yy", 0644);
	write_file("cell/home/z", "z", 0644);
	take("d", "out", NULL);
	ASSERT_EQ(result.file_count, 2);
	check_saved("d/x", "out/d/x", "x");
	check_saved("d/e/.y", "out/d/e/.y", "yy");
}

TEST(a_star_stays_within_one_directory)
{
	set_up();
	ASSERT_EQ(mkdir("cell/home/d", 0755) | mkdir("cell/home/d/e", 0755), 0);
	write_file("cell/home/d/x.c", "x", 0644);
	write_file("cell/home/d/e/y.c", "y", 0644);
	take("d/*.c", "out", NULL);
	ASSERT_EQ(result.file_count, 1);
	check_saved("d/x.c", "out/d/x.c", "x");
	take("d/*/*.c", "out", NULL);
	check_saved("d/e/y.c", "out/d/e/y.c", "y");
}

TEST(absolute_patterns_name_home_and_tmp)
{
	set_up();
	write_file("cell/home/a", "home", 0644);
	write_file("cell/tmp/b", "tmp", 0644);
	take("/home/user/a", "out", NULL);
	take("/tmp/b", "out", NULL);
	check_saved("a", "out/a", "home");
	check_saved("/tmp/b", "out/b", "tmp");
	ASSERT_EQ(result.file_count, 2);
}

TEST(a_pattern_without_a_match_is_a_warning)
{
	set_up();
	take("*.none", "out", NULL);
	ASSERT_EQ(result.file_count, 0);
	ASSERT_EQ(result.warning_count, 1);
	ASSERT_HAS(result.warnings[0], "*.none");
}

TEST(what_is_no_regular_file_is_refused_with_its_reason_and_without_waiting)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "cell/home/socket" };
	set_up();
	write_file("secret", "secret", 0600);
	ASSERT_EQ(symlink("../../secret", "cell/home/link"), 0);
	ASSERT_EQ(symlink("/etc", "cell/home/dirlink"), 0);
	ASSERT_EQ(symlink("nowhere", "cell/home/dangling"), 0);
	ASSERT_EQ(mkfifo("cell/home/fifo", 0600), 0);
	auto_fd int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT_EQ(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);
	bool has_device = mknod("cell/home/device", S_IFCHR | 0600, makedev(1, 5)) == 0;
	(void)alarm(10); /* nothing here may block */
	take("*", "out", NULL);
	check_refused("link", "a symbolic link");
	check_refused("dirlink", "a symbolic link");
	check_refused("dangling", "a symbolic link");
	check_refused("fifo", "not a regular file");
	ASSERT(find("socket")->refused);
	ASSERT(!is_there("out/socket"));
	if (has_device)
		ASSERT(find("device")->refused);
	ASSERT_EQ(result.file_count, has_device ? 6 : 5);
}

TEST(a_link_on_the_way_is_not_walked)
{
	set_up();
	ASSERT_EQ(mkdir("private", 0755), 0);
	write_file("private/x", "secret", 0644);
	ASSERT_EQ(symlink("../../private", "cell/home/d"), 0);
	take("d/x", "out", NULL);
	ASSERT_EQ(result.file_count, 0);
	ASSERT(!is_there("out/d") && !is_there("out/x"));
}

TEST(a_file_that_is_there_is_replaced_in_one_step)
{
	set_up();
	write_file("cell/home/a", "new", 0644);
	ASSERT_EQ(mkdir("out", 0755), 0);
	write_file("out/a", "old and longer", 0644);
	auto_fd int old_fd = open("out/a", O_RDONLY | O_CLOEXEC);
	take("a", "out", NULL);
	check_saved("a", "out/a", "new");
	char text[32] = "";
	ASSERT_EQ(pread(old_fd, text, sizeof(text), 0), 14); /* who had it open keeps it */
	ASSERT_STR(text, "old and longer");
	size_t count = 0;
	auto_dir DIR *dir = opendir("out");
	while (dir && readdir(dir))
		count++;
	ASSERT_EQ(count, 3); /* nothing aside is left */
}

TEST(a_link_at_the_target_is_replaced_not_written_through)
{
	set_up();
	write_file("cell/home/a", "new", 0644);
	write_file("precious", "old", 0644);
	ASSERT_EQ(mkdir("out", 0755), 0);
	ASSERT_EQ(symlink("../precious", "out/a"), 0);
	take("a", "out", NULL);
	check_file("precious", "old");
	check_saved("a", "out/a", "new");
}

TEST(a_directory_in_the_way_is_kept_and_told)
{
	set_up();
	write_file("cell/home/a", "new", 0644);
	write_file("cell/home/b", "b", 0644);
	ASSERT_EQ(mkdir("out", 0755) | mkdir("out/a", 0755), 0);
	write_file("out/a/kept", "kept", 0644);
	take("?", "out", NULL);
	ASSERT_HAS(find("a")->refused, "irectory");
	check_file("out/a/kept", "kept");
	check_saved("b", "out/b", "b");
}

TEST(the_program_is_no_result_unless_named)
{
	set_up();
	write_file("cell/home/main.py", "code", 0644);
	write_file("cell/home/other.py", "other", 0644);
	ASSERT_EQ(mkdir("cell/home/d", 0755), 0);
	write_file("cell/home/d/main.py", "mine", 0644);
	take("*", "out", "main.py");
	ASSERT_EQ(result.file_count, 2);
	check_saved("other.py", "out/other.py", "other");
	check_saved("d/main.py", "out/d/main.py", "mine");
	ASSERT(!is_there("out/main.py"));
	take("main.py", "out", "main.py");
	check_saved("main.py", "out/main.py", "code");
}

TEST(odd_names_come_out_as_they_are)
{
	static const char *const names[] = { "new\nline", "\xff\xfe", "-rf", "a b", "*",
		"\x1b[31m" };
	char longest[256];
	set_up();
	memset(longest, 'n', 255);
	longest[255] = '\0';
	for (size_t i = 0; i <= COUNT_OF(names); i++) {
		const char *name = i < COUNT_OF(names) ? names[i] : longest;
		auto_free char *path = xasprintf("cell/home/%s", name);
		write_file(path, "odd", 0644);
	}
	take("*", "out", NULL);
	ASSERT_EQ(result.file_count, COUNT_OF(names) + 1);
	for (size_t i = 0; i <= COUNT_OF(names); i++) {
		const char *name = i < COUNT_OF(names) ? names[i] : longest;
		auto_free char *path = xasprintf("out/%s", name);
		check_saved(name, path, "odd");
	}
}

TEST(a_tree_deeper_than_the_limit_is_told)
{
	set_up();
	auto_free char *path = xstrdup("cell/home/d");
	ASSERT_EQ(mkdir(path, 0755), 0);
	for (int i = 0; i < LIMIT_TREE_DEPTH; i++) {
		char *longer = xasprintf("%s/d", path);
		free(path);
		path = longer;
		ASSERT_EQ(mkdir(path, 0755), 0);
	}
	write_file("cell/home/d/top", "top", 0644);
	take("d", "out", NULL);
	check_saved("d/top", "out/d/top", "top");
	ASSERT_EQ(result.file_count, 2);
	size_t other = strcmp(result.files[0].path, "d/top") == 0;
	ASSERT_HAS(result.files[other].refused, "deep");
}

TEST(targets_are_made_with_all_their_parents)
{
	set_up();
	write_file("cell/home/x", "x", 0644);
	take("x", "a/b/c", NULL);
	check_saved("x", "a/b/c/x", "x");
}

TEST(a_target_that_is_a_file_is_refused_in_advance)
{
	struct err err = { 0 };
	set_up();
	write_file("taken", "x", 0644);
	pairs_add(&spec.outs, "*", "taken");
	ASSERT_FAIL(workspace_check_out(&spec.outs, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "--out: 'taken'");
	pairs_done(&spec.outs);
	pairs_add(&spec.outs, "*", "not-yet");
	ASSERT_OK(workspace_check_out(&spec.outs, &err));
	pairs_done(&spec.outs);
}

TEST(a_target_that_cannot_be_made_is_an_error_that_names_the_option)
{
	struct err err = { 0 };
	set_up();
	write_file("taken", "x", 0644);
	pairs_add(&spec.outs, "*", "taken/dir");
	ASSERT_FAIL(workspace_copy_out(&workspace, &spec, NULL, &result, &err), ERR_SYSTEM);
	ASSERT_HAS(err.text, "--out");
	ASSERT_HAS(err.text, "taken/dir");
	pairs_done(&spec.outs);
	pairs_add(&spec.outs, "*", "taken");
	ASSERT_FAIL(workspace_copy_out(&workspace, &spec, NULL, &result, &err), ERR_SYSTEM);
	ASSERT_EQ(err.sys, ENOTDIR);
}

TEST(a_hole_stays_a_hole)
{
	struct stat st;
	set_up();
	auto_fd int fd = open("cell/home/sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_EQ(ftruncate(fd, 64 << 20), 0);
	take("sparse", "out", NULL);
	ASSERT_EQ(stat("out/sparse", &st), 0);
	ASSERT_EQ(st.st_size, 64 << 20);
	ASSERT(st.st_blocks * 512 < 1 << 20);
}

TEST(a_file_with_the_longest_name_is_replaced_too)
{
	char path[300] = "cell/home/";
	set_up();
	memset(path + strlen(path), 'n', 255);
	write_file(path, "new", 0644);
	take("*", "out", NULL);
	take("*", "out", NULL);
	ASSERT_EQ(result.file_count, 2);
	ASSERT(!result.files[1].refused);
}

TEST(a_pattern_may_be_written_with_a_final_slash_or_dot)
{
	static const char *const patterns[] = { "d/", "./d", "/home/user//d", "/home/user/d/" };
	set_up();
	ASSERT_EQ(mkdir("cell/home/d", 0755), 0);
	write_file("cell/home/d/x", "x", 0644);
	for (size_t i = 0; i < COUNT_OF(patterns); i++) {
		take(patterns[i], "out", NULL);
		if (result.file_count != i + 1)
			FAIL("%s", patterns[i]);
	}
}

TEST(the_sum_of_what_is_taken_is_bounded_by_the_cells_disk)
{
	char text[4097];
	set_up();
	memset(text, 'x', 4096);
	text[4096] = '\0';
	spec.disk = 10 * 4096;
	for (int i = 0; i < 12; i++) {
		char path[64];
		(void)snprintf(path, sizeof(path), "cell/home/%d", i);
		write_file(path, text, 0644);
	}
	take("*", "out", NULL);
	size_t refused = 0;
	for (size_t i = 0; i < result.file_count; i++)
		refused += result.files[i].refused != NULL;
	ASSERT_EQ(result.file_count, 12);
	ASSERT_EQ(refused, 2);
}

TEST(more_files_than_the_limit_is_a_warning)
{
	set_up();
	for (int i = 0; i < LIMIT_TREE_FILES + 1; i++) {
		char path[64];
		(void)snprintf(path, sizeof(path), "cell/home/%d", i);
		write_file(path, "", 0644);
	}
	take("*", "out", NULL);
	ASSERT_EQ(result.file_count, LIMIT_TREE_FILES);
	ASSERT_EQ(result.warning_count, 1);
}
