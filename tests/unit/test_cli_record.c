/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <time.h>

#include "cli/record.h"

static struct err err;
static char since[24];

TEST(a_date_becomes_what_ids_begin_with)
{
	ASSERT_OK(record_since("2026-11-15", since, &err));
	ASSERT_STR(since, "20261115");
	ASSERT_OK(record_since("2026-11-15T18:44:55Z", since, &err));
	ASSERT_STR(since, "20261115T184455Z");
}

TEST(a_time_ago_is_before_now_and_after_one_longer_ago)
{
	char earlier[24];
	struct result now;
	result_init(&now);
	static const char *const ago[] = { "0s", "90s", "10m", "2h", "3d", "999999d" };
	(void)snprintf(earlier, sizeof(earlier), "%.16s", now.id);
	for (size_t i = 0; i < COUNT_OF(ago); i++) {
		ASSERT_OK(record_since(ago[i], since, &err));
		ASSERT_EQ(strlen(since), 16);
		if (i > 0)
			ASSERT(strcmp(since, earlier) < 0);
		(void)snprintf(earlier, sizeof(earlier), "%s", since);
	}
	result_done(&now);
}

TEST(anything_else_is_refused)
{
	static const char *const bad[] = { "", "d", "3", "3w", "-3d", "1234567s", "yesterday",
		"2026-11", "2026-11-15T", "2026-11-15 18:44:55", "2026/11/15", "20261115",
		"2026-11-15T18:44:55" };
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		ASSERT_FAIL(record_since(bad[i], since, &err), ERR_INVALID);
		ASSERT_HAS(err.text, "--since: ");
	}
}
