/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "base/buf.h"
#include "wire/json.h"

static struct err err;

static int read_text(const char *text)
{
	auto_json struct json_object *json = NULL;
	return json_read(text, strlen(text), 1000, 4, &json, &err);
}

TEST(json_read_takes_one_object)
{
	ASSERT_OK(read_text("{}"));
	ASSERT_OK(read_text(" \n{\"a\": [1, 2.5, null, true, {\"b\": \"\\u00e9\\n\"}]}\r\n "));
	ASSERT_OK(read_text("{\"a\": \"\xc3\xa9 \\\\u0000 // /* */\"}"));
}

/* clang-format off */
static const struct { const char *text, *words; } broken[] = {
	{ "", "empty" },
	{ "  \n", "empty" },
	{ "[1]", "line 1, column 1: an object" },
	{ "\"x\"", "an object, '{ … }', is expected" },
	{ "null", "an object" },
	{ "\n 12", "line 2, column 2: an object" },
	{ "{", "ends too early" },
	{ "{\"a\": 1", "ends too early" },
	{ "{\"a\": 1,}", "line 1, column 9" },
	{ "{} {}", "line 1, column 4" },
	{ "{}x", "line 1, column 3" },
	{ "{\n\n  \"a\": nope}", "line 3, column" },
	{ "{'a': 1}", "line 1, column 2" },
	{ "{a: 1}", "line 1, column 2" },
	{ "/* no */ {}", "line 1, column 1" },
	{ "{/* no */}", "line 1, column 2" },
	{ "{\"a\": Null}", "line 1, column 7" },
	{ "{\"a\": NaN}", "line 1, column 7" },
	{ "{\"a\": -Infinity}", "line 1, column 8" },
	{ "{\"a\": True}", "line 1, column 7" },
	{ "{\"a\": 0x10}", "line 1, column 8" },
	{ "{\"a\": -}", "line 1" },
	{ "{\"a\": 01}", "line 1" },
	{ "{\"a\": +1}", "line 1" },
	{ "{\"a\": \"\\u0000\"}", "line 1, column 8: a string must not hold a NUL" },
	{ "{\"a\\u0000b\": 1}", "must not hold a NUL" },
	{ "{\"a\": \"x\ny\"}", "must be escaped" },
	{ "{\"a\": \"\xff\"}", "line 1, column 8: this is not UTF-8" },
	{ "{\"a\": \"\xed\xa0\x80\"}", "not UTF-8" },
};
/* clang-format on */

TEST(json_read_refuses_what_is_not_strict_json_and_says_where)
{
	for (size_t i = 0; i < COUNT_OF(broken); i++) {
		if (read_text(broken[i].text) == 0)
			FAIL("'%s' was taken", broken[i].text);
		ASSERT_EQ(err.code, ERR_INVALID);
		ASSERT_HAS(err.text, broken[i].words);
	}
}

TEST(json_read_refuses_a_nul_byte)
{
	auto_json struct json_object *json = NULL;
	ASSERT_FAIL(json_read("{}\0{}", 5, 100, 4, &json, &err), ERR_INVALID);
	ASSERT_FAIL(json_read("{}\0", 3, 100, 4, &json, &err), ERR_INVALID);
	ASSERT(!json);
}

TEST(json_read_bounds_depth)
{
	ASSERT_OK(read_text("{\"a\": [[[1]]]}"));
	ASSERT_FAIL(read_text("{\"a\": [[[[1]]]]}"), ERR_LIMIT);
	ASSERT_HAS(err.text, "deeper than 4");
}

TEST(json_read_bounds_size)
{
	auto_json struct json_object *json = NULL;
	ASSERT_FAIL(json_read("{\"a\": 1}", 8, 7, 4, &json, &err), ERR_LIMIT);
	ASSERT_OK(json_read("{\"a\": 1}", 8, 8, 4, &json, &err));
}

static void assert_prints(struct json_object *json, const char *want)
{
	auto_free char *text = json_print(json, false);
	(void)json_object_put(json);
	ASSERT_STR(text, want);
}

TEST(json_new_decimal_is_exact_and_short)
{
	assert_prints(json_new_decimal(0, 3), "0");
	assert_prints(json_new_decimal(33000, 3), "33");
	assert_prints(json_new_decimal(100, 0), "100");
	assert_prints(json_new_decimal(1250, 3), "1.25");
	assert_prints(json_new_decimal(1, 6), "0.000001");
	assert_prints(json_new_decimal(-1500, 3), "-1.5");
	assert_prints(json_new_decimal(INT64_MAX, 3), "9223372036854775.807");
	assert_prints(json_new_decimal(INT64_MIN, 3), "-9223372036854775.808");
}

TEST(json_new_text_repairs_and_escapes)
{
	assert_prints(json_new_text("a\"\n\x1b\xff/", 6), "\"a\\\"\\n\\u001b\xef\xbf\xbd/\"");
	assert_prints(json_new_text("a\0b", 3), "\"a\\u0000b\"");
	ASSERT(!json_new_string(NULL));
}

TEST(json_kind_names_every_type)
{
	auto_json struct json_object *json = NULL;
	const char text[] =
		"{\"s\": \"\", \"i\": 1, \"d\": 1.5, \"b\": true, \"a\": [], \"n\": null}";
	ASSERT_OK(json_read(text, strlen(text), 1000, 4, &json, &err));
	ASSERT_STR(json_kind(json), "an object");
	ASSERT_STR(json_kind(json_object_object_get(json, "s")), "a string");
	ASSERT_STR(json_kind(json_object_object_get(json, "i")), "a number");
	ASSERT_STR(json_kind(json_object_object_get(json, "d")), "a number");
	ASSERT_STR(json_kind(json_object_object_get(json, "b")), "a boolean");
	ASSERT_STR(json_kind(json_object_object_get(json, "a")), "an array");
	ASSERT_STR(json_kind(json_object_object_get(json, "n")), "null");
}

TEST(json_quote_writes_what_json_print_would)
{
	static const char *const texts[] = { "", "plain", "a\"b\\c/d", "\b\f\n\r\t\x01\x1f", "\x7f",
		"é ü €", "\xc2\x9b", "\xe2\x80\xae", "\xe2\x81\xa6x", "\xff\xfe", "a\xe2\x80",
		"\xf0\x9f\x98\x80", "\xe2" };
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		auto_json struct json_object *json = json_new_string(texts[i]);
		auto_free char *want = json_print(json, false);
		auto_buf struct buf out;
		buf_init(&out, 100);
		ASSERT_EQ(json_quote(&out, texts[i], strlen(texts[i])), 0);
		ASSERT_STR(buf_text(&out), want);
	}
}

TEST(json_quote_keeps_to_the_cap)
{
	auto_buf struct buf out;
	buf_init(&out, 4);
	ASSERT_EQ(json_quote(&out, "ab", 2), 0);
	buf_done(&out);
	buf_init(&out, 4);
	ASSERT(json_quote(&out, "abc", 3) < 0);
}
