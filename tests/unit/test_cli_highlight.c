/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <dirent.h>
#include <fcntl.h>

#include "cli/view.h"

static const char table[] = "{\"keywords\":[\"def\",\"return\"],\"constants\":[\"None\"],"
			    "\"comments\":[\"#\"],\"blocks\":[[\"/*\",\"*/\"]],"
			    "\"strings\":[\"\\\"\",\"'\"],\"long_strings\":[\"'''\"]}";

static struct highlight *load(const char *text)
{
	struct err err = { 0 };
	struct highlight *highlight = NULL;
	ASSERT_OK(highlight_from_json(text, strlen(text), &highlight, &err));
	return highlight;
}

/* Colours as letters: k keyword, c constant, s string, n number, # comment, . none. */
static char *colours(const struct highlight *highlight, struct highlight_state *state,
	const char *line, int columns)
{
	static const struct {
		const char *sequence;
		char letter;
	} known[] = { { "\033[35m", 'k' }, { "\033[36m", 'n' }, { "\033[32m", 's' },
		{ "\033[2m", '#' }, { "\033[0m", '.' } };
	struct term term = { .depth = DEPTH_16, .columns = 80 };
	auto_buf struct buf out = { 0 };
	buf_init(&out, 1 << 16);
	(void)highlight_put(&out, highlight, state, line, strlen(line), &term, columns);
	char *letters = xcalloc(out.len + 1, 1);
	size_t len = 0;
	char now = '.';
	for (const char *at = buf_text(&out); *at != '\0';) {
		size_t skip = 0;
		for (size_t i = 0; i < COUNT_OF(known) && skip == 0; i++) {
			if (strncmp(at, known[i].sequence, strlen(known[i].sequence)) == 0) {
				now = known[i].letter;
				skip = strlen(known[i].sequence);
			}
		}
		if (skip == 0)
			letters[len++] = now;
		at += skip ? skip : 1;
	}
	ASSERT_EQ(now, '.'); /* colours are off at the end */
	return letters;
}

static void assert_colours(const char *line, const char *want)
{
	struct highlight *highlight = load(table);
	struct highlight_state state = { 0 };
	auto_free char *letters = colours(highlight, &state, line, 80);
	ASSERT_STR(letters, want);
	highlight_free(highlight);
}

TEST(words_numbers_strings_and_comments_have_their_colours)
{
	assert_colours("def f(x1): return 12.5", "kkk........kkkkkk.nnnn");
	assert_colours("x = None  # why", "....nnnn..#####");
	assert_colours("y = 'a#b' + \"c\"", "....sssss...sss");
	assert_colours("'it\\'s' def", "sssssss.kkk");
	assert_colours("a /* b */ def", "..#######.kkk");
	assert_colours("undefined", ".........");
}

TEST(an_open_string_ends_with_its_line_and_a_long_one_goes_on)
{
	struct highlight *highlight = load(table);
	struct highlight_state state = { 0 };
	auto_free char *first = colours(highlight, &state, "a = 'open", 80);
	auto_free char *second = colours(highlight, &state, "def '''x", 80);
	auto_free char *third = colours(highlight, &state, "still''' def", 80);
	ASSERT_STR(first, "....sssss");
	ASSERT_STR(second, "kkk.ssss");
	ASSERT_STR(third, "ssssssss.kkk");
	highlight_free(highlight);
}

TEST(a_long_line_is_cut_and_its_colours_are_off)
{
	struct highlight *highlight = load(table);
	struct highlight_state state = { 0 };
	struct term term = { .depth = DEPTH_16 };
	auto_buf struct buf out = { 0 };
	buf_init(&out, 1 << 16);
	ASSERT_EQ(highlight_put(&out, highlight, &state, "'abcdefgh'", 10, &term, 5), 5);
	ASSERT_STR(buf_text(&out), "\033[32m'abc\033[0m…");
	highlight_free(highlight);
}

TEST(without_colours_or_a_table_the_text_is_plain)
{
	struct highlight_state state = { 0 };
	struct term term = { .depth = DEPTH_16 };
	auto_buf struct buf out = { 0 };
	buf_init(&out, 1 << 16);
	ASSERT_EQ(highlight_put(&out, NULL, &state, "def \033x", 6, &term, 80), 7);
	ASSERT_STR(buf_text(&out), "def ^[x");
}

TEST(a_mark_behind_a_word_is_no_comment_where_shells_are)
{
	struct highlight *highlight =
		load("{\"comments\":[\"#\"],\"comments_after_blank\":true,\"letters\":\"$\"}");
	struct highlight_state state = { 0 };
	auto_free char *letters = colours(highlight, &state, "echo $# a#b #c", 80);
	ASSERT_STR(letters, "............##");
	highlight_free(highlight);
}

TEST(case_is_ignored_where_the_language_does)
{
	struct highlight *highlight = load("{\"keywords\":[\"select\"],\"ignore_case\":true}");
	struct highlight_state state = { 0 };
	auto_free char *letters = colours(highlight, &state, "SELECT selects", 80);
	ASSERT_STR(letters, "kkkkkk........");
	highlight_free(highlight);
}

TEST(tables_that_make_no_sense_are_refused)
{
	static const char *const wrong[] = { "[]", "{\"keywords\":1}", "{\"keywords\":[1]}",
		"{\"comments\":[\"\"]}", "{\"blocks\":[[\"/*\"]]}", "{\"blocks\":[\"/*\"]}",
		"{\"letters\":7}" };
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct err err = { 0 };
		struct highlight *highlight = NULL;
		ASSERT_EQ(highlight_from_json(wrong[i], strlen(wrong[i]), &highlight, &err), -1);
		ASSERT(highlight == NULL);
	}
}

/* So that a slip in one of them does not just cost the colours. */
TEST(every_shipped_table_can_be_read)
{
	int count = 0;
	auto_dir DIR *dir = opendir("runtimes");
	if (!dir)
		SKIP("runs in the source directory only");
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		auto_free char *path = xasprintf("runtimes/%s/highlight.json", entry->d_name);
		auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
		auto_buf struct buf text = { 0 };
		if (fd < 0)
			continue;
		buf_init(&text, 1 << 16);
		ASSERT_EQ(buf_read(&text, fd), 0);
		highlight_free(load(buf_text(&text)));
		count++;
	}
	ASSERT(count >= 10);
}
