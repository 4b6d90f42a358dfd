/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "cli/edit.h"

/* A text with "|" where the cursor is. */
static void set(struct edit *edit, const char *marked)
{
	const char *mark = strchr(marked, '|');
	edit_init(edit);
	edit_set(edit, mark + 1, strlen(mark + 1));
	edit->cursor = 0;
	(void)edit_insert(edit, marked, (size_t)(mark - marked));
}

static char *shown(const struct edit *edit)
{
	return xasprintf("%.*s|%s", (int)edit->cursor, buf_text(&edit->text),
		buf_text(&edit->text) + edit->cursor);
}

static void assert_moves(const char *from, enum edit_move move, const char *to)
{
	struct edit edit;
	set(&edit, from);
	(void)edit_move(&edit, move);
	auto_free char *text = shown(&edit);
	ASSERT_STR(text, to);
	edit_done(&edit);
}

TEST(the_cursor_moves_by_characters_words_and_lines)
{
	assert_moves("añ|b", MOVE_LEFT, "a|ñb");
	assert_moves("a|ñb", MOVE_RIGHT, "añ|b");
	assert_moves("|a", MOVE_LEFT, "|a");
	assert_moves("a|", MOVE_RIGHT, "a|");
	assert_moves("foo.bar_2 |", MOVE_WORD_LEFT, "foo.|bar_2 ");
	assert_moves("|  foo.bar", MOVE_WORD_RIGHT, "  foo|.bar");
	assert_moves("one\ntwo|\nthree", MOVE_LINE_START, "one\n|two\nthree");
	assert_moves("one\nt|wo\nthree", MOVE_LINE_END, "one\ntwo|\nthree");
	assert_moves("one\ntwo|\nthree", MOVE_START, "|one\ntwo\nthree");
	assert_moves("one|\ntwo\nthree", MOVE_END, "one\ntwo\nthree|");
}

TEST(up_and_down_keep_the_column_where_the_line_is_long_enough)
{
	assert_moves("ñañ\nabc|d", MOVE_UP, "ñañ|\nabcd");
	assert_moves("ab\nabc|d", MOVE_UP, "ab|\nabcd");
	assert_moves("ab|cd\nñüöä", MOVE_DOWN, "abcd\nñü|öä");
	assert_moves("ab|cd", MOVE_UP, "ab|cd");
	assert_moves("ab|cd", MOVE_DOWN, "ab|cd");
}

TEST(what_is_inserted_is_text)
{
	struct edit edit;
	edit_init(&edit);
	ASSERT(edit_insert(&edit, "a\r\nb\rc\033[2J\td\xff", 13));
	ASSERT_STR(buf_text(&edit.text), "a\nb\nc[2J\td\xef\xbf\xbd");
	ASSERT(!edit_insert(&edit, "\001\002", 2));
	edit_done(&edit);
}

TEST(a_text_past_the_bound_is_refused_whole)
{
	struct edit edit;
	auto_free char *text = xcalloc(1, EDIT_BYTES_MAX + 1);
	memset(text, 'x', EDIT_BYTES_MAX);
	edit_init(&edit);
	ASSERT(edit_insert(&edit, text, EDIT_BYTES_MAX));
	ASSERT(!edit_insert(&edit, "y", 1));
	ASSERT_EQ(edit.text.len, (size_t)EDIT_BYTES_MAX);
	edit_done(&edit);
}

TEST(what_was_killed_can_be_put_elsewhere)
{
	struct edit edit;
	set(&edit, "one two| three");
	ASSERT(edit_kill(&edit, MOVE_WORD_LEFT));
	ASSERT(!edit_kill(&edit, MOVE_NONE));
	(void)edit_move(&edit, MOVE_END);
	edit_yank(&edit);
	auto_free char *text = shown(&edit);
	ASSERT_STR(text, "one  threetwo|");
	edit_done(&edit);
}

TEST(killing_at_the_end_of_a_line_joins_it_with_the_next)
{
	struct edit edit;
	set(&edit, "one|\ntwo");
	ASSERT(edit_kill(&edit, MOVE_LINE_END));
	ASSERT_STR(buf_text(&edit.text), "onetwo");
	edit_done(&edit);
}

TEST(swap_exchanges_characters_not_bytes)
{
	struct edit edit;
	set(&edit, "ñ|b");
	edit_swap(&edit);
	ASSERT_STR(buf_text(&edit.text), "bñ");
	edit_done(&edit);
	set(&edit, "|");
	edit_swap(&edit);
	edit_done(&edit);
}

TEST(undo_takes_words_back_not_letters)
{
	struct edit edit;
	edit_init(&edit);
	for (const char *at = "ab cd"; *at; at++)
		ASSERT(edit_insert(&edit, at, 1));
	ASSERT(edit_undo(&edit));
	ASSERT_STR(buf_text(&edit.text), "ab ");
	ASSERT(edit_undo(&edit));
	ASSERT_STR(buf_text(&edit.text), "ab");
	ASSERT(edit_undo(&edit));
	ASSERT_STR(buf_text(&edit.text), "");
	ASSERT(!edit_undo(&edit));
	edit_done(&edit);
}

TEST(a_replacement_is_one_change)
{
	struct edit edit;
	set(&edit, "x = os.pa|");
	edit_replace(&edit, 4, 9, "os.path");
	ASSERT_STR(buf_text(&edit.text), "x = os.path");
	ASSERT_EQ(edit.cursor, strlen("x = os.path"));
	ASSERT(edit_undo(&edit));
	ASSERT_STR(buf_text(&edit.text), "x = os.pa");
	edit_replace(&edit, 5, 100, "beyond"); /* out of the text: nothing happens */
	ASSERT_STR(buf_text(&edit.text), "x = os.pa");
	edit_done(&edit);
}

TEST(steps_past_the_bound_are_forgotten_from_the_oldest)
{
	struct edit edit;
	edit_init(&edit);
	for (int i = 0; i < EDIT_STEPS_MAX + 20; i++)
		ASSERT(edit_insert(&edit, "\n", 1));
	size_t count = 0;
	while (edit_undo(&edit))
		count++;
	ASSERT_EQ(count, (size_t)EDIT_STEPS_MAX);
	ASSERT_EQ(edit.text.len, (size_t)20);
	edit_done(&edit);
}
