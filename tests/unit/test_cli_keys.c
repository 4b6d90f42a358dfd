/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "cli/keys.h"

static enum key key_of(const char *bytes, size_t expected)
{
	struct key_press press;
	size_t used = key_next(bytes, strlen(bytes), false, &press);
	ASSERT_EQ(used, expected);
	return press.key;
}

TEST(keys_of_common_terminals_are_known)
{
	ASSERT_EQ(key_of("\r", 1), KEY_ENTER);
	ASSERT_EQ(key_of("\x7f", 1), KEY_ERASE);
	ASSERT_EQ(key_of("\x03", 1), KEY_CANCEL);
	ASSERT_EQ(key_of("\033[A", 3), KEY_UP);
	ASSERT_EQ(key_of("\033OA", 3), KEY_UP);
	ASSERT_EQ(key_of("\033[1;5C", 6), KEY_WORD_RIGHT);
	ASSERT_EQ(key_of("\033[3~x", 4), KEY_DELETE);
	ASSERT_EQ(key_of("\033b", 2), KEY_WORD_LEFT);
	ASSERT_EQ(key_of("\033\r", 2), KEY_NEWLINE);
}

TEST(unknown_sequences_are_taken_whole_and_mean_nothing)
{
	ASSERT_EQ(key_of("\033[99;99~abc", 8), KEY_NONE);
	ASSERT_EQ(key_of("\033[?1;2c", 7), KEY_NONE);
	ASSERT_EQ(key_of("\033ñ", 3), KEY_NONE);
	ASSERT_EQ(key_of("\033[12\rx", 4), KEY_NONE); /* broken off; Enter counts */
}

TEST(a_key_that_has_not_come_whole_waits)
{
	struct key_press press;
	ASSERT_EQ(key_next("\033", 1, false, &press), (size_t)0);
	ASSERT_EQ(key_next("\033[1;", 4, false, &press), (size_t)0);
	ASSERT_EQ(key_next("\xc3", 1, false, &press), (size_t)0);
	ASSERT_EQ(key_next("\033[200~half", 10, false, &press), (size_t)0);
	ASSERT_EQ(key_next("\033", 1, true, &press), (size_t)1);
	ASSERT_EQ(press.key, KEY_ESCAPE);
	ASSERT_EQ(key_next("\xc3", 1, true, &press), (size_t)1);
	ASSERT_EQ(press.key, KEY_TEXT);
}

TEST(text_comes_as_far_as_it_goes)
{
	struct key_press press;
	ASSERT_EQ(key_next("añb\rc", 6, false, &press), (size_t)4);
	ASSERT_EQ(press.key, KEY_TEXT);
	ASSERT_EQ(press.len, (size_t)4);
	ASSERT_EQ(key_next("a\xc3", 2, false, &press), (size_t)1);
}

TEST(what_is_pasted_is_text_whatever_it_looks_like)
{
	struct key_press press;
	static const char bytes[] = "\033[200~a\r\033[Ab\x03\033[201~x";
	ASSERT_EQ(key_next(bytes, sizeof(bytes) - 1, false, &press), sizeof(bytes) - 2);
	ASSERT_EQ(press.key, KEY_PASTE);
	ASSERT_EQ(press.len, strlen("a\r\033[Ab\x03"));
}
