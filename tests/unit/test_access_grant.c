/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "access/access.h"

TEST(scopes_are_read_as_they_are_written)
{
	struct err err = { 0 };
	static const char *const lists[] = { "execute", "sessions", "execute,sessions",
		"execute,sessions,admin" };
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		unsigned int scopes = 0;
		char text[SCOPES_TEXT];
		ASSERT_OK(scopes_parse(lists[i], &scopes, &err));
		scopes_format(scopes, text);
		ASSERT_STR(text, lists[i]);
	}
}

TEST(a_list_with_anything_else_in_it_is_refused)
{
	struct err err = { 0 };
	static const char *const lists[] = { "", ",", "execute,", "none", "exec",
		"execute sessions", "all" };
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		unsigned int scopes = 77;
		ASSERT_FAIL(scopes_parse(lists[i], &scopes, &err), ERR_INVALID);
		ASSERT_EQ(scopes, 77);
		ASSERT_HAS(err.text, "--scope execute,sessions");
	}
}

TEST(all_scopes_are_in_all)
{
	for (int i = SCOPE_NONE + 1; i < SCOPE_COUNT; i++)
		ASSERT(SCOPES_ALL & 1 << i);
	ASSERT(!(SCOPES_ALL & 1 << SCOPE_NONE));
}

TEST(limits_are_numbers_in_their_range_or_none)
{
	struct err err = { 0 };
	char text[32];
	int64_t value = 0;
	ASSERT_OK(token_limit_parse(TOKEN_MEMORY, "512M", &value, &err));
	ASSERT_EQ(value, 512 << 20);
	token_limit_format(TOKEN_MEMORY, value, text, sizeof(text));
	ASSERT_STR(text, "512M");
	ASSERT_OK(token_limit_parse(TOKEN_RATE, "60", &value, &err));
	ASSERT_EQ(value, 60);
	ASSERT_OK(token_limit_parse(TOKEN_CPU, "none", &value, &err));
	ASSERT_EQ(value, 0);
	token_limit_format(TOKEN_CPU, value, text, sizeof(text));
	ASSERT_STR(text, "none");
	for (int i = 0; i < TOKEN_LIMIT_COUNT; i++) {
		static const char *const bad[] = { "", "0", "-1", "x", "1.5x",
			"99999999999999999999" };
		for (size_t at = 0; at < COUNT_OF(bad); at++) {
			value = 7;
			ASSERT_FAIL(token_limit_parse((enum token_limit)i, bad[at], &value, &err),
				ERR_INVALID);
			ASSERT_EQ(value, 7);
			ASSERT_HAS(err.text, token_limit_rows[i].name);
		}
	}
}
