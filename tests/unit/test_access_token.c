/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "access/access.h"

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

TEST(a_new_token_has_its_form_and_is_like_no_other)
{
	struct err err = { 0 };
	char text[2][TOKEN_BYTES + 1];
	char hash[2][SHA256_HEX + 1];
	char again[SHA256_HEX + 1];
	for (size_t i = 0; i < 2; i++) {
		ASSERT_OK(token_make(text[i], hash[i], &err));
		ASSERT_EQ(strlen(text[i]), TOKEN_BYTES);
		ASSERT(strncmp(text[i], "hct_", 4) == 0);
		token_hash(text[i], again);
		ASSERT_STR(again, hash[i]);
		ASSERT(!strstr(hash[i], text[i] + 4));
	}
	ASSERT(strcmp(text[0], text[1]) != 0);
}

TEST(a_header_holds_one_token_and_nothing_else)
{
	static const struct {
		const char *value;
		bool is_token;
	} cases[] = {
		{ "Bearer hct_" DIGITS, true },
		{ "bearer hct_" DIGITS, true },
		{ "BEARER   hct_" DIGITS, true },
		{ "", false },
		{ "Bearer", false },
		{ "Bearer ", false },
		{ "Bearerhct_" DIGITS, false },
		{ "Basic hct_" DIGITS, false },
		{ "hct_" DIGITS, false },
		{ "Bearer hct_" DIGITS "0", false },
		{ "Bearer hct_" DIGITS " ", false },
		{ "Bearer hct_" DIGITS ",Bearer hct_" DIGITS, false },
		{ "Bearer hct_0123", false },
		{ "Bearer HCT_" DIGITS, false },
		{ "Bearer hct_0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
			false },
		{ "Bearer\thct_" DIGITS, false },
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char text[TOKEN_BYTES + 1] = "untouched";
		if (token_read_header(cases[i].value, text) != cases[i].is_token)
			FAIL("'%s'", cases[i].value);
		ASSERT_STR(text, cases[i].is_token ? "hct_" DIGITS : "untouched");
	}
}

TEST(names_are_short_and_plain_and_not_that_of_nobody)
{
	static const char *const good[] = { "a", "ci", "Team-1.prod_x", "0",
		"abcdefghijklmnopqrstuvwxyz012345" };
	static const char *const bad[] = { "", "-a", ".a", "_a", "a b", "a/b", "ä", "anonymous",
		"abcdefghijklmnopqrstuvwxyz0123456" };
	for (size_t i = 0; i < COUNT_OF(good); i++)
		if (!token_is_name(good[i]))
			FAIL("'%s' is refused", good[i]);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (token_is_name(bad[i]))
			FAIL("'%s' is taken", bad[i]);
}
