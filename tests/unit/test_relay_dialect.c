/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/dialect.h"

#include <string.h>

#include "unit/test.h"

static const char *quoted(struct buf *buf, const char *program, const char *text)
{
	buf->len = 0;
	dialect_quote(dialect_find(program), buf, text, strlen(text));
	return buf_text(buf);
}

TEST(dialect_is_found_by_the_name_of_its_shell)
{
	ASSERT(dialect_find("bash") && dialect_find("zsh") && dialect_find("sh"));
	ASSERT(dialect_find("dash") == dialect_find("sh"));
	ASSERT(!dialect_find("fish") && !dialect_find(""));
}

TEST(dialect_quotes_code_as_one_word_on_one_line)
{
	auto_buf struct buf buf;
	buf_init(&buf, 4096);
	ASSERT_STR(quoted(&buf, "bash", "echo 'a' \\ !x\n\t\x01"),
		"$'echo \\047a\\047 \\134 \\041x\\012\\011\\001'");
	ASSERT_STR(quoted(&buf, "zsh", "\xc3\xa9"), "$'\xc3\xa9'");
	ASSERT_STR(quoted(&buf, "sh", "it's\nthere"), "'it'\\''s\nthere'");
}

TEST(dialect_finds_the_word_and_whether_it_is_a_command)
{
	static const struct {
		const char *code;
		size_t start;
		bool is_command, is_cd;
	} cases[] = {
		{ "", 0, true, false },
		{ "ec", 0, true, false },
		{ "echo x", 5, false, false },
		{ "a | gr", 4, true, false },
		{ "if tr", 3, true, false },
		{ "x=$(l", 4, true, false },
		{ "cd /us", 3, false, true },
		{ "a; cd x", 6, false, true },
		{ "echo cd x", 8, false, false },
		{ "cat <fi", 5, false, false },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool is_command = false, is_cd = false;
		size_t start =
			dialect_word(cases[i].code, strlen(cases[i].code), &is_command, &is_cd);
		ASSERT_EQ(start, cases[i].start);
		ASSERT_EQ(is_command, cases[i].is_command);
		ASSERT_EQ(is_cd, cases[i].is_cd);
	}
}
