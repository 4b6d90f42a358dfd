/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/io.h"
#include "cli/history.h"

static char *new_path(void)
{
	char dir[] = "/tmp/hotcell-history-XXXXXX";
	ASSERT(mkdtemp(dir));
	return xasprintf("%s/python", dir);
}

static void remove_path(const char *path)
{
	auto_free char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	(void)unlink(path);
	ASSERT_EQ(rmdir(dir), 0); /* nothing else is left there */
}

TEST(entries_of_many_lines_come_back_as_they_were)
{
	auto_free char *path = new_path();
	struct history history;
	history_open_file(&history, path);
	history_add(&history, "x = 1");
	history_add(&history, "def f():\n\treturn \"ñ\\\"\"");
	history_done(&history);
	history_open_file(&history, path);
	ASSERT_EQ(history.items.count, (size_t)2);
	ASSERT_STR(history.items.items[1], "def f():\n\treturn \"ñ\\\"\"");
	history_done(&history);
	remove_path(path);
}

TEST(the_file_is_of_its_user_alone)
{
	auto_free char *path = new_path();
	struct history history;
	struct stat info;
	history_open_file(&history, path);
	history_add(&history, "x");
	ASSERT_EQ(stat(path, &info), 0);
	ASSERT_EQ(info.st_mode & 0777, 0600u);
	history_done(&history);
	remove_path(path);
}

TEST(blanks_and_repetitions_are_not_kept)
{
	auto_free char *path = new_path();
	struct history history;
	history_open_file(&history, path);
	history_add(&history, "x");
	history_add(&history, "x");
	history_add(&history, " \n\t");
	history_add(&history, "y");
	history_add(&history, "x");
	ASSERT_EQ(history.items.count, (size_t)3);
	history_done(&history);
	remove_path(path);
}

TEST(a_file_that_grew_too_long_is_shortened_to_the_latest)
{
	auto_free char *path = new_path();
	struct history history;
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	for (int i = 0; i < 3 * HISTORY_MAX; i++) {
		auto_free char *line = xasprintf("{\"code\":\"%d\"}\n", i);
		ASSERT_EQ(io_write(fd, line, strlen(line)), 0);
	}
	history_open_file(&history, path);
	history_done(&history);
	history_open_file(&history, path);
	ASSERT_EQ(history.items.count, (size_t)HISTORY_MAX);
	ASSERT_STR(history.items.items[HISTORY_MAX - 1], "2999");
	history_done(&history);
	remove_path(path);
}

TEST(lines_that_are_no_entries_are_passed_over)
{
	auto_free char *path = new_path();
	struct history history;
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	static const char lines[] = "{\"code\":\"a\"}\nrubbish\n{\"code\":7}\n{}\n{\"code\":\"b\"}";
	ASSERT_EQ(io_write(fd, lines, strlen(lines)), 0);
	history_open_file(&history, path);
	ASSERT_EQ(history.items.count, (size_t)2);
	history_done(&history);
	remove_path(path);
}

TEST(without_a_place_it_is_kept_for_the_moment)
{
	struct history history;
	history_open_file(&history, "/nonexistent/history/python");
	history_add(&history, "x");
	ASSERT_EQ(history.items.count, (size_t)1);
	history_done(&history);
}

TEST(an_entry_is_found_by_its_beginning_or_anywhere)
{
	struct history history = { 0 };
	size_t index = 0;
	history_add(&history, "import os");
	history_add(&history, "x = 1");
	history_add(&history, "import re");
	ASSERT(history_find(&history, 3, "import", false, NULL, &index));
	ASSERT_EQ(index, (size_t)2);
	ASSERT(history_find(&history, 3, "import", false, "import re", &index));
	ASSERT_EQ(index, (size_t)0);
	ASSERT(history_find(&history, 3, "= 1", true, NULL, &index));
	ASSERT_EQ(index, (size_t)1);
	ASSERT(!history_find(&history, 0, "import", false, NULL, &index));
	ASSERT(!history_find(&history, 3, "= 1", false, NULL, &index));
	history_done(&history);
}
