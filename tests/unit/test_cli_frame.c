/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <stdint.h>

#include "cli/frame.h"

static void make(struct frame *frame, const char *marked, int columns, enum term_depth depth)
{
	static struct term term;
	const char *mark = strchr(marked, '|');
	auto_free char *text = xasprintf("%.*s%s", (int)(mark - marked), marked, mark + 1);
	term = (struct term){ .columns = columns, .rows = 24, .depth = depth };
	struct frame_input input = { .term = &term,
		.prompt = { .first = "In [1]: ", .more = "   ...: ", .style = STYLE_HINT },
		.text = text,
		.len = strlen(text),
		.cursor = (size_t)(mark - marked),
		.menu.chosen = SIZE_MAX };
	frame_make(frame, &input);
}

static char *row(const struct frame *frame, size_t i)
{
	return xstrndup(
		frame->bytes.data + frame->starts[i], frame->starts[i + 1] - frame->starts[i]);
}

static void assert_rows(const struct frame *frame, const char *const *rows, size_t count)
{
	ASSERT_EQ(frame->row_count, count);
	for (size_t i = 0; i < count; i++) {
		auto_free char *text = row(frame, i);
		ASSERT_STR(text, rows[i]);
	}
}

TEST(each_line_has_its_prompt)
{
	struct frame frame;
	make(&frame, "def f():\n    return 1|", 80, DEPTH_NONE);
	assert_rows(&frame, (const char *const[]){ "In [1]: def f():", "   ...:     return 1" }, 2);
	ASSERT_EQ(frame.cursor_row, (size_t)1);
	ASSERT_EQ(frame.cursor_column, 20);
	frame_done(&frame);
}

TEST(an_empty_text_is_a_prompt_with_the_cursor_behind_it)
{
	struct frame frame;
	make(&frame, "|", 80, DEPTH_NONE);
	assert_rows(&frame, (const char *const[]){ "In [1]: " }, 1);
	ASSERT_EQ(frame.cursor_column, 8);
	frame_done(&frame);
}

TEST(a_long_line_goes_on_below_itself)
{
	struct frame frame;
	make(&frame, "abcdefghijklmnop|qr", 20, DEPTH_NONE);
	assert_rows(&frame, (const char *const[]){ "In [1]: abcdefghijk", "        lmnopqr" }, 2);
	ASSERT_EQ(frame.cursor_row, (size_t)1);
	ASSERT_EQ(frame.cursor_column, 13);
	frame_done(&frame);
}

TEST(a_cursor_behind_a_full_row_is_on_the_next)
{
	struct frame frame;
	make(&frame, "abcdefghijk|", 20, DEPTH_NONE);
	assert_rows(&frame, (const char *const[]){ "In [1]: abcdefghijk", "        " }, 2);
	ASSERT_EQ(frame.cursor_row, (size_t)1);
	ASSERT_EQ(frame.cursor_column, 8);
	frame_done(&frame);
}

TEST(a_wide_character_is_never_cut)
{
	struct frame frame;
	make(&frame, "abcdefghij日本|x", 20, DEPTH_NONE);
	assert_rows(&frame, (const char *const[]){ "In [1]: abcdefghij", "        日本x" }, 2);
	ASSERT_EQ(frame.cursor_column, 12);
	frame_done(&frame);
}

TEST(the_cursor_is_before_the_character_it_is_before_also_where_rows_break)
{
	struct frame frame;
	make(&frame, "abcdefghijk|lm", 20, DEPTH_NONE);
	ASSERT_EQ(frame.cursor_row, (size_t)1);
	ASSERT_EQ(frame.cursor_column, 8);
	frame_done(&frame);
}

TEST(controls_in_a_text_are_shown_not_obeyed)
{
	struct frame frame;
	make(&frame, "a\x1b[2Jb|", 80, DEPTH_NONE);
	assert_rows(&frame, (const char *const[]){ "In [1]: a^[[2Jb" }, 1);
	ASSERT_EQ(frame.cursor_column, 15);
	frame_done(&frame);
}

TEST(a_colour_begins_again_on_the_next_row)
{
	struct frame frame;
	static struct term term = { .columns = 20, .rows = 24, .depth = DEPTH_16 };
	struct highlight *highlight = NULL;
	struct err err = { 0 };
	static const char rules[] = "{\"strings\":[\"'\"]}";
	ASSERT_OK(highlight_from_json(rules, strlen(rules), &highlight, &err));
	struct frame_input input = { .term = &term,
		.highlight = highlight,
		.prompt = { .first = "> ", .more = "  " },
		.text = "'aaaaaaaaaaaaaaaaaaaaaa'",
		.len = 24,
		.cursor = 24,
		.menu.chosen = SIZE_MAX };
	frame_make(&frame, &input);
	auto_free char *first = row(&frame, 0);
	auto_free char *second = row(&frame, 1);
	ASSERT_STR(first, "> \033[32m'aaaaaaaaaaaaaaaa\033[0m");
	ASSERT_STR(second, "  \033[32maaaaaa'\033[0m");
	frame_done(&frame);
	highlight_free(highlight);
}

static void make_menu(struct frame *frame, size_t count, size_t chosen, int columns)
{
	static struct term term;
	struct strings matches = { 0 };
	term = (struct term){ .columns = columns, .rows = 24 };
	for (size_t i = 0; i < count; i++) {
		auto_free char *name = xasprintf("os.name%zu", i);
		strings_add(&matches, name);
	}
	struct frame_input input = { .term = &term,
		.prompt = { .first = "> ", .more = "  " },
		.text = "os.",
		.len = 3,
		.cursor = 3,
		.menu = { .matches = &matches, .chosen = chosen, .skipped = 3 } };
	frame_make(frame, &input);
	strings_done(&matches);
}

TEST(matches_stand_in_columns_below_the_text)
{
	struct frame frame;
	make_menu(&frame, 3, SIZE_MAX, 18);
	assert_rows(&frame, (const char *const[]){ "> os.", "name0  name2  ", "name1  " }, 3);
	ASSERT_EQ(frame.text_rows, (size_t)1);
	frame_done(&frame);
}

TEST(many_matches_come_in_pages_and_their_number_is_told)
{
	struct frame frame;
	make_menu(&frame, 100, SIZE_MAX, 20);
	ASSERT_EQ(frame.row_count, (size_t)8);
	auto_free char *last = row(&frame, 7);
	ASSERT_STR(last, "1 to 12 of 100");
	frame_done(&frame);
	make_menu(&frame, 100, 99, 20);
	auto_free char *page = row(&frame, frame.row_count - 1);
	ASSERT_STR(page, "97 to 100 of 100");
	frame_done(&frame);
}

TEST(a_text_higher_than_the_screen_shows_the_part_with_the_cursor)
{
	struct frame frame;
	size_t first = 0, count = 0;
	make(&frame, "|1\n2\n3\n4\n5\n6\n7\n8", 80, DEPTH_NONE);
	frame_window(&frame, 5, &first, &count);
	ASSERT_EQ(first, (size_t)0);
	ASSERT_EQ(count, (size_t)5);
	frame.cursor_row = 7;
	frame_window(&frame, 5, &first, &count);
	ASSERT_EQ(first, (size_t)3);
	frame.cursor_row = 2;
	frame_window(&frame, 5, &first, &count);
	ASSERT_EQ(first, (size_t)2);
	frame_done(&frame);
}
