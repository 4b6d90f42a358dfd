/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "cli/session_view.h"

enum { NOW = 100000 };

#define INFO(name, more)                                                                        \
	"{\"name\":\"" name "\",\"language\":\"python\",\"status\":\"idle\",\"created\":99000," \
	"\"last_used\":99990,\"executions\":12,\"idle\":3600,\"lifetime\":86400,\"undo\":0,"    \
	"\"memory_kb\":12345" more "}"

static struct json_object *parse(const char *text)
{
	struct json_object *json = NULL;
	struct err err = { 0 };
	ASSERT_OK(json_read(text, strlen(text), 1 << 20, 16, &json, &err));
	return json;
}

static char *list(const char *sessions, int columns, bool is_terminal)
{
	struct term term = { .columns = columns, .rows = 24, .is_terminal = is_terminal };
	auto_free char *text = xasprintf("{\"sessions\":[%s]}", sessions);
	auto_json struct json_object *json = parse(text);
	struct buf out;
	buf_init(&out, 1 << 20);
	session_list_put(&out, json_object_object_get(json, "sessions"), &term, NOW);
	return out.data;
}

TEST(a_list_has_one_line_for_each_session)
{
	auto_free char *text =
		list(INFO("a", "") "," INFO("analysis", ",\"point_count\":1"), 80, true);
	ASSERT_STR(text, "NAME      LANGUAGE  STATUS  TURNS  POINTS  MEMORY      USED  ENDS IN\n"
			 "a         python    idle       12       0  12 MiB  10 s ago   59 min\n"
			 "analysis  python    idle       12       1  12 MiB  10 s ago   59 min\n");
}

TEST(a_long_name_gives_way_on_a_terminal_and_nowhere_else)
{
	static const char info[] =
		INFO("a-name-of-sixty-four-letters-which-is-the-most-that-a-name-can-be", "");
	auto_free char *narrow = list(info, 80, true);
	for (const char *line = narrow; *line; line += strcspn(line, "\n") + 1)
		ASSERT(text_put(NULL, line, strcspn(line, "\n"), 1000) < 80);
	ASSERT(strstr(narrow, "…"));
	auto_free char *piped = list(info, 80, false);
	ASSERT(strstr(piped, "that-a-name-can-be  python"));
}

TEST(what_a_session_says_of_itself_is_shown_not_obeyed)
{
	auto_free char *text = list(INFO("a\\u001b[2J", ""), 80, true);
	ASSERT(strstr(text, "a^[[2J"));
}

TEST(info_of_the_wrong_shape_is_shown_as_far_as_it_goes)
{
	auto_free char *text = list("{},{\"name\":7,\"points\":3,\"last_used\":\"x\"}", 80, true);
	ASSERT(text != NULL);
}

static char *points(const char *list_text)
{
	struct term term = { .columns = 80, .rows = 24 };
	auto_free char *text = xasprintf("{\"points\":[%s]}", list_text);
	auto_json struct json_object *json = parse(text);
	struct buf out;
	buf_init(&out, 1 << 20);
	session_points_put(&out, json, &term, NOW);
	return out.data;
}

TEST(points_that_branch_go_to_the_right_and_a_chain_stays)
{
	auto_free char *text =
		points("{\"id\":1,\"name\":\"start\",\"created\":99990},"
		       "{\"id\":2,\"parent\":1,\"execution\":1,\"created\":99990},"
		       "{\"id\":3,\"parent\":2,\"name\":\"a\",\"execution\":2,\"created\":99990},"
		       "{\"id\":4,\"parent\":2,\"name\":\"b\",\"execution\":2,\"created\":99990}");
	ASSERT_STR(text, "  1 start  after turn 0, 10 s ago\n"
			 "  2  after turn 1, 10 s ago\n"
			 "    3 a  after turn 2, 10 s ago\n"
			 "    4 b  after turn 2, 10 s ago\n");
}

TEST(a_point_whose_parent_is_gone_is_a_root)
{
	auto_free char *text = points("{\"id\":5,\"parent\":3,\"created\":99990}");
	ASSERT_STR(text, "  5  after turn 0, 10 s ago\n");
}

TEST(a_point_that_is_its_own_parent_is_not_walked_for_ever)
{
	auto_free char *text = points("{\"id\":5,\"parent\":5},{\"id\":0,\"parent\":0}");
	(void)text;
}

TEST(spans_are_told_in_the_unit_that_fits)
{
	char text[32];
	ASSERT_STR(session_span(-5, text, sizeof(text)), "0 s");
	ASSERT_STR(session_span(119, text, sizeof(text)), "119 s");
	ASSERT_STR(session_span(120, text, sizeof(text)), "2 min");
	ASSERT_STR(session_span(7200, text, sizeof(text)), "2 h");
	ASSERT_STR(session_span(172800, text, sizeof(text)), "2 d");
}

TEST(limits_are_told_in_the_units_of_the_options)
{
	auto_json struct json_object *json = parse(
		"{\"limits\":{\"timeout\":33,\"memory\":536870912,\"pids\":128,\"disk\":null}}");
	struct buf out;
	buf_init(&out, 1 << 16);
	session_limits_put(&out, json, ", ", false);
	ASSERT_STR(buf_text(&out), "timeout 33 s, memory 512M, pids 128");
	buf_done(&out);
}
