/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/io.h"
#include "engine/cache.h"
#include "unit/scratch.h"

#define KEY "0123456789abcdef"

static char root[] = "/tmp/hotcell-test-XXXXXX";
static int cache = -1;

static void clean_up(void)
{
	own_close(&cache);
	scratch_remove(root);
}

static void set_up(void)
{
	ASSERT(mkdtemp(root));
	ASSERT_EQ(atexit(clean_up), 0);
	ASSERT_EQ(chdir(root), 0);
	cache = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT(cache >= 0);
}

static void make_file(const char *path)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ASSERT(fd >= 0);
}

static void use_days_ago(const char *path, int days)
{
	struct timespec when = { .tv_sec = time(NULL) - (time_t)days * 86400 };
	const struct timespec times[2] = { when, when };
	ASSERT_EQ(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static bool is_there(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

TEST(what_was_prepared_goes_when_nobody_used_it_for_a_month)
{
	set_up();
	ASSERT_EQ(mkdir("go-" KEY, 0755) | mkdir("go-" KEY "/d", 0755), 0);
	ASSERT_EQ(mkdir("rust-" KEY, 0755) | mkdir("builds", 0700) | mkdir("x-0123", 0755), 0);
	make_file("go-" KEY "/d/f");
	make_file("version-old");
	make_file("version-new");
	make_file("other-" KEY);
	use_days_ago("go-" KEY, 31);
	use_days_ago("rust-" KEY, 29);
	use_days_ago("builds", 99);
	use_days_ago("x-0123", 99);
	use_days_ago("version-old", 31);
	use_days_ago("version-new", 29);
	use_days_ago("other-" KEY, 99);
	cache_sweep(cache);
	ASSERT(!is_there("go-" KEY) && !is_there(".go-" KEY) && !is_there("version-old"));
	ASSERT(is_there("rust-" KEY) && is_there("builds") && is_there("x-0123"));
	ASSERT(is_there("version-new") && is_there("other-" KEY));
}

TEST(what_is_being_prepared_is_left_alone)
{
	set_up();
	ASSERT_EQ(mkdir("go-" KEY, 0755), 0);
	use_days_ago("go-" KEY, 31);
	make_file("go.lock");
	auto_fd int lock_fd = open("go.lock", O_RDWR | O_CLOEXEC);
	ASSERT_EQ(flock(lock_fd, LOCK_EX), 0);
	cache_sweep(cache);
	ASSERT(is_there("go-" KEY));
	own_close(&lock_fd);
	cache_sweep(cache);
	ASSERT(!is_there("go-" KEY));
}

TEST(using_it_keeps_it)
{
	set_up();
	ASSERT_EQ(mkdir("go-" KEY, 0755), 0);
	use_days_ago("go-" KEY, 31);
	auto_fd int fd = open("go-" KEY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cache_touch(fd);
	cache_sweep(cache);
	ASSERT(is_there("go-" KEY));
}

TEST(removing_a_tree_follows_no_link)
{
	set_up();
	ASSERT_EQ(mkdir("tree", 0755) | mkdir("tree/d", 0755) | mkdir("outside", 0755), 0);
	make_file("outside/file");
	make_file("tree/d/file");
	ASSERT_EQ(symlink("../outside", "tree/link") | symlink("outside", "link"), 0);
	cache_remove(cache, "tree");
	cache_remove(cache, "link");
	ASSERT(!is_there("tree") && !is_there("link") && is_there("outside/file"));
}

TEST(only_what_is_ours_alone_is_safe)
{
	set_up();
	ASSERT(cache_is_safe(cache));
	ASSERT_EQ(chmod(".", 0770), 0);
	ASSERT(!cache_is_safe(cache));
	ASSERT_EQ(chmod(".", 01777), 0);
	ASSERT(!cache_is_safe(cache));
	ASSERT_EQ(chmod(".", 0755), 0);
	if (geteuid() == 0) {
		ASSERT_EQ(chown(".", 61234, 61234), 0);
		ASSERT(!cache_is_safe(cache));
	}
}
