/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "base/own.h"
#include "server/feed.h"

/* The jobs with bars between them. */
static void join(const char *text, char *out, size_t size)
{
	struct feed feed;
	struct err err = { 0 };
	const char *job = NULL;
	size_t len = 0;
	size_t used = 0;
	size_t count = 0;
	out[0] = '\0';
	ASSERT_OK(feed_open(&feed, text, strlen(text), &err));
	while (feed_next(&feed, &job, &len)) {
		used += (size_t)snprintf(
			out + used, size - used, "%s%.*s", count++ ? "|" : "", (int)len, job);
		ASSERT(used < size);
	}
	ASSERT_EQ(count, feed.total);
	ASSERT(!feed_next(&feed, &job, &len));
}

TEST(lines_are_jobs_and_blank_ones_are_not)
{
	char out[128];
	join("{1}\n\n \t\r\n{2}\r\n{3}", out, sizeof(out));
	ASSERT_STR(out, "{1}|{2}\r|{3}");
	join("", out, sizeof(out));
	ASSERT_STR(out, "");
	join("\n\n", out, sizeof(out));
	ASSERT_STR(out, "");
}

TEST(items_of_an_array_are_jobs_whatever_is_in_them)
{
	char out[256];
	join(" [ {\"a\":[1,2]} ,{\"b\":\"],[\\\"\"}\n] \n", out, sizeof(out));
	ASSERT_STR(out, "{\"a\":[1,2]} |{\"b\":\"],[\\\"\"}\n");
	join("[]", out, sizeof(out));
	ASSERT_STR(out, "");
	join("[ \n ]", out, sizeof(out));
	ASSERT_STR(out, "");
	join("[1,,2]", out, sizeof(out));
	ASSERT_STR(out, "1||2");
	join("[1,]", out, sizeof(out));
	ASSERT_STR(out, "1|");
}

TEST(lines_are_counted)
{
	static const char text[] = "\n{1}\n\n{2}\n";
	struct feed feed;
	struct err err = { 0 };
	const char *job = NULL;
	size_t len = 0;
	ASSERT_OK(feed_open(&feed, text, strlen(text), &err));
	ASSERT_EQ(feed.total, 2);
	ASSERT(feed_next(&feed, &job, &len));
	ASSERT_EQ(feed.line, 2);
	ASSERT(feed_next(&feed, &job, &len));
	ASSERT_EQ(feed.line, 4);
}

TEST(an_array_must_end_and_be_all_there_is)
{
	static const char *const bad[] = { "[", "[1", "[\"]", "[{]", "[1] 2", "[[1]", "[1]]",
		"[\"\\" };
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct feed feed;
		struct err err = { 0 };
		ASSERT_FAIL(feed_open(&feed, bad[i], strlen(bad[i]), &err), ERR_INVALID);
	}
}
