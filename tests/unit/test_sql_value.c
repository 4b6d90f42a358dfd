/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <math.h>

#include "sql/rows.h"
#include "sql/table.h"

static const char *real(double number)
{
	static char text[REAL_SIZE];
	value_format_real(number, text);
	return text;
}

TEST(a_real_number_is_written_as_short_as_it_can_be_read_back)
{
	ASSERT_STR(real(0.1), "0.1");
	ASSERT_STR(real(3), "3.0");
	ASSERT_STR(real(-0.0), "-0.0");
	ASSERT_STR(real(0.1 + 0.2), "0.30000000000000004");
	ASSERT_STR(real(1e100), "1e+100");
	ASSERT_STR(real(INFINITY), "Infinity");
	ASSERT_STR(real(-INFINITY), "-Infinity");
}

static struct value text_value(const char *text)
{
	return (struct value){ .kind = VALUE_TEXT, .data = text, .len = strlen(text) };
}

static const char *cell(const char *text, size_t columns, size_t lines)
{
	static struct buf buf;
	const struct value value = text_value(text);
	const struct cut cut = { columns, lines };
	bool is_cut = false;
	buf_done(&buf);
	buf_init(&buf, TEXT_NO_CAP);
	value_write_cell(&buf, &value, "", &cut, &is_cut);
	return buf_text(&buf);
}

TEST(a_cell_shows_controls_and_is_cut_where_it_is_too_long)
{
	ASSERT_STR(cell("plain", 5, 2), "plain");
	ASSERT_STR(cell("plainer", 5, 2), "plai…");
	ASSERT_STR(cell("\x1b[31m\ta", 40, 2), "\\x1B[31m        a");
	ASSERT_STR(cell("a\nb\nc", 5, 2), "a\nb…");
	ASSERT_STR(cell("a\nb\nc", 0, 2), "a\nb\nc");
	ASSERT_STR(cell("\xff!", 5, 2), "\xef\xbf\xbd!");
	ASSERT_STR(cell("日本語", 5, 2), "日本…");
	ASSERT_STR(cell("日本語", 6, 2), "日本語");
}

TEST(literals_of_sql_and_json_keep_every_byte)
{
	struct value value = { .kind = VALUE_TEXT, .data = "it's\0", .len = 4 };
	auto_buf struct buf buf;
	buf_init(&buf, TEXT_NO_CAP);
	value_write_sql(&buf, &value);
	text_add(&buf, " ");
	value.len = 5;
	value_write_sql(&buf, &value);
	text_add(&buf, " ");
	value_write_json(&buf, &value);
	text_add(&buf, " ");
	value.kind = VALUE_BLOB;
	value_write_json(&buf, &value);
	ASSERT_STR(buf_text(&buf), "'it''s' CAST(x'6974277300' AS TEXT) \"it's\\u0000\" "
				   "\"\\\\x6974277300\"");
}

TEST(rows_are_kept_up_to_a_number_and_a_size_and_all_are_counted)
{
	struct rows rows;
	struct value value = text_value("x");
	rows_init(&rows);
	rows_add_column(&rows, "a");
	for (int i = 0; i < ROWS_KEPT_MAX + 5; i++)
		ASSERT_EQ(rows_add(&rows, &value), i < ROWS_KEPT_MAX);
	ASSERT_EQ(rows.total, ROWS_KEPT_MAX + 5);
	ASSERT_EQ(rows.kept_count, ROWS_KEPT_MAX);
	rows_done(&rows);
	auto_free char *large = xcalloc(ROWS_KEPT_BYTES + 2, 1);
	memset(large, 'x', ROWS_KEPT_BYTES + 1);
	const struct value big = text_value(large);
	rows_init(&rows);
	rows_add_column(&rows, "a");
	ASSERT(rows_add(&rows, &value));
	ASSERT(!rows_add(&rows, &big));
	ASSERT(!rows_add(&rows, &value)); /* no hole in the middle */
	ASSERT_EQ(rows.kept_count, 1);
	rows_get(&rows, 0, &value);
	ASSERT_EQ(value.len, 1);
	rows_done(&rows);
}

TEST(a_table_aligns_numbers_right_and_marks_lines_that_go_on)
{
	struct rows rows;
	struct table table;
	auto_buf struct buf buf;
	const struct cut cut = { 20, 9 };
	const struct value values[2][2] = {
		{ { .kind = VALUE_INTEGER, .data = "7", .len = 1 }, text_value("ü\nb") },
		{ { .kind = VALUE_NULL }, { .kind = VALUE_NULL } },
	};
	rows_init(&rows);
	rows_add_column(&rows, "id");
	rows_add_column(&rows, "name");
	ASSERT(rows_add(&rows, values[0]) && rows_add(&rows, values[1]));
	table_init(&table, &rows, "NULL", &cut, true);
	table_measure_kept(&table);
	buf_init(&buf, TEXT_NO_CAP);
	table_write_head(&table, &buf);
	table_write_row(&table, &buf, values[0]);
	table_write_row(&table, &buf, values[1]);
	table_write_foot(&table, &buf);
	ASSERT_STR(buf_text(&buf), "  id  | name \n"
				   "------+------\n"
				   "    7 | ü   +\n"
				   "      | b\n"
				   " NULL | NULL\n"
				   "(2 rows)\n\n");
	table_done(&table);
	rows_done(&rows);
}
