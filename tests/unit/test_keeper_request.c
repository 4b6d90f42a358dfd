/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <string.h>

#include "base/own.h"
#include "keeper/request.h"

static int read_text(struct session_request *request, const char *text, struct err *err)
{
	return session_request_read(request, text, strlen(text), err);
}

TEST(a_new_session_is_read_with_all_that_belongs_to_it)
{
	struct session_request request;
	struct err err = { 0 };
	ASSERT_OK(read_text(&request,
		"{\"verb\":\"new\",\"name\":\"a.b-c_1\",\"policy\":\"{}\",\"language\":\"python\","
		"\"points\":\"copy\",\"argv\":[\"/bin/x\",\"--session\"],\"env\":[\"A=1\"],"
		"\"limits\":{\"timeout\":33},\"guard\":{\"profile\":\"strict\"},\"tell\":"
		"true,\"check\":false,\"idle\":60,\"lifetime\":0,\"undo\":5,\"workspace\":"
		"true}",
		&err));
	ASSERT_EQ(request.verb, VERB_NEW);
	ASSERT_STR(request.name, "a.b-c_1");
	ASSERT_STR(request.language, "python");
	ASSERT_EQ(request.memory, MEMORY_COPY);
	ASSERT_EQ(request.argv.count, 2);
	ASSERT_STR(request.env.items[0], "A=1");
	ASSERT_HAS(request.limits, "33");
	ASSERT_HAS(request.guard, "strict");
	ASSERT(request.is_told && !request.wants_check);
	ASSERT_EQ(request.undo, 5);
	ASSERT(request.wants_workspace);
	session_request_done(&request);
}

TEST(a_request_says_whose_sessions_it_means)
{
	struct session_request request;
	struct err err = { 0 };
	ASSERT_OK(read_text(
		&request, "{\"verb\":\"info\",\"session\":\"a\",\"tenant\":\"ci\"}", &err));
	ASSERT_STR(request.tenant, "ci");
	session_request_done(&request);
	ASSERT_OK(read_text(&request, "{\"verb\":\"list\"}", &err));
	ASSERT_STR(request.tenant, "");
	ASSERT(!request.is_all);
	session_request_done(&request);
	ASSERT_OK(read_text(&request, "{\"verb\":\"list\",\"all\":true}", &err));
	ASSERT(request.is_all);
	session_request_done(&request);
	ASSERT_FAIL(
		read_text(&request, "{\"verb\":\"list\",\"tenant\":\"../x\"}", &err), ERR_INVALID);
	session_request_done(&request);
	ASSERT_FAIL(read_text(&request, "{\"verb\":\"list\",\"tenant\":\"\"}", &err), ERR_INVALID);
	session_request_done(&request);
}

TEST(a_point_is_named_or_numbered_and_null_is_nothing)
{
	struct session_request request;
	struct err err = { 0 };
	ASSERT_OK(
		read_text(&request, "{\"verb\":\"rollback\",\"session\":\"a\",\"point\":3}", &err));
	ASSERT_EQ(request.point_id, 3);
	session_request_done(&request);
	ASSERT_OK(read_text(&request,
		"{\"verb\":\"rollback\",\"session\":\"a\",\"point\":\"x\",\"force\":true}", &err));
	ASSERT_STR(request.point, "x");
	ASSERT(request.is_forced);
	session_request_done(&request);
	ASSERT_OK(read_text(
		&request, "{\"verb\":\"checkpoint\",\"session\":\"a\",\"point\":null}", &err));
	ASSERT_STR(request.point, "");
	session_request_done(&request);
}

TEST(what_makes_no_sense_is_refused_by_name)
{
	static const struct {
		const char *text, *words;
	} wrong[] = {
		{ "{}", "'verb' is missing" },
		{ "{\"verb\":\"dance\"}", "no verb 'dance'" },
		{ "{\"verb\":7}", "no verb" },
		{ "{\"verb\":\"info\"}", "'session' is missing" },
		{ "{\"verb\":\"info\",\"session\":\"..\"}", "cannot be a name" },
		{ "{\"verb\":\"info\",\"session\":7}", "must be a string" },
		{ "{\"verb\":\"list\",\"what\":1}", "'what' is not known" },
		{ "{\"verb\":\"rollback\",\"session\":\"a\"}", "'point' is missing" },
		{ "{\"verb\":\"rollback\",\"session\":\"a\",\"point\":0}", "a name or a number" },
		{ "{\"verb\":\"new\",\"language\":\"python\"}", "needs 'policy'" },
		{ "{\"verb\":\"turn\",\"session\":\"a\",\"wait\":1}", "must be a boolean" },
		{ "{\"verb\":\"list\",\"undo\":65}", "from 0 to 64" },
		{ "{\"verb\":\"list\",\"env\":[\"A\"]}", "has no value" },
		{ "nonsense", "" },
	};
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct session_request request;
		struct err err = { 0 };
		ASSERT_EQ(read_text(&request, wrong[i].text, &err), -1);
		ASSERT_HAS(err.text, wrong[i].words);
		session_request_done(&request);
	}
}

TEST(a_name_is_up_to_64_letters_digits_and_signs)
{
	char name[SESSION_NAME_BYTES + 2];
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ASSERT(!session_name_is_sound(name));
	name[SESSION_NAME_BYTES] = '\0';
	ASSERT(session_name_is_sound(name));
	ASSERT(session_name_is_sound("a"));
	ASSERT(session_name_is_sound("Z9._-"));
	static const char *const wrong[] = { "", ".", "-a", ".a", "a b", "a/b", "ä", "a\n" };
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		ASSERT(!session_name_is_sound(wrong[i]));
}
