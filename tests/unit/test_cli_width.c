/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "base/buf.h"
#include "cli/term.h"

static int columns_of(const char *text)
{
	return text_put(NULL, text, strlen(text), 1000);
}

/* Owned by the caller. */
static char *cut(const char *text, int columns)
{
	auto_buf struct buf out = { 0 };
	buf_init(&out, 4096);
	int used = text_put(&out, text, strlen(text), columns);
	ASSERT(used <= columns);
	ASSERT_EQ(text_put(NULL, buf_text(&out), out.len, 1000), used);
	return xstrdup(buf_text(&out));
}

#define ASSERT_CUT(text, columns, want)                    \
	do {                                               \
		auto_free char *cut_ = cut(text, columns); \
		ASSERT_STR(cut_, want);                    \
	} while (0)

TEST(characters_take_the_columns_a_terminal_gives_them)
{
	ASSERT_EQ(columns_of("plain"), 5);
	ASSERT_EQ(columns_of("Grüße"), 5);
	ASSERT_EQ(columns_of("日本語"), 6);
	ASSERT_EQ(columns_of("e\u0301"), 1);
	ASSERT_EQ(columns_of("😀"), 2);
	ASSERT_EQ(columns_of("한국어"), 6);
	ASSERT_EQ(columns_of("\u1112\u1161\u11ab"), 2); /* one syllable of three letters */
	ASSERT_EQ(columns_of("ＦＵＬＬ"), 8);
	ASSERT_EQ(columns_of("ﾊﾝｶｸ"), 4);
	ASSERT_EQ(columns_of("a\u200bb"), 2);
	ASSERT_EQ(columns_of("नमस्ते"), 4);
	ASSERT_EQ(columns_of("🇩🇪"), 2);
	ASSERT_EQ(columns_of("─│…"), 3);
}

TEST(a_cut_text_ends_with_an_ellipsis_within_its_columns)
{
	ASSERT_CUT("abcdef", 6, "abcdef");
	ASSERT_CUT("abcdef", 5, "abcd…");
	ASSERT_CUT("abcdef", 1, "…");
	ASSERT_CUT("abcdef", 0, "");
	ASSERT_CUT("", 0, "");
	ASSERT_CUT("日本語", 6, "日本語");
	ASSERT_CUT("日本語", 5, "日本…");
	ASSERT_CUT("日本語", 4, "日…");
	ASSERT_CUT("e\u0301e\u0301e\u0301", 2, "e\u0301…");
}

TEST(controls_become_visible_and_count)
{
	ASSERT_CUT("a\033[2Jb", 20, "a^[[2Jb");
	ASSERT_CUT("two\nlines", 20, "two↵lines");
	ASSERT_CUT("a\tb", 20, "a b");
	ASSERT_CUT("x\r\x7f", 20, "x^M^?");
	ASSERT_CUT("\u202eabc", 20, "<U+202E>abc");
	ASSERT_CUT("\xc2\x9b", 20, "<U+009B>");
	ASSERT_CUT("\u2028", 20, "<U+2028>");
	ASSERT_CUT("a\xff\xfe", 20, "a\ufffd\ufffd");
	ASSERT_CUT("a\xe2\x80", 20, "a\ufffd");
}

TEST(bytes_are_told_as_people_say_them)
{
	char text[32];
	ASSERT_STR(text_bytes(0, text, sizeof(text)), "0 bytes");
	ASSERT_STR(text_bytes(1, text, sizeof(text)), "1 byte");
	ASSERT_STR(text_bytes(1023, text, sizeof(text)), "1023 bytes");
	ASSERT_STR(text_bytes(1536, text, sizeof(text)), "1.5 KiB");
	ASSERT_STR(text_bytes(12345678, text, sizeof(text)), "11 MiB");
	ASSERT_STR(text_bytes((int64_t)3 << 40, text, sizeof(text)), "3.0 TiB");
}
