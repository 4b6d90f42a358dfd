/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "wire/base64.h"

TEST(bytes_of_any_length_come_back)
{
	char bytes[70];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 37);
	for (size_t len = 1; len <= sizeof(bytes); len++) {
		auto_buf struct buf out;
		buf_init(&out, sizeof(bytes));
		auto_free char *text = base64_encode(bytes, len);
		ASSERT_EQ(strlen(text), (len + 2) / 3 * 4);
		ASSERT(base64_decode(text, strlen(text), &out));
		ASSERT_EQ(out.len, len);
		ASSERT_EQ(memcmp(out.data, bytes, len), 0);
	}
}

TEST(the_text_is_what_others_write)
{
	auto_free char *text = base64_encode("any carnal pleas", 16);
	auto_free char *none = base64_encode("", 0);
	ASSERT_STR(text, "YW55IGNhcm5hbCBwbGVhcw==");
	ASSERT_STR(none, "");
}

TEST(lines_may_be_broken)
{
	auto_buf struct buf out;
	buf_init(&out, 64);
	ASSERT(base64_decode("aGVs\r\nbG8=", 10, &out));
	ASSERT_STR(buf_text(&out), "hello");
}

TEST(what_is_not_base64_is_refused)
{
	static const char *const texts[] = { "a*b=", "", "=", "\xff\xff\xff\xff" };
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		auto_buf struct buf out;
		buf_init(&out, 64);
		ASSERT(!base64_decode(texts[i], strlen(texts[i]), &out));
	}
}

TEST(what_does_not_fit_is_refused)
{
	auto_buf struct buf out;
	buf_init(&out, 4);
	ASSERT(!base64_decode("aGVsbG8gd29ybGQ=", 16, &out));
}
