/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/report.h"

#include <string.h>

#include "unit/test.h"

/* What the last byte of the text made of it. */
static enum report_kind take(
	struct report_reader *reader, const char *text, struct report_end *ret_end)
{
	enum report_kind kind = REPORT_NONE;
	for (; *text; text++)
		kind = report_take(reader, *text, ret_end);
	return kind;
}

TEST(report_tells_that_code_begins_and_how_it_ended)
{
	struct report_reader reader = { 0 };
	struct report_end end = { 0 };
	ASSERT_EQ(take(&reader, "s", &end), REPORT_BEGUN);
	ASSERT_EQ(take(&reader, "e7 130 himBs\n", &end), REPORT_ENDED);
	ASSERT_EQ(end.turn, 7);
	ASSERT_EQ(end.status, 130);
	ASSERT_STR(end.flags, "himBs");
	ASSERT_EQ(take(&reader, "e8 0 \n", &end), REPORT_ENDED);
	ASSERT_STR(end.flags, "");
}

TEST(report_passes_over_what_is_none)
{
	static const char *const texts[] = { "\n", "x\n", "e\n", "e1\n", "e1 2\n", "e 1 2 x\n",
		"e-1 0 x\n", "e1 -2 x\n", "e99999999999999999999 0 x\n", "e1 0\n", "exs\n" };
	struct report_reader reader = { 0 };
	struct report_end end = { 0 };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ASSERT_EQ(take(&reader, texts[i], &end), REPORT_NONE);
	ASSERT_EQ(take(&reader, "e1 0 x\n", &end), REPORT_ENDED);
}

TEST(report_forgets_a_line_that_is_too_long)
{
	static char line[2 * REPORT_LINE_MAX];
	struct report_reader reader = { 0 };
	struct report_end end = { 0 };
	memset(line, 'x', sizeof(line) - 2);
	memcpy(line, "e1 0 ", strlen("e1 0 "));
	line[sizeof(line) - 2] = '\n';
	ASSERT_EQ(take(&reader, line, &end), REPORT_NONE);
	ASSERT_EQ(take(&reader, "s", &end), REPORT_BEGUN);
	ASSERT_EQ(take(&reader, "e2 0 x\n", &end), REPORT_ENDED);
	ASSERT_EQ(end.turn, 2);
}
