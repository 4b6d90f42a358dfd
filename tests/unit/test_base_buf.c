/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>

#include "base/buf.h"
#include "base/io.h"

TEST(buf_is_empty_text_before_the_first_append)
{
	auto_buf struct buf buf = { 0 };
	buf_init(&buf, 10);
	ASSERT_STR(buf_text(&buf), "");
	ASSERT_EQ(buf.len, 0);
}

TEST(buf_append_keeps_the_bytes_and_ends_with_nul)
{
	auto_buf struct buf buf = { 0 };
	buf_init(&buf, 10);
	ASSERT_EQ(buf_append(&buf, "ab\0c", 4), 0);
	ASSERT_EQ(buf.len, 4);
	ASSERT(memcmp(buf.data, "ab\0c", 5) == 0);
}

TEST(buf_append_is_all_or_nothing_at_the_cap)
{
	auto_buf struct buf buf = { 0 };
	buf_init(&buf, 4);
	ASSERT_EQ(buf_append(&buf, "abc", 3), 0);
	ASSERT_EQ(buf_append(&buf, "de", 2), -ENOSPC);
	ASSERT_STR(buf_text(&buf), "abc");
	ASSERT_EQ(buf_append(&buf, "d", 1), 0);
	ASSERT_EQ(buf_append(&buf, "e", 1), -ENOSPC);
	ASSERT_EQ(buf_append(&buf, "e", SIZE_MAX), -ENOSPC);
	ASSERT_STR(buf_text(&buf), "abcd");
}

TEST(buf_grows_past_many_sizes)
{
	auto_buf struct buf buf = { 0 };
	buf_init(&buf, 100000);
	for (int i = 0; i < 10000; i++)
		ASSERT_EQ(buf_append(&buf, "0123456789", 10), 0);
	ASSERT_EQ(buf.len, 100000);
	ASSERT_EQ(buf.data[99999], '9');
	ASSERT_EQ(buf.data[100000], 0);
}

TEST(buf_printf_formats_and_obeys_the_cap)
{
	auto_buf struct buf buf = { 0 };
	buf_init(&buf, 5);
	ASSERT_EQ(buf_printf(&buf, "%d-%s", 12, "x"), 0);
	ASSERT_STR(buf_text(&buf), "12-x");
	ASSERT_EQ(buf_printf(&buf, "%s", "yz"), -ENOSPC);
	ASSERT_STR(buf_text(&buf), "12-x");
}

TEST(buf_read_takes_a_whole_pipe)
{
	auto_buf struct buf buf = { 0 };
	int ends[2];
	ASSERT_EQ(pipe(ends), 0);
	ASSERT_EQ(io_write(ends[1], "hello", 5), 0);
	ASSERT_EQ(close(ends[1]), 0);
	buf_init(&buf, 5);
	ASSERT_EQ(buf_read(&buf, ends[0]), 0);
	ASSERT_STR(buf_text(&buf), "hello");
}

TEST(buf_read_stops_past_the_cap)
{
	auto_buf struct buf buf = { 0 };
	int ends[2];
	ASSERT_EQ(pipe(ends), 0);
	ASSERT_EQ(io_write(ends[1], "hello!", 6), 0);
	ASSERT_EQ(close(ends[1]), 0);
	buf_init(&buf, 5);
	ASSERT_EQ(buf_read(&buf, ends[0]), -ENOSPC);
}

TEST(buf_read_passes_the_error_on)
{
	auto_buf struct buf buf = { 0 };
	buf_init(&buf, 5);
	ASSERT_EQ(buf_read(&buf, -1), -EBADF);
}

TEST(buf_done_leaves_nothing)
{
	struct buf buf;
	buf_init(&buf, 5);
	ASSERT_EQ(buf_append(&buf, "a", 1), 0);
	buf_done(&buf);
	ASSERT(!buf.data);
	ASSERT_EQ(buf_append(&buf, "a", 1), -ENOSPC);
}
