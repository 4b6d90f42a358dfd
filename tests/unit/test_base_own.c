/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>

static int open_null(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

TEST(auto_fd_closes_at_scope_end)
{
	int number;
	{
		auto_fd int fd = open_null();
		number = fd;
		ASSERT(fcntl(number, F_GETFD) >= 0);
	}
	ASSERT_EQ(fcntl(number, F_GETFD), -1);
}

TEST(take_fd_hands_over_and_leaves_minus_one)
{
	int taken;
	{
		auto_fd int fd = open_null();
		taken = take_fd(&fd);
		ASSERT_EQ(fd, -1);
	}
	ASSERT(fcntl(taken, F_GETFD) >= 0);
}

TEST(auto_fd_leaves_descriptor_zero_to_its_owner)
{
	(void)close(0);
	{
		auto_fd int fd = open_null();
		ASSERT_EQ(fd, 0);
	}
	ASSERT_EQ(fcntl(0, F_GETFD), -1);
}

TEST(take_ptr_hands_over_and_leaves_null)
{
	char *taken = NULL;
	{
		auto_free char *text = xstrdup("kept");
		taken = take_ptr(&text);
		ASSERT(!text);
	}
	ASSERT_STR(taken, "kept");
	free(taken);
}

TEST(xcalloc_gives_zeroed_memory_also_for_nothing)
{
	auto_free unsigned char *bytes = xcalloc(100, 1);
	auto_free void *nothing = xcalloc(0, 0);
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(bytes[i], 0);
	ASSERT(nothing);
}

TEST(xstrndup_stops_at_the_length)
{
	auto_free char *text = xstrndup("abcdef", 3);
	ASSERT_STR(text, "abc");
}

TEST(xasprintf_formats)
{
	auto_free char *text = xasprintf("%d/%s", 7, "x");
	ASSERT_STR(text, "7/x");
}

TEST(xrealloc_keeps_what_was_there)
{
	auto_free char *text = xstrdup("abc");
	text = xrealloc(text, 1000, 10);
	ASSERT_STR(text, "abc");
}

TEST(xrealloc_aborts_when_the_product_overflows)
{
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(2);
		volatile size_t count = SIZE_MAX / 2;
		free(xrealloc(NULL, count, 4));
		_exit(0);
	}
	int status;
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}
