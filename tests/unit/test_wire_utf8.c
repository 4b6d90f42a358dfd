/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "wire/utf8.h"

#define FFFD "\xef\xbf\xbd"

struct sample {
	const char *raw, *want;
};

/* clang-format off */
static const struct sample repairs[] = {
	{ "", "" },
	{ "plain\ttext\n", "plain\ttext\n" },
	{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "\xff", FFFD },
	{ "a\x80z", "a" FFFD "z" },
	{ "\xc0\xaf", FFFD FFFD },			/* overlong slash */
	{ "\xe0\x80\xaf", FFFD FFFD FFFD },
	{ "\xed\xa0\x80", FFFD FFFD FFFD },		/* a surrogate */
	{ "\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD },	/* past U+10FFFF */
	{ "\xf0\x9f\x98z", FFFD "z" },			/* cut: one mark for the whole part */
	{ "\xe2\x82", FFFD },
	{ "\xc3\xc3\xa9", FFFD "\xc3\xa9" },
	{ "\x1b[31m\x7f", "\x1b[31m\x7f" },		/* repairing is not filtering */
};
/* clang-format on */

TEST(utf8_repair_replaces_maximal_subparts)
{
	for (size_t i = 0; i < COUNT_OF(repairs); i++) {
		size_t len;
		auto_free char *text = utf8_repair(repairs[i].raw, strlen(repairs[i].raw), &len);
		ASSERT_STR(text, repairs[i].want);
		ASSERT_EQ(len, strlen(repairs[i].want));
	}
}

TEST(utf8_repair_keeps_nul_bytes)
{
	size_t len;
	auto_free char *text = utf8_repair("a\0\xff\0", 4, &len);
	ASSERT_EQ(len, 6);
	ASSERT(memcmp(text, "a\0" FFFD "\0", 7) == 0);
}

/* Pushes `raw` in pieces of `piece` bytes and gives all that came out. */
static char *stream_in_pieces(const char *raw, size_t piece)
{
	struct utf8_stream stream = { 0 };
	char *all = xstrdup("");
	size_t total = strlen(raw);
	for (size_t at = 0; at < total; at += piece) {
		size_t len = total - at < piece ? total - at : piece;
		auto_free char *text = utf8_stream_push(&stream, raw + at, len, NULL);
		auto_free char *old = all;
		all = xasprintf("%s%s", old, text);
	}
	auto_free char *text = utf8_stream_end(&stream, NULL);
	auto_free char *old = all;
	return xasprintf("%s%s", old, text);
}

TEST(utf8_stream_gives_the_same_text_however_it_is_cut)
{
	for (size_t i = 0; i < COUNT_OF(repairs); i++) {
		for (size_t piece = 1; piece < 5; piece++) {
			auto_free char *text = stream_in_pieces(repairs[i].raw, piece);
			ASSERT_STR(text, repairs[i].want);
		}
	}
}

TEST(utf8_stream_holds_an_unfinished_character_back)
{
	struct utf8_stream stream = { 0 };
	size_t len;
	auto_free char *first = utf8_stream_push(&stream, "x\xe2\x82", 3, &len);
	ASSERT_STR(first, "x");
	auto_free char *second = utf8_stream_push(&stream, "\xac", 1, &len);
	ASSERT_STR(second, "\xe2\x82\xac");
}

TEST(utf8_is_valid_finds_the_first_bad_byte)
{
	size_t bad = 99;
	ASSERT(utf8_is_valid("\xe2\x82\xac", 3, &bad));
	ASSERT_EQ(bad, 99);
	ASSERT(!utf8_is_valid("ab\xe2\x82", 4, &bad));
	ASSERT_EQ(bad, 2);
	ASSERT(!utf8_is_valid("\xed\xbf\xbf", 3, NULL));
	/* wherever it is among others that are plain */
	for (size_t at = 0; at < 24; at++) {
		char text[24];
		memset(text, 'a', sizeof(text));
		ASSERT(utf8_is_valid(text, sizeof(text), NULL));
		text[at] = '\xff';
		ASSERT(!utf8_is_valid(text, sizeof(text), &bad));
		ASSERT_EQ(bad, at);
	}
}

/* clang-format off */
static const struct sample views[] = {
	{ "plain\ttext\r\n", "plain\ttext\r\n" },
	{ "\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80" },
	{ "\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m" },
	{ "\x1b[1;38;5;200mx\x1b[m", "\x1b[1;38;5;200mx\x1b[m" },
	{ "\x1b[31mred", "\x1b[31mred\x1b[0m" },		/* switched off at the end */
	{ "\x1b[0;31mred", "\x1b[0;31mred\x1b[0m" },
	{ "\x1b[31;0mplain", "\x1b[31;0mplain" },
	{ "\x1b[10mfont", "\x1b[10mfont\x1b[0m" },
	{ "\x1b[2J", "^[[2J" },				/* clear the screen */
	{ "\x1b[?25l", "^[[?25l" },
	{ "\x1b]0;title\x07", "^[]0;title^G" },		/* OSC */
	{ "\x1b]52;c;cm0gLXJm\x1b\\", "^[]52;c;cm0gLXJm^[\\" },
	{ "\x1bP+q\x1b\\", "^[P+q^[\\" },
	{ "\x1b\x1b[31mx\x1b[m", "^[\x1b[31mx\x1b[m" },
	{ "\x1b[31\x1b[0m", "^[[31\x1b[0m" },
	{ "a\bb\x7f", "a^Hb^?" },
	{ "\xc2\x9b" "2J", "<U+009B>2J" },			/* C1 CSI as UTF-8 */
	{ "\x9b" "2J", FFFD "2J" },				/* C1 CSI as a raw byte */
	{ "a\xe2\x80\xae" "b", "a<U+202E>b" },			/* right-to-left override */
	{ "\xe2\x81\xa6", "<U+2066>" },
	{ "end\x1b", "end^[" },
	{ "end\x1b[3", "end^[[3" },
	{ "end\xe2\x82", "end" FFFD },
};
/* clang-format on */

static char *view_in_pieces(const char *raw, size_t piece)
{
	struct utf8_visible view = { 0 };
	char *all = xstrdup("");
	size_t total = strlen(raw);
	for (size_t at = 0; at < total; at += piece) {
		size_t len = total - at < piece ? total - at : piece;
		auto_free char *text = utf8_visible_push(&view, raw + at, len, NULL);
		auto_free char *old = all;
		all = xasprintf("%s%s", old, text);
	}
	auto_free char *text = utf8_visible_end(&view, NULL);
	auto_free char *old = all;
	return xasprintf("%s%s", old, text);
}

TEST(utf8_visible_shows_controls_and_passes_colours)
{
	for (size_t i = 0; i < COUNT_OF(views); i++) {
		auto_free char *text = view_in_pieces(views[i].raw, 4096);
		ASSERT_STR(text, views[i].want);
	}
}

TEST(utf8_visible_gives_the_same_text_however_it_is_cut)
{
	for (size_t i = 0; i < COUNT_OF(views); i++) {
		for (size_t piece = 1; piece < 7; piece++) {
			auto_free char *text = view_in_pieces(views[i].raw, piece);
			ASSERT_STR(text, views[i].want);
		}
	}
}

TEST(utf8_visible_shows_every_control_byte_but_four)
{
	for (int byte = 1; byte < 0x20; byte++) {
		char raw[2] = { (char)byte, 0 };
		auto_free char *text = view_in_pieces(raw, 1);
		bool passes = byte == '\n' || byte == '\t' || byte == '\r';
		ASSERT_EQ(strcmp(text, raw) == 0, passes);
		ASSERT(passes || (text[0] == '^' && text[1] == (byte ^ 0x40)));
	}
}

TEST(utf8_visible_shows_a_nul)
{
	struct utf8_visible view = { 0 };
	size_t len;
	auto_free char *text = utf8_visible_push(&view, "a\0b", 3, &len);
	ASSERT_STR(text, "a^@b");
}

TEST(utf8_visible_shows_an_endless_colour_sequence)
{
	char raw[UTF8_SGR_MAX * 3];
	memset(raw, '1', sizeof(raw));
	raw[0] = '\x1b';
	raw[1] = '[';
	raw[sizeof(raw) - 1] = '\0';
	for (size_t piece = 1; piece < sizeof(raw); piece += 7) {
		auto_free char *text = view_in_pieces(raw, piece);
		ASSERT_EQ(strncmp(text, "^[[111", 6), 0);
		ASSERT_EQ(strlen(text), sizeof(raw));
	}
}

TEST(utf8_visible_has_room_for_the_worst_growth)
{
	char raw[4000];
	for (size_t i = 0; i + 1 < sizeof(raw); i += 2) {
		raw[i] = '\xc2';
		raw[i + 1] = '\x80';
	}
	struct utf8_visible view = { 0 };
	size_t len;
	auto_free char *text = utf8_visible_push(&view, raw, sizeof(raw), &len);
	ASSERT_EQ(len, sizeof(raw) / 2 * strlen("<U+0080>"));
	ASSERT_EQ(strncmp(text, "<U+0080><U+0080>", 16), 0);
}

TEST(utf8_line_fits_and_shows_controls)
{
	char line[16];
	ASSERT_STR(utf8_line("short", line, sizeof(line)), "short");
	ASSERT_STR(utf8_line("exactly15bytes!", line, sizeof(line)), "exactly15bytes!");
	ASSERT_STR(utf8_line("sixteen bytes ab", line, sizeof(line)), "sixteen byte\xe2\x80\xa6");
	ASSERT_STR(utf8_line("a\nb\x1b[31m", line, sizeof(line)), "a^Jb^[[31m");
	ASSERT_STR(utf8_line("\xff\xe2\x82", line, sizeof(line)), FFFD FFFD);
	ASSERT_STR(utf8_line("", line, sizeof(line)), "");
}

TEST(utf8_line_never_cuts_a_character)
{
	char line[40];
	for (size_t size = 8; size < sizeof(line); size++) {
		(void)utf8_line("\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xe2\x82\xac\xe2\x82\xac\xc3\xa9"
				"\xc3\xa9\xc3\xa9\xf0\x9f\x98\x80\xf0\x9f\x98\x80",
			line, size);
		ASSERT(strlen(line) < size);
		ASSERT(utf8_is_valid(line, strlen(line), NULL));
	}
}

TEST(positions_count_characters)
{
	const char *text = "a\u00e9\u20acz"; /* of 1, 2, 3 and 1 bytes */
	ASSERT_EQ(utf8_byte_at(text, 0), 0);
	ASSERT_EQ(utf8_byte_at(text, 2), 3);
	ASSERT_EQ(utf8_byte_at(text, 3), 6);
	ASSERT_EQ(utf8_byte_at(text, 99), 7);
	ASSERT_EQ(utf8_count(text, 7), 4);
	ASSERT_EQ(utf8_count(text, 3), 2);
}
