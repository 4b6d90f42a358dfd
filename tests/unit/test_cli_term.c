/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "cli/progress.h"
#include "cli/term.h"

static void assert_answer(const char *text, bool is_whole, enum term_pictures want)
{
	enum term_pictures pictures = PICTURES_NONE;
	ASSERT_EQ(term_read_answer(text, strlen(text), &pictures), is_whole);
	ASSERT_EQ(pictures, want);
}

TEST(the_terminals_answer_tells_what_it_can)
{
	assert_answer("\033[?62;4;22c", true, PICTURES_SIXEL);
	assert_answer("\033[?64;1;2;4c", true, PICTURES_SIXEL);
	assert_answer("\033[?1;2c", true, PICTURES_SYMBOLS);
	assert_answer("\033[?64;14;44c", true, PICTURES_SYMBOLS);
	assert_answer("\033_Gi=31;OK\033\\\033[?62;c", true, PICTURES_KITTY);
	assert_answer("\033_Gi=31;ENOTSUPPORTED:\033\\\033[?62;4c", true, PICTURES_SIXEL);
}

TEST(an_answer_that_is_not_whole_is_waited_for)
{
	assert_answer("", false, PICTURES_NONE);
	assert_answer("\033", false, PICTURES_NONE);
	assert_answer("\033[?", false, PICTURES_NONE);
	assert_answer("\033[?62;4", false, PICTURES_NONE);
	assert_answer("\033_Gi=31;OK\033\\", false, PICTURES_NONE);
	assert_answer("typed\033[A", false, PICTURES_NONE);
}

TEST(a_pipe_is_plain_unless_it_is_asked_otherwise)
{
	struct term term;
	int ends[2];
	ASSERT_EQ(pipe(ends), 0);
	(void)setenv("TERM", "xterm-256color", 1);
	(void)unsetenv("COLORTERM");
	term_look(&term, ends[1], COLOUR_AUTO);
	ASSERT(!term.is_rich && !term.is_terminal && term.depth == DEPTH_NONE);
	term_look(&term, ends[1], COLOUR_ALWAYS);
	ASSERT(term.is_rich && !term.is_terminal && term.depth == DEPTH_256);
	(void)setenv("COLUMNS", "132", 1);
	term_look(&term, ends[1], COLOUR_ALWAYS);
	ASSERT_EQ(term.columns, 132);
	(void)setenv("COLUMNS", "-7", 1);
	term_look(&term, ends[1], COLOUR_ALWAYS);
	ASSERT_EQ(term.columns, 80);
}

TEST(the_progress_line_fits_and_tells_time_memory_and_output)
{
	struct term term = { .columns = 200 };
	struct progress progress = { .term = &term };
	struct pulse pulse = { .elapsed_us = 12340000,
		.timeout_ms = 33000,
		.memory = 43 << 20,
		.output_bytes = 1536 };
	auto_buf struct buf text = { 0 };
	auto_buf struct buf narrow = { 0 };
	buf_init(&text, 1024);
	buf_init(&narrow, 1024);
	progress_text(&text, &progress, &pulse);
	ASSERT_HAS(buf_text(&text), " 12.3 s of 33 s · 43 MiB memory · 1.5 KiB output");
	term.columns = 20;
	progress_text(&narrow, &progress, &pulse);
	ASSERT_EQ(text_put(NULL, buf_text(&narrow), narrow.len, 1000), 19);
}
