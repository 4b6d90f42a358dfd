/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/place.h"
#include "unit/scratch.h"

enum { NOBODY = 65534 };

static char root[] = "/tmp/hotcell-test-XXXXXX";
static struct err err;

/* The effective user alone was changed, so there is a way back. */
static void clean_up(void)
{
	(void)seteuid(getuid());
	scratch_remove(root);
}

static void set_up(void)
{
	ASSERT(mkdtemp(root));
	ASSERT_EQ(atexit(clean_up), 0);
	ASSERT_EQ(chdir(root), 0);
}

/* Root has /run; everybody else is sent elsewhere. */
static void become_ordinary(void)
{
	if (geteuid() != 0)
		return;
	ASSERT_EQ(chown(root, NOBODY, NOBODY), 0);
	ASSERT_EQ(seteuid(NOBODY), 0);
}

TEST(root_has_its_directory_in_run)
{
	char path[PLACE_MAX];
	if (geteuid() != 0 || access("/run", W_OK) < 0)
		SKIP("not root of a machine");
	ASSERT_EQ(setenv("XDG_RUNTIME_DIR", "/elsewhere", 1), 0);
	place_run_dir(path, sizeof(path));
	ASSERT_STR(path, "/run/hotcell");
}

TEST(an_ordinary_user_has_it_in_the_runtime_directory_or_else_in_tmp)
{
	char path[PLACE_MAX], want[PLACE_MAX];
	set_up();
	become_ordinary();
	ASSERT_EQ(setenv("XDG_RUNTIME_DIR", "/run/user/1", 1), 0);
	place_run_dir(path, sizeof(path));
	ASSERT_STR(path, "/run/user/1/hotcell");
	(void)snprintf(want, sizeof(want), "/tmp/hotcell-%u", geteuid());
	static const char *const useless[] = { "", "relative/dir", NULL };
	for (size_t i = 0; i < COUNT_OF(useless); i++) {
		ASSERT_EQ(useless[i] ? setenv("XDG_RUNTIME_DIR", useless[i], 1)
				     : unsetenv("XDG_RUNTIME_DIR"),
			0);
		place_run_dir(path, sizeof(path));
		ASSERT_STR(path, want);
	}
}

TEST(a_runtime_directory_too_long_for_us_is_not_cut_into_another)
{
	char path[PLACE_MAX];
	char longest[PLACE_MAX + 1] = "/";
	set_up();
	become_ordinary();
	memset(longest + 1, 'x', sizeof(longest) - 2);
	for (size_t len = sizeof(longest) - 1; len > 1; len--) {
		longest[len] = '\0';
		ASSERT_EQ(setenv("XDG_RUNTIME_DIR", longest, 1), 0);
		place_run_dir(path, sizeof(path));
		if (strncmp(path, "/tmp/hotcell-", 13) == 0)
			continue;
		auto_free char *want = xasprintf("%s/hotcell", longest);
		ASSERT_STR(path, want);
	}
}

