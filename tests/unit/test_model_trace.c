/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "base/own.h"
#include "model/trace.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"

TEST(trace_takes_what_the_standard_writes)
{
	char id[TRACE_ID_SIZE];
	ASSERT(trace_is_valid("00-" TRACE "-" SPAN "-01"));
	ASSERT(trace_is_valid("00-" TRACE "-" SPAN "-00"));
	trace_id("00-" TRACE "-" SPAN "-01", id);
	ASSERT_STR(id, TRACE);
}

TEST(trace_refuses_everything_else)
{
	static const char *const bad[] = { "", "00", "00-" TRACE "-" SPAN, TRACE,
		"01-" TRACE "-" SPAN "-01", "ff-" TRACE "-" SPAN "-01",
		"00-" TRACE "-" SPAN "-01-more", "00-" TRACE "-" SPAN "-0g",
		"00-0AF7651916CD43DD8448EB211C80319C-" SPAN "-01",
		"00-00000000000000000000000000000000-" SPAN "-01",
		"00-" TRACE "-0000000000000000-01", "00-" TRACE "x" SPAN "-01",
		"00-" TRACE "-" SPAN "\n01" };
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		ASSERT(!trace_is_valid(bad[i]));
}
