/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/io.h"
#include "keeper/foresight.h"
#include "unit/scratch.h"

#define BUILT "cell/tmp/" BUILD_NAME "/" BUILD_FILE

/* The workspace is cell/, with its home and tmp; the test stands in the directory that holds it. */
static char root[] = "/tmp/hotcell-test-XXXXXX";
static struct workspace workspace;
static struct ahead ahead = AHEAD_NONE;
static struct foreseen foreseen;
static struct err err;

static void clean_up(void)
{
	foreseen_done(&foreseen);
	foresight_done(&ahead);
	own_close(&workspace.fd);
	scratch_remove(root);
}

static void set_up(void)
{
	ASSERT(mkdtemp(root));
	ASSERT_EQ(atexit(clean_up), 0);
	ASSERT_EQ(chdir(root), 0);
	ASSERT_EQ(mkdir("cell", 0755) | mkdir("cell/home", 0755) | mkdir("cell/tmp", 0755), 0);
	workspace = (struct workspace){ .fd = open("cell", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.uid = geteuid(),
		.gid = getegid() };
	ASSERT(workspace.fd >= 0);
	foreseen_init(&foreseen);
}

/* What a compiler made, as the cache has it. */
static int make_build(const char *text)
{
	(void)unlink("main");
	auto_fd int fd = open("main", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	ASSERT(fd >= 0);
	ASSERT_EQ(io_write(fd, text, strlen(text)), 0);
	int build_fd = open("main", O_RDONLY | O_CLOEXEC);
	ASSERT(build_fd >= 0);
	return build_fd;
}

static bool is_there(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

TEST(a_client_that_ran_nothing_foresees_nothing)
{
	int fd = 0;
	set_up();
	foresee_program(&ahead, &workspace, &foreseen);
	ASSERT_OK(foreseen_take_program(&foreseen, &workspace, "main.py", &fd, &err));
	ASSERT_EQ(fd, -1);
	ASSERT(!is_there("cell/home/main.py"));
}

TEST(the_file_of_a_program_that_was_foreseen_is_the_cells_and_waits_for_its_code)
{
	char text[64];
	struct stat st;
	auto_fd int fd = -1;
	set_up();
	foresight_keep_program(&ahead, "main.py");
	foresee_program(&ahead, &workspace, &foreseen);
	ASSERT_EQ(stat("cell/home/main.py", &st), 0);
	ASSERT_EQ(st.st_size, 0);
	ASSERT_EQ(st.st_mode & 07777, 0644);
	ASSERT_OK(foreseen_take_program(&foreseen, &workspace, "main.py", &fd, &err));
	ASSERT(fd >= 0);
	ASSERT_OK(workspace_fill(fd, "main.py", "print(1)", 8, &err));
	ASSERT(io_read_at(AT_FDCWD, "cell/home/main.py", text, sizeof(text)) > 0);
	ASSERT_STR(text, "print(1)");
}

TEST(a_program_of_another_name_finds_no_trace_of_the_one_that_was_foreseen)
{
	int fd = 0;
	set_up();
	foresight_keep_program(&ahead, "main.py");
	foresee_program(&ahead, &workspace, &foreseen);
	ASSERT_OK(foreseen_take_program(&foreseen, &workspace, "other.py", &fd, &err));
	ASSERT_EQ(fd, -1);
	ASSERT(!is_there("cell/home/main.py"));
}

TEST(neither_does_one_that_has_no_file)
{
	int fd = 0;
	set_up();
	foresight_keep_program(&ahead, "main.py");
	foresee_program(&ahead, &workspace, &foreseen);
	ASSERT_OK(foreseen_take_program(&foreseen, &workspace, NULL, &fd, &err));
	ASSERT_EQ(fd, -1);
	ASSERT(!is_there("cell/home/main.py"));
	foresight_keep_program(&ahead, NULL);
	foresee_program(&ahead, &workspace, &foreseen);
	ASSERT(!is_there("cell/home/main.py"));
}

TEST(what_cannot_be_taken_away_is_an_error)
{
	int fd = 0;
	set_up();
	foresight_keep_program(&ahead, "main.py");
	ASSERT_EQ(mkdir("cell/home/main.py", 0755), 0);
	foresee_program(&ahead, &workspace, &foreseen);
	ASSERT_EQ(foreseen_take_program(&foreseen, &workspace, "other.py", &fd, &err), -1);
	ASSERT(strstr(err.text, "/home/user/main.py"));
}

TEST(a_build_that_was_foreseen_is_there_already)
{
	char text[64];
	bool is_built = false;
	set_up();
	auto_fd int build_fd = make_build("one");
	foresight_keep_build(&ahead, &build_fd);
	foresee_build(&ahead, &workspace, &foreseen);
	ASSERT(io_read_at(AT_FDCWD, BUILT, text, sizeof(text)) > 0);
	ASSERT_STR(text, "one");
	ASSERT_OK(foreseen_take_build(&foreseen, &workspace, &build_fd, &is_built, &err));
	ASSERT(is_built);
	ASSERT(is_there(BUILT));
}

TEST(a_lock_on_a_build_ends_with_whoever_made_it)
{
	set_up();
	auto_fd int build_fd = make_build("one");
	ASSERT_EQ(flock(build_fd, LOCK_SH), 0);
	foresight_keep_build(&ahead, &build_fd);
	own_close(&build_fd);
	auto_fd int other_fd = open("main", O_RDONLY | O_CLOEXEC);
	ASSERT_EQ(flock(other_fd, LOCK_EX | LOCK_NB), 0);
}

TEST(another_build_finds_no_trace_of_the_one_that_was_foreseen)
{
	bool is_built = true;
	set_up();
	auto_fd int build_fd = make_build("one");
	foresight_keep_build(&ahead, &build_fd);
	foresee_build(&ahead, &workspace, &foreseen);
	auto_fd int other_fd = make_build("two");
	ASSERT_OK(foreseen_take_build(&foreseen, &workspace, &other_fd, &is_built, &err));
	ASSERT(!is_built);
	ASSERT(!is_there("cell/tmp/" BUILD_NAME));
}

TEST(a_build_that_was_changed_since_is_another)
{
	bool is_built = true;
	const struct timespec tick = { .tv_nsec = 20000000 };
	set_up();
	auto_fd int build_fd = make_build("one");
	foresight_keep_build(&ahead, &build_fd);
	foresee_build(&ahead, &workspace, &foreseen);
	(void)nanosleep(&tick, NULL); /* the clock of files is a coarse one */
	auto_fd int fd = open("main", O_WRONLY | O_CLOEXEC);
	ASSERT_EQ(io_write(fd, "two", 3), 0);
	ASSERT_OK(foreseen_take_build(&foreseen, &workspace, &build_fd, &is_built, &err));
	ASSERT(!is_built);
	ASSERT(!is_there("cell/tmp/" BUILD_NAME));
}

TEST(what_is_not_compiled_finds_no_build)
{
	bool is_built = true;
	set_up();
	auto_fd int build_fd = make_build("one");
	foresight_keep_build(&ahead, &build_fd);
	foresee_build(&ahead, &workspace, &foreseen);
	ASSERT_OK(foreseen_take_build(&foreseen, &workspace, NULL, &is_built, &err));
	ASSERT(!is_built);
	ASSERT(!is_there("cell/tmp/" BUILD_NAME));
	foresight_keep_build(&ahead, NULL);
	ASSERT_EQ(ahead.build_fd, -1);
}

TEST(a_build_of_many_files_is_not_foreseen)
{
	set_up();
	ASSERT_EQ(mkdir("main", 0755), 0);
	auto_fd int build_fd = open("main", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	foresight_keep_build(&ahead, &build_fd);
	ASSERT_EQ(ahead.build_fd, -1);
	foresee_build(&ahead, &workspace, &foreseen);
	ASSERT(!is_there("cell/tmp/" BUILD_NAME));
}
