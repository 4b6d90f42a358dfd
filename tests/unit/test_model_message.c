/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of messages are tested where they are heard: runtime/channel. */
#include "unit/test.h"

#include "model/message.h"

static struct message message;
static struct err err;

static int take(const char *text)
{
	err = (struct err){ 0 };
	return message_read(&message, text, strlen(text), &err);
}

TEST(done_tells_its_exit_code)
{
	static const int codes[] = { 0, 1, 255, 256, INT32_MAX };
	for (size_t i = 0; i < COUNT_OF(codes); i++) {
		auto_free char *text = xasprintf("{\"event\":\"done\",\"exit_code\":%d}", codes[i]);
		ASSERT_OK(take(text));
		ASSERT_EQ(message.kind, MESSAGE_DONE);
		ASSERT_EQ(message_exit_code(&message), codes[i]);
		message_done(&message);
	}
}

TEST(done_without_a_whole_number_as_exit_code_is_refused)
{
	static const char *const bad[] = { "{\"event\":\"done\"}",
		"{\"event\":\"done\",\"exit_code\":null}",
		"{\"event\":\"done\",\"exit_code\":\"0\"}",
		"{\"event\":\"done\",\"exit_code\":0.5}", "{\"event\":\"done\",\"exit_code\":true}",
		"{\"event\":\"done\",\"exit_code\":-1}",
		"{\"event\":\"done\",\"exit_code\":2147483648}",
		"{\"event\":\"done\",\"exit_code\":99999999999999999999}",
		"{\"event\":\"done\",\"exit_code\":0,\"signal\":9}" };
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		if (take(bad[i]) == 0)
			FAIL("%s was taken", bad[i]);
		ASSERT_EQ(err.code, ERR_INVALID);
		ASSERT(!message.json);
	}
}

TEST(what_runner_and_supervisor_settle_is_no_event)
{
	ASSERT_OK(take("{\"event\":\"done\",\"exit_code\":0}"));
	ASSERT(!message_is_event(&message));
	message_done(&message);
	ASSERT_OK(take("{\"event\":\"status\",\"state\":\"ready\"}"));
	ASSERT(!message_is_event(&message));
	message_done(&message);
	ASSERT_OK(take("{\"event\":\"display\",\"data\":{\"text/plain\":\"x\"}}"));
	ASSERT(message_is_event(&message));
	message_done(&message);
}

TEST(every_kind_has_a_name)
{
	for (int i = 0; i < MESSAGE_KIND_COUNT; i++)
		ASSERT(message_names[i]);
	ASSERT(!message_names[MESSAGE_KIND_COUNT]);
}
