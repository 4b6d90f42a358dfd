/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "cli/view.h"

/* The table as shown without colours. Owned by the caller; NULL when it is refused. */
static char *show(const char *json_text, int columns, size_t max_rows)
{
	struct term term = { .columns = columns, .rows = 24 };
	auto_json struct json_object *json = NULL;
	struct err err = { 0 };
	struct buf out;
	ASSERT_OK(json_read(json_text, strlen(json_text), 1 << 20, 16, &json, &err));
	buf_init(&out, 1 << 20);
	return table_put(&out, json, &term, max_rows) ? out.data : NULL;
}

static int widest_line(const char *text)
{
	int widest = 0;
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");
		int columns = text_put(NULL, text, len, 10000);
		widest = columns > widest ? columns : widest;
		text += len + (text[len] == '\n');
	}
	return widest;
}

TEST(a_small_table_is_as_wide_as_it_needs)
{
	auto_free char *text = show(
		"{\"columns\":[\"name\",\"age\"],\"rows\":[[\"Ann\",7],[\"Robert\",30]]}", 80, 20);
	ASSERT_STR(text, " name   │ age\n"
			 "────────┼────\n"
			 " Ann    │   7\n"
			 " Robert │  30\n");
}

TEST(numbers_stand_with_their_points_below_each_other)
{
	auto_free char *text =
		show("{\"columns\":[\"x\"],\"rows\":[[1.5],[10.25],[3],[-0.125],[null]]}", 80, 20);
	ASSERT_STR(text, "      x\n"
			 "───────\n"
			 "  1.5\n"
			 " 10.25\n"
			 "  3\n"
			 " -0.125\n"
			 "   null\n");
}

TEST(long_fractions_are_rounded_and_whole_numbers_are_not)
{
	auto_free char *text =
		show("{\"columns\":[\"x\"],\"rows\":[[0.30000000000000004],[123456789012345678]]}",
			80, 20);
	ASSERT_HAS(text, " 0.3\n");
	ASSERT_HAS(text, "123456789012345678");
}

TEST(wide_and_combining_characters_keep_columns_straight)
{
	auto_free char *text = show(
		"{\"columns\":[\"w\",\"n\"],\"rows\":[[\"日本\",1],[\"e\u0301\",2],[\"😀\",3]]}", 80,
		20);
	ASSERT_STR(text, " w    │ n\n"
			 "──────┼──\n"
			 " 日本 │ 1\n"
			 " e\u0301    │ 2\n"
			 " 😀   │ 3\n");
}

TEST(the_widest_text_gives_way_first_and_numbers_last)
{
	auto_free char *text =
		show("{\"columns\":[\"id\",\"text\",\"other\"],\"rows\":[[123456789012,"
		     "\"a long long long long long long text\",\"a shorter text\"]]}",
			50, 20);
	ASSERT_EQ(widest_line(text), 50);
	ASSERT_HAS(text, " 123456789012 │ a long long long… │ a shorter text\n");
}

TEST(no_line_is_wider_than_the_terminal)
{
	const char *json =
		"{\"columns\":[\"a\",\"bbbbbbbbbbbbbbbbbb\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\"],"
		"\"rows\":[[\"one one one one\",\"two two two two\",\"日本語日本語日本語\",4,5,6,"
		"\"seven seven seven\",\"eight eight\"]],\"total_rows\":1}";
	for (int columns = 20; columns < 130; columns++) {
		auto_free char *text = show(json, columns, 20);
		const char *note = strstr(text, " … ");
		if (note && strstr(note, "more column"))
			continue; /* the note may be longer than a narrow screen */
		ASSERT(widest_line(text) <= columns);
	}
}

TEST(columns_that_have_no_room_are_counted)
{
	auto_buf struct buf json = { 0 };
	buf_init(&json, 1 << 16);
	(void)buf_printf(&json, "{\"columns\":[");
	for (int i = 0; i < 60; i++)
		(void)buf_printf(&json, "%s\"column %d\"", i ? "," : "", i);
	(void)buf_printf(&json, "],\"rows\":[]}");
	auto_free char *text = show(buf_text(&json), 80, 20);
	ASSERT_HAS(text, " column 0 │ column 1 │");
	ASSERT_HAS(text, "│ …\n");
	ASSERT_HAS(text, " … 53 more columns; --json has all columns\n");
}

TEST(rows_past_the_limit_are_counted_with_the_option_that_shows_them)
{
	auto_buf struct buf json = { 0 };
	buf_init(&json, 1 << 16);
	(void)buf_printf(&json, "{\"columns\":[\"n\"],\"rows\":[");
	for (int i = 0; i < 100; i++)
		(void)buf_printf(&json, "%s[%d]", i ? "," : "", i);
	(void)buf_printf(&json, "],\"total_rows\":5000}");
	auto_free char *text = show(buf_text(&json), 80, 20);
	ASSERT_HAS(text, " 19\n … 4980 more rows of 5000; --rows 100 shows more\n");
	auto_free char *all = show(buf_text(&json), 80, 100);
	ASSERT_HAS(all, " 99\n … 4900 more rows of 5000, not sent by the program\n");
}

TEST(cells_of_any_kind_are_one_line_and_harmless)
{
	auto_free char *text = show("{\"columns\":[\"x\"],\"rows\":[[\"a\\nb\"],[\"\\u001b[2J\"],"
				    "[[1,{\"k\":null}]],[true],[]]}",
		80, 20);
	ASSERT_HAS(text, " a↵b\n");
	ASSERT_HAS(text, " ^[[2J\n");
	ASSERT_HAS(text, " [1,{\"k\":null}]\n");
	ASSERT_HAS(text, " true\n");
}

TEST(what_is_no_table_is_refused)
{
	static const char *const wrong[] = { "{}", "{\"columns\":[],\"rows\":[]}",
		"{\"columns\":[\"a\"]}", "{\"columns\":\"a\",\"rows\":[]}",
		"{\"columns\":[\"a\"],\"rows\":{}}" };
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		ASSERT(show(wrong[i], 80, 20) == NULL);
}

TEST(rows_that_are_no_rows_are_empty)
{
	auto_free char *text =
		show("{\"columns\":[\"a\",\"b\"],\"rows\":[7,[1],[1,2,3],null],\"total_rows\":-5}",
			80, 20);
	ASSERT_STR(text, " a │ b\n───┼──\n   │\n 1 │\n 1 │ 2\n   │\n");
}
