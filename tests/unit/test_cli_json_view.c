/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "cli/view.h"

static char *show(const char *json_text, int columns, bool *ret_is_whole)
{
	struct term term = { .columns = columns, .rows = 24 };
	auto_json struct json_object *json = NULL;
	struct err err = { 0 };
	struct buf out;
	ASSERT_OK(json_read(json_text, strlen(json_text), 1 << 20, 32, &json, &err));
	buf_init(&out, 1 << 20);
	*ret_is_whole = json_view_put(&out, json, &term, 0);
	return out.data;
}

#define ASSERT_VIEW(json, columns, want)                                 \
	do {                                                             \
		bool is_whole_;                                          \
		auto_free char *text_ = show(json, columns, &is_whole_); \
		ASSERT_STR(text_, want);                                 \
		ASSERT(is_whole_);                                       \
	} while (0)

TEST(what_fits_stays_in_one_line)
{
	ASSERT_VIEW("{\"a\":1,\"b\":[true,null,\"x\"],\"c\":{}}", 80,
		"{\"a\": 1, \"b\": [true, null, \"x\"], \"c\": {}}\n");
}

TEST(what_does_not_fit_is_broken_up)
{
	ASSERT_VIEW("{\"first\":[1,2,3],\"second\":{\"inner\":\"some text\"}}", 30,
		"{\n"
		"  \"first\": [1, 2, 3],\n"
		"  \"second\": {\n"
		"    \"inner\": \"some text\"\n"
		"  }\n"
		"}\n");
}

TEST(plain_items_fill_their_lines)
{
	ASSERT_VIEW("{\"n\":[1000,2000,3000,4000,5000,6000,7000]}", 24,
		"{\n"
		"  \"n\": [\n"
		"    1000, 2000, 3000,\n"
		"    4000, 5000, 6000,\n"
		"    7000\n"
		"  ]\n"
		"}\n");
}

TEST(strings_are_escaped_as_json_and_for_the_terminal)
{
	ASSERT_VIEW("{\"\\u001b[2J\":\"\\n\\u202e\\u009b\\u007f é\"}", 80,
		"{\"\\u001b[2J\": \"\\n\\u202e\\u009b\\u007f é\"}\n");
}

TEST(long_json_is_cut_and_says_so)
{
	auto_buf struct buf json = { 0 };
	bool is_whole;
	buf_init(&json, 1 << 20);
	(void)buf_printf(&json, "{\"list\":[");
	for (int i = 0; i < 500; i++)
		(void)buf_printf(&json, "%s{\"k\":%d}", i ? "," : "", i);
	(void)buf_printf(&json, "]}");
	auto_free char *text = show(buf_text(&json), 80, &is_whole);
	int lines = 0;
	for (const char *at = strchr(text, '\n'); at; at = strchr(at + 1, '\n'))
		lines++;
	ASSERT(!is_whole);
	ASSERT_EQ(lines, VIEW_LINES);
}

TEST(a_long_string_is_shortened)
{
	auto_buf struct buf json = { 0 };
	bool is_whole;
	buf_init(&json, 1 << 20);
	(void)buf_printf(&json, "{\"s\":\"%04000d\"}", 0);
	auto_free char *text = show(buf_text(&json), 80, &is_whole);
	ASSERT(strlen(text) < 700);
	ASSERT_HAS(text, "…\" (4000 bytes)");
}
