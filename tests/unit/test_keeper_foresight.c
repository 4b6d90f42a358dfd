/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/io.h"
#include "keeper/foresight.h"
#include "unit/scratch.h"

/* The workspace is cell/, with its home; the test stands in the directory that holds it. */
static char root[] = "/tmp/hotcell-test-XXXXXX";
static struct workspace workspace;
static struct ahead ahead = AHEAD_NONE;
static struct foreseen foreseen;
static struct buf job;
static struct err err;

static void clean_up(void)
{
	foreseen_done(&foreseen);
	free(ahead.program);
	buf_done(&ahead.job);
	buf_done(&job);
	own_close(&workspace.fd);
	scratch_remove(root);
}

static void set_up(void)
{
	ASSERT(mkdtemp(root));
	ASSERT_EQ(atexit(clean_up), 0);
	ASSERT_EQ(chdir(root), 0);
	ASSERT_EQ(mkdir("cell", 0755) | mkdir("cell/home", 0755), 0);
	workspace = (struct workspace){ .fd = open("cell", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.uid = geteuid(),
		.gid = getegid() };
	ASSERT(workspace.fd >= 0);
	foreseen_init(&foreseen);
	buf_init(&job, 64);
	ASSERT_EQ(buf_append(&job, "main.py", 8), 0);
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
	foresee_job(&ahead, &foreseen);
	foresee_program(&ahead, &workspace, &foreseen);
	ASSERT_EQ(foreseen_take_job(&foreseen, &job), -1);
	ASSERT_OK(foreseen_take_program(&foreseen, &workspace, "main.py", &fd, &err));
	ASSERT_EQ(fd, -1);
	ASSERT(!is_there("cell/home/main.py"));
}

TEST(a_job_that_was_foreseen_is_sealed_and_given_once)
{
	char text[64];
	set_up();
	foresight_keep_job(&ahead, &job);
	foresee_job(&ahead, &foreseen);
	auto_fd int fd = foreseen_take_job(&foreseen, &job);
	ASSERT(fd >= 0);
	ASSERT_EQ(pread(fd, text, sizeof(text), 0), 8);
	ASSERT_STR(text, "main.py");
	ASSERT_EQ(pwrite(fd, "x", 1, 0), -1);
	ASSERT_EQ(foreseen_take_job(&foreseen, &job), -1);
}

TEST(another_job_is_not_taken_for_the_one_that_was_foreseen)
{
	set_up();
	foresight_keep_job(&ahead, &job);
	foresee_job(&ahead, &foreseen);
	job.data[0] = 'n';
	ASSERT_EQ(foreseen_take_job(&foreseen, &job), -1);
	ASSERT_EQ(buf_append(&job, "", 1), 0);
	job.data[0] = 'm';
	ASSERT_EQ(foreseen_take_job(&foreseen, &job), -1);
	foresight_keep_job(&ahead, &job); /* the next time it is this one */
	struct foreseen next;
	foreseen_init(&next);
	foresee_job(&ahead, &next);
	auto_fd int fd = foreseen_take_job(&next, &job);
	ASSERT(fd >= 0);
	foreseen_done(&next);
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
