/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "cli/magic.h"

static void assert_magic(const char *text, const char *name, const char *words, const char *body)
{
	struct magic magic = { 0 };
	ASSERT(magic_parse(text, &magic));
	ASSERT_STR(magic.name, name);
	ASSERT_STR(magic.words, words);
	ASSERT_STR(magic.body, body);
	magic_done(&magic);
}

TEST(a_magic_has_a_name_words_and_lines_below)
{
	assert_magic("%undo", "undo", "", "");
	assert_magic("  %checkpoint  before it \n", "checkpoint", "before it", "");
	assert_magic("%save out.py\nx = 1\nprint(x)", "save", "out.py", "x = 1\nprint(x)");
	assert_magic("%time sum(range(9))", "time", "sum(range(9))", "");
	assert_magic("%UNDO-2", "UNDO", "-2", "");
}

TEST(two_marks_want_lines_below)
{
	struct magic magic = { 0 };
	ASSERT(magic_parse("%%save out.py", &magic));
	ASSERT_STR(magic.name, "save");
	ASSERT(magic.wants_body);
	magic_done(&magic);
	ASSERT(magic_parse("%save out.py", &magic));
	ASSERT(!magic.wants_body);
	magic_done(&magic);
}

TEST(code_is_no_magic)
{
	struct magic magic = { 0 };
	ASSERT(!magic_parse("x % y", &magic));
	ASSERT(!magic_parse("%1", &magic)); /* a job of a shell */
	ASSERT(!magic_parse("%", &magic));
	ASSERT(!magic_parse("%%", &magic));
	ASSERT(!magic_parse("%%%save", &magic));
	ASSERT(!magic_parse("", &magic));
	ASSERT(!magic_parse("print('%s')", &magic));
}

static void assert_question(const char *text, const char *name, int detail)
{
	auto_free char *found = NULL;
	int found_detail = -1;
	ASSERT(magic_is_question(text, &found, &found_detail));
	ASSERT_STR(found, name);
	ASSERT_EQ(found_detail, detail);
}

TEST(a_mark_on_either_side_of_a_name_asks_about_it)
{
	assert_question("?len", "len", 0);
	assert_question("? os.path ", "os.path", 0);
	assert_question("len?", "len", 0);
	assert_question("??len", "len", 1);
	assert_question("os.path.join??\n", "os.path.join", 1);
	assert_question("$x?", "$x", 0);
	assert_question("größe?", "größe", 0);
}

TEST(other_marks_are_code)
{
	static const char *const texts[] = { "?", "??", "", "a ? b : c", "?a?", "a???", "ls *.?",
		"f(x)?", "2?", "what is this?", "x = y?" };
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		char *name = NULL;
		int detail = 0;
		ASSERT(!magic_is_question(texts[i], &name, &detail));
	}
}