TEST(the_directory_is_made_for_this_user_alone)
{
	struct stat st;
	auto_fd int fd = -1;
	set_up();
	become_ordinary();
	ASSERT_EQ(setenv("XDG_RUNTIME_DIR", root, 1), 0);
	(void)umask(0);
	ASSERT_OK(place_open_run_dir(&fd, &err));
	ASSERT_EQ(fstat(fd, &st), 0);
	ASSERT(S_ISDIR(st.st_mode));
	ASSERT_EQ(st.st_mode & 07777, 0700);
	ASSERT_EQ(st.st_uid, geteuid());
	ASSERT(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	int again = -1;
	ASSERT_OK(place_open_run_dir(&again, &err));
	(void)close(again);
}

TEST(a_directory_that_others_could_change_is_refused)
{
	static const mode_t open_to_others[] = { 0770, 0702, 0777 };
	int fd = -1;
	set_up();
	become_ordinary();
	ASSERT_EQ(setenv("XDG_RUNTIME_DIR", root, 1), 0);
	ASSERT_EQ(mkdir("hotcell", 0700), 0);
	for (size_t i = 0; i < COUNT_OF(open_to_others); i++) {
		ASSERT_EQ(chmod("hotcell", open_to_others[i]), 0);
		ASSERT_FAIL(place_open_run_dir(&fd, &err), ERR_INVALID);
		ASSERT_HAS(err.text, "open to others");
	}
	ASSERT_EQ(chmod("hotcell", 0755), 0);
	ASSERT_OK(place_open_run_dir(&fd, &err));
	(void)close(fd);
}

TEST(a_link_and_a_file_are_refused)
{
	int fd = -1;
	set_up();
	become_ordinary();
	ASSERT_EQ(setenv("XDG_RUNTIME_DIR", root, 1), 0);
	ASSERT_EQ(mkdir("ours", 0700), 0);
	ASSERT_EQ(symlink("ours", "hotcell"), 0);
	ASSERT_FAIL(place_open_run_dir(&fd, &err), ERR_SYSTEM);
	ASSERT_EQ(unlink("hotcell"), 0);
	ASSERT_EQ(mknod("hotcell", S_IFREG | 0600, 0), 0);
	ASSERT_FAIL(place_open_run_dir(&fd, &err), ERR_SYSTEM);
	ASSERT_EQ(fd, -1);
}

TEST(somebody_elses_directory_is_refused)
{
	int fd = -1;
	if (geteuid() != 0)
		SKIP("only root can make somebody else's directory");
	set_up();
	ASSERT_EQ(mkdir("hotcell", 0700), 0);
	become_ordinary();
	ASSERT_EQ(setenv("XDG_RUNTIME_DIR", root, 1), 0);
	ASSERT_FAIL(place_open_run_dir(&fd, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "belongs to someone else");
	ASSERT_EQ(fd, -1);
}

TEST(state_is_where_the_user_says_or_where_it_belongs)
{
	char *path = NULL;
	set_up();
	become_ordinary();
	ASSERT_EQ(setenv("HOTCELL_STATE_DIR", "/srv/state", 1), 0);
	ASSERT_EQ(setenv("XDG_STATE_HOME", "/xdg", 1), 0);
	ASSERT_EQ(setenv("HOME", "/home/ana", 1), 0);
	static const char *const variables[] = { "HOTCELL_STATE_DIR", "XDG_STATE_HOME", "HOME" };
	static const char *const wanted[] = { "/srv/state", "/xdg/hotcell",
		"/home/ana/.local/state/hotcell" };
	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		ASSERT_OK(place_state_dir(&path, &err));
		ASSERT_STR(path, wanted[i]);
		free(path);
		ASSERT_EQ(unsetenv(variables[i]), 0);
	}
	ASSERT_FAIL(place_state_dir(&path, &err), ERR_MISSING);
	ASSERT_HAS(err.text, "HOTCELL_STATE_DIR");
}

TEST(a_relative_state_directory_is_refused)
{
	char *path = NULL;
	ASSERT_EQ(setenv("HOTCELL_STATE_DIR", "state", 1), 0);
	ASSERT_FAIL(place_state_dir(&path, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "HOTCELL_STATE_DIR: 'state' is not an absolute path");
}

TEST(a_program_is_found_beside_us_and_one_directory_above)
{
	char path[PATH_MAX + 64];
	ASSERT_OK(place_program("test_base_place", path, sizeof(path), &err));
	ASSERT_HAS(path, "/tests/unit/test_base_place");
	ASSERT_OK(place_program("unit/test_base_place", path, sizeof(path), &err));
	ASSERT_HAS(path, "/tests/unit/../unit/test_base_place");
	ASSERT_FAIL(place_program("no-such-program", path, sizeof(path), &err), ERR_MISSING);
	ASSERT_HAS(err.text, "no-such-program");
}

static void copy_self(const char *path)
{
	char chunk[65536];
	auto_fd int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	auto_fd int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	ASSERT(from >= 0 && to >= 0);
	ssize_t n = 0;
	while ((n = read(from, chunk, sizeof(chunk))) > 0)
		ASSERT_EQ(io_write(to, chunk, (size_t)n), 0);
}

/* This test runs once more, as the program of an installation. */
TEST(an_installed_program_finds_its_helpers_in_lib)
{
	char path[PATH_MAX + 64];
	int status = 0;
	if (getenv("HOTCELL_TEST_LIB")) {
		ASSERT_OK(place_program("helper", path, sizeof(path), &err));
		ASSERT_HAS(path, "/bin/../lib/hotcell/helper");
		return;
	}
	set_up();
	ASSERT_EQ(mkdir("bin", 0755) | mkdir("lib", 0755) | mkdir("lib/hotcell", 0755), 0);
	copy_self("bin/installed");
	copy_self("lib/hotcell/helper");
	pid_t pid = fork();
	if (pid == 0) {
		(void)setenv("HOTCELL_TEST_LIB", "1", 1);
		(void)dup2(STDERR_FILENO, STDOUT_FILENO);
		(void)execl("bin/installed", "installed", test_name, NULL);
		_exit(3);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
}
