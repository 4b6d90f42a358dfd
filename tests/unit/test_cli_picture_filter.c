/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "cli/view.h"

static bool filter(const char *text, enum term_pictures pictures, struct buf *out)
{
	buf_init(out, 1 << 16);
	return picture_filter(text, strlen(text), pictures, out);
}

#define ASSERT_PASSES(text, pictures, want)            \
	do {                                           \
		auto_buf struct buf out_ = { 0 };      \
		ASSERT(filter(text, pictures, &out_)); \
		ASSERT_STR(buf_text(&out_), want);     \
	} while (0)

#define ASSERT_REFUSED(text, pictures)                  \
	do {                                            \
		auto_buf struct buf out_ = { 0 };       \
		ASSERT(!filter(text, pictures, &out_)); \
	} while (0)

TEST(symbols_and_colours_pass)
{
	ASSERT_PASSES("\033[?25l\033[0m\033[38;2;1;2;3;48;5;9m▄▀ ─\033[0m\n\033[?25h",
		PICTURES_SYMBOLS, "\033[0m\033[38;2;1;2;3;48;5;9m▄▀ ─\033[0m\n");
	ASSERT_PASSES("⣿\U0001fb00", PICTURES_SYMBOLS, "⣿\U0001fb00");
}

TEST(a_picture_of_symbols_cannot_speak_or_move)
{
	static const char *const wrong[] = { "a", "7", "\t", "\r", "\033[2J", "\033[H", "\033[6n",
		"\033]0;t\007", "\033c", "\033[?1049h", "\033[38;2", "\u202e", "é", "\xff", "▄x",
		"\033[0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0m" };
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		ASSERT_REFUSED(wrong[i], PICTURES_SYMBOLS);
	ASSERT_REFUSED("\033P0;1;0q~\033\\", PICTURES_SYMBOLS);
	ASSERT_REFUSED("\033_Ga=T;AAAA\033\\", PICTURES_SYMBOLS);
}

TEST(a_picture_of_symbols_has_an_end)
{
	char lines[400];
	memset(lines, '\n', sizeof(lines) - 1);
	lines[sizeof(lines) - 1] = '\0';
	ASSERT_REFUSED(lines, PICTURES_SYMBOLS);
}

TEST(sixels_pass_within_reason)
{
	static const char picture[] = "\033P0;1;0q\"1;1;320;102#0;2;0;0;99#0!40~-$?@\033\\\n";
	ASSERT_PASSES(picture, PICTURES_SIXEL, picture);
	ASSERT_REFUSED("\033P0;1;0q!99999999~\033\\", PICTURES_SIXEL);
	ASSERT_REFUSED("\033P0;1;0q~\033[2J\033\\", PICTURES_SIXEL);
	ASSERT_REFUSED("\033P0;1;0q~", PICTURES_SIXEL);
	ASSERT_REFUSED("\033P+q544e\033\\", PICTURES_SIXEL);
	ASSERT_REFUSED("\033P$qm\033\\", PICTURES_SIXEL);
	ASSERT_REFUSED("\033Pq~\033\\\033Pq~\033\\", PICTURES_SIXEL);
}

TEST(kitty_pictures_pass_without_the_size_in_characters_and_without_replies)
{
	ASSERT_PASSES("\033_Ga=T,f=32,s=320,v=104,c=40,r=13,m=1\033\\\033_Gm=1;AAAA\033\\\033_Gm=0"
		      "\033\\\n",
		PICTURES_KITTY,
		"\033_Ga=T,q=2,f=32,s=320,v=104,m=1;\033\\\033_Gm=1;AAAA\033\\\033_Gm=0;\033\\\n");
}

TEST(kitty_may_not_read_files_answer_or_store)
{
	static const char *const wrong[] = { "\033_Ga=T,t=f;L2V0Yy9wYXNzd2Q=\033\\",
		"\033_Ga=q,i=31;AAAA\033\\", "\033_Ga=d\033\\", "\033_Gf=100;AAAA\033\\",
		"\033_Ga=T,s=99999;AAAA\033\\", "\033_Ga=T;AA\033[2JAA\033\\", "\033_G;AAAA\033\\",
		"\033_Ga=T;AAAA", "\033_Ga=T,i=1;AAAA\033\\", "\033_Gm=;AAAA\033\\" };
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		ASSERT_REFUSED(wrong[i], PICTURES_KITTY);
}
