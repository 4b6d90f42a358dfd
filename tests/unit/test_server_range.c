/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "base/own.h"
#include "server/range.h"

TEST(a_range_is_a_part_of_the_file)
{
	static const struct {
		const char *header;
		uint64_t from, len;
		bool is_part;
	} cases[] = {
		{ NULL, 0, 10, false },
		{ "bytes=0-9", 0, 10, true },
		{ "bytes=2-4", 2, 3, true },
		{ "bytes=7-", 7, 3, true },
		{ "bytes=-3", 7, 3, true },
		{ "bytes=-99", 0, 10, true },
		{ "bytes=9-99999999999999999999999", 9, 1, true },
		{ "bytes=4-2", 0, 10, false },
		{ "bytes=1-2,5-6", 0, 10, false },
		{ "bytes=", 0, 10, false },
		{ "bytes=a-b", 0, 10, false },
		{ "bytes= 1-2", 0, 10, false },
		{ "bytes=+1-2", 0, 10, false },
		{ "items=1-2", 0, 10, false },
		{ "bytes=--1", 0, 10, false },
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct range range;
		ASSERT(range_read(cases[i].header, 10, &range));
		ASSERT_EQ(range.from, cases[i].from);
		ASSERT_EQ(range.len, cases[i].len);
		ASSERT_EQ(range.is_part, cases[i].is_part);
	}
}

TEST(what_is_not_in_the_file_is_no_range)
{
	struct range range;
	ASSERT(!range_read("bytes=10-", 10, &range));
	ASSERT(!range_read("bytes=99999999999999999999-", 10, &range));
	ASSERT(!range_read("bytes=-0", 10, &range));
	ASSERT(!range_read("bytes=0-0", 0, &range));
	ASSERT(!range_read("bytes=-5", 0, &range));
	ASSERT(range_read(NULL, 0, &range));
	ASSERT_EQ(range.len, 0);
}
