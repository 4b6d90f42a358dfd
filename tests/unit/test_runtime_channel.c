/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "base/own.h"
#include "runtime/channel.h"

static struct result result;
static struct channel channel;
static struct message message;
static struct err err;

static int take(const char *text)
{
	int r = channel_take(&channel, text, strlen(text), &message, &err);
	return r;
}

static void begin(void)
{
	result_init(&result);
	channel = (struct channel){ .result = &result };
	message = (struct message){ 0 };
}

static void end(void)
{
	message_done(&message);
	result_done(&result);
}

TEST(values_become_outputs_in_their_order)
{
	begin();
	ASSERT_OK(take(
		"{\"event\":\"display\",\"data\":{\"text/plain\":\"x\"},\"metadata\":{\"a\":1}}"));
	message_done(&message);
	ASSERT_OK(take("{\"event\":\"result\",\"data\":{\"application/json\":{\"b\":[1]}}}"));
	ASSERT_EQ(message.kind, MESSAGE_RESULT);
	ASSERT_EQ(result.output_count, 2);
	ASSERT(!result.outputs[0].is_result && result.outputs[1].is_result);
	ASSERT_STR(result.outputs[0].data, "{\"text/plain\":\"x\"}");
	ASSERT_STR(result.outputs[0].metadata, "{\"a\":1}");
	ASSERT_STR(result.outputs[1].data, "{\"application/json\":{\"b\":[1]}}");
	ASSERT_STR(result.outputs[1].metadata, "{}");
	auto_free char *line = message_to_json(&message, "ID", 7);
	ASSERT_STR(line,
		"{\"event\":\"result\",\"data\":{\"application/json\":{\"b\":[1]}},\"metadata\":{},"
		"\"execution_id\":\"ID\",\"seq\":7}\n");
	end();
}

TEST(an_error_fills_the_failure_and_the_last_one_counts)
{
	begin();
	ASSERT_OK(take("{\"event\":\"error\",\"kind\":\"syntax\",\"name\":\"A\",\"value\":\"\"}"));
	message_done(&message);
	ASSERT_OK(take("{\"event\":\"error\",\"kind\":\"runtime\",\"name\":\"ZeroDivisionError\","
		       "\"value\":\"division by zero\",\"line\":3,\"column\":null,\"traceback\":["
		       "{\"file\":\"main.py\",\"line\":3,\"column\":5,\"function\":\"f\","
		       "\"source\":\"1/0\"},{\"file\":\"b.py\"}]}"));
	ASSERT_STR(result.error.kind, "runtime");
	ASSERT_STR(result.error.name, "ZeroDivisionError");
	ASSERT_STR(result.error.value, "division by zero");
	ASSERT_EQ(result.error.line, 3);
	ASSERT_EQ(result.error.column, 0);
	ASSERT_EQ(result.error.trace_count, 2);
	ASSERT_STR(result.error.trace[0].source, "1/0");
	ASSERT_EQ(result.error.trace[0].column, 5);
	ASSERT(!result.error.trace[1].function);
	end();
}

/* clang-format off */
static const struct { const char *text, *words; } broken[] = {
	{ "", "empty" },
	{ "[]", "an object" },
	{ "{}", "'event' is missing" },
	{ "{\"event\":\"stdout\"}", "'event' is missing or not known" },
	{ "{\"event\":7}", "not known" },
	{ "{\"event\":\"display\"}", "'data' is missing" },
	{ "{\"event\":\"display\",\"data\":null}", "'data' must be an object" },
	{ "{\"event\":\"display\",\"data\":{\"plain\":1}}", "no MIME type" },
	{ "{\"event\":\"display\",\"data\":{\"a/b/c\":1}}", "no MIME type" },
	{ "{\"event\":\"display\",\"data\":{\"/b\":1}}", "no MIME type" },
	{ "{\"event\":\"display\",\"data\":{\"a/\":1}}", "no MIME type" },
	{ "{\"event\":\"display\",\"data\":{\"a/b\\n\":1}}", "no MIME type" },
	{ "{\"event\":\"display\",\"data\":{},\"more\":1}", "'more' is not known" },
	{ "{\"event\":\"display\",\"data\":{},\"metadata\":[]}", "'metadata' must not be" },
	{ "{\"event\":\"error\",\"kind\":\"runtime\",\"name\":\"A\"}", "'value' is missing" },
	{ "{\"event\":\"error\",\"kind\":\"timeout\",\"name\":\"A\",\"value\":\"\"}", "'kind'" },
	{ "{\"event\":\"error\",\"kind\":\"runtime\",\"name\":\"A\",\"value\":\"\",\"line\":-1}", "range" },
	{ "{\"event\":\"error\",\"kind\":\"runtime\",\"name\":\"A\",\"value\":\"\",\"line\":1.5}", "'line'" },
	{ "{\"event\":\"error\",\"kind\":\"runtime\",\"name\":\"A\",\"value\":\"\",\"traceback\":[1]}", "no object" },
	{ "{\"event\":\"error\",\"kind\":\"runtime\",\"name\":\"A\",\"value\":\"\",\"traceback\":[{}]}", "'file' is missing" },
	{ "{\"event\":\"done\",\"exit_code\":\"0\"}", "'exit_code'" },
	{ "{\"event\":\"report\",\"findings\":{},\"imports\":[],\"left_out\":0}", "'findings' must be an array" },
	{ "{\"event\":\"report\",\"findings\":[],\"imports\":[1],\"left_out\":0}", "'imports' has an item" },
	{ "{\"event\":\"report\",\"findings\":[{}],\"imports\":[],\"left_out\":0}", "'rule' is missing" },
	{ "{\"event\":\"report\",\"findings\":[],\"imports\":[]}", "'left_out' is missing" },
	{ "{\"event\":\"refused\",\"kind\":\"import\"}", "'name' is missing" },
};
/* clang-format on */

TEST(what_is_no_message_is_refused_by_name)
{
	for (size_t i = 0; i < COUNT_OF(broken); i++) {
		begin();
		ASSERT(take(broken[i].text) < 0);
		ASSERT_HAS(err.text, broken[i].words);
		ASSERT(!message.json && result.output_count == 0 && result.error.kind[0] == '\0');
		end();
	}
}

TEST(too_many_values_are_left_out_and_told)
{
	begin();
	for (int i = 0; i < LIMIT_OUTPUTS + 3; i++) {
		ASSERT_OK(take("{\"event\":\"display\",\"data\":{\"text/plain\":\"x\"}}"));
		ASSERT_EQ(message.kind, i < LIMIT_OUTPUTS ? MESSAGE_DISPLAY : MESSAGE_NONE);
		message_done(&message);
	}
	channel_end(&channel);
	ASSERT_EQ(result.output_count, LIMIT_OUTPUTS);
	ASSERT_EQ(result.warning_count, 1);
	ASSERT_HAS(result.warnings[0], "3 displayed values were left out");
	end();
}
