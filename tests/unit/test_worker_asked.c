/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "base/own.h"
#include "worker/worker.h"

static void refuse(enum work_kind kind, const char *text, const char *word)
{
	struct asked asked;
	struct err err = { 0 };
	ASSERT(asked_read(&asked, kind, text, strlen(text), &err) < 0);
	if (!strstr(err.text, word))
		FAIL("'%s' lacks '%s'", err.text, word);
	asked_done(&asked);
}

TEST(a_new_session_is_a_spec_and_more)
{
	static const char text[] = "{\"verb\":\"new\",\"name\":\"a\",\"idle\":60,\"undo\":3,"
				   "\"memory\":\"64M\",\"lifetime\":null,\"env\":{\"A\":\"1\"}}";
	struct asked asked;
	struct err err = { 0 };
	ASSERT_OK(asked_read(&asked, WORK_SESSION, text, strlen(text), &err));
	ASSERT_STR(asked.name, "a");
	ASSERT_EQ(asked.idle_s, 60);
	ASSERT_EQ(asked.lifetime_s, 0);
	ASSERT_EQ(asked.undo, 3);
	ASSERT_EQ(asked.spec.memory, 64 << 20);
	ASSERT_STR(asked.spec.env.items[0], "A=1");
	asked_done(&asked);
}

TEST(a_turn_takes_what_is_of_one_execution)
{
	static const char text[] =
		"{\"session\":\"a\",\"code\":\"1\",\"timeout\":2.5,\"wait\":true,"
		"\"input\":true,\"filename\":\"x.py\"}";
	struct asked asked;
	struct err err = { 0 };
	ASSERT_OK(asked_read(&asked, WORK_TURN, text, strlen(text), &err));
	ASSERT_EQ(asked.spec.timeout_ms, 2500);
	ASSERT(asked.waits && asked.answers_input && !asked.reloads);
	ASSERT_STR(asked.filename, "x.py");
	asked_done(&asked);
}

TEST(what_belongs_elsewhere_is_refused_with_its_name)
{
	refuse(WORK_TURN, "{\"code\":\"1\",\"memory\":\"1G\"}", "memory: is settled");
	refuse(WORK_TURN, "{}", "code: is missing");
	refuse(WORK_TURN, "{\"code\":\"1\",\"wait\":\"yes\"}", "wait: must be true or false");
	refuse(WORK_TURN, "{\"code\":\"1\",\"wiat\":true}", "did you mean 'wait'");
	refuse(WORK_SESSION, "{\"code\":\"1\"}", "code: belongs to an execution");
	refuse(WORK_SESSION, "{\"undo\":65}", "undo: '65' is out of range");
	refuse(WORK_SESSION, "{\"idle\":0}", "idle:");
	refuse(WORK_SESSION, "{\"nam\":\"x\"}", "did you mean 'name'");
	refuse(WORK_SESSION, "[]", "an object");
	refuse(WORK_CHECK, "{\"autorun\":true}", "nothing to run");
	refuse(WORK_RECORDS, "{\"limit\":1001}", "limit:");
	refuse(WORK_RECORDS, "{\"status\":\"none\"}", "status: 'none' is not known");
	refuse(WORK_RUN, "{\"code\":\"1\",\"session\":\"a\"}", "unknown field 'session'");
}
