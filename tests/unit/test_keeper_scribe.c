/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/own.h"
#include "keeper/scribe.h"
#include "unit/scratch.h"

static char dir[] = "/tmp/hotcell-unit-XXXXXX";
static struct loop loop;
static struct scribes scribes;
static struct workspace workspace = { .fd = -1 };
static int told_count;
static int told_r;
static struct snapshot_report told_report;

static void set_up(void)
{
	ASSERT(mkdtemp(dir) != NULL);
	workspace.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	workspace.uid = geteuid();
	workspace.gid = getegid();
	ASSERT(mkdirat(workspace.fd, "home", 0700) == 0);
	ASSERT(loop_init(&loop) == 0);
	scribes_init(&scribes, &loop);
	told_count = 0;
}

static void clean_up(void)
{
	scribes_done(&scribes);
	loop_done(&loop);
	own_close(&workspace.fd);
	scratch_remove(dir);
}

static void be_told(
	void *context, int r, const struct snapshot_report *report, const struct err *err)
{
	(void)context;
	(void)err;
	told_count++;
	told_r = r;
	told_report = *report;
}

static void order(enum scribe_work work, uint32_t id, uint32_t previous)
{
	const struct scribe_order what = { .work = work, .id = id, .previous = previous };
	scribes_order(&scribes, &workspace, &what, be_told, &told_count);
}

static void await(int count)
{
	for (int i = 0; told_count < count && i < 100; i++)
		ASSERT(loop_turn(&loop, 100) == 0);
	ASSERT_EQ(told_count, count);
}

static void write_file(const char *name, const char *text)
{
	auto_fd int fd = openat(workspace.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ASSERT(fd >= 0 && io_write(fd, text, strlen(text)) == 0);
}

TEST(files_are_copied_and_brought_back_by_another_process)
{
	char text[16] = "";
	set_up();
	write_file("home/f", "one");
	order(SCRIBE_TAKE, 1, 0);
	await(1);
	ASSERT_EQ(told_r, 0);
	ASSERT_EQ(told_report.files, 1);
	write_file("home/f", "two");
	order(SCRIBE_RESTORE, 1, 0);
	await(2);
	ASSERT_EQ(told_r, 0);
	ASSERT(io_read_at(workspace.fd, "home/f", text, sizeof(text)) == 3);
	ASSERT_STR(text, "one");
	order(SCRIBE_DROP, 1, 0);
	await(3);
	order(SCRIBE_RESTORE, 1, 0);
	await(4);
	ASSERT_EQ(told_r, -1);
	clean_up();
}

TEST(orders_of_a_scribe_that_died_fail_and_the_next_has_another)
{
	set_up();
	order(SCRIBE_TAKE, 1, 0);
	await(1);
	ASSERT_EQ(kill(scribes.items[0].pid, SIGSTOP), 0);
	order(SCRIBE_TAKE, 2, 0);
	ASSERT_EQ(kill(scribes.items[0].pid, SIGKILL), 0);
	await(2);
	ASSERT_EQ(told_r, -1);
	order(SCRIBE_TAKE, 3, 0);
	await(3);
	ASSERT_EQ(told_r, 0);
	clean_up();
}

TEST(who_does_not_want_to_know_is_not_told)
{
	set_up();
	order(SCRIBE_TAKE, 1, 0);
	scribes_forget(&scribes, &told_count);
	for (int i = 0; i < 100 && scribes.items[0].count > 0; i++)
		ASSERT(loop_turn(&loop, 100) == 0);
	ASSERT_EQ(told_count, 0);
	clean_up();
}
