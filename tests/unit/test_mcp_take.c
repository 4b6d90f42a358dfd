/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "mcp/parts.h"
#include "wire/json.h"

#define META                                                                     \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define RUN "\"name\":\"run_code\",\"arguments\":{\"code\":\"1\"}"

static struct mcp *mcp;
static struct mcp_peer peer;
static struct mcp_context context;
static struct mcp_call *working;
static char *job;
static enum work_kind job_kind;
static size_t said, ends, cancels;
static enum mcp_end last_end;
static char *last; /* message */

static void keep(const char *message, size_t len)
{
	free(last);
	last = message ? xstrndup(message, len) : NULL;
}

static void say(void *unused, const char *message, size_t len)
{
	(void)unused;
	said++;
	keep(message, len);
}

static void end(void *unused, enum mcp_end how, const char *message, size_t len)
{
	(void)unused;
	ends++;
	last_end = how;
	keep(message, len);
}

static int begin_work(void *unused, struct mcp_call *call, enum work_kind kind, const char *text,
	size_t len, struct err *err)
{
	(void)unused;
	if (working)
		return err_set(err, ERR_BUSY, "one at a time");
	working = call;
	job_kind = kind;
	free(job);
	job = xstrndup(text, len);
	return 0;
}

static void cancel_work(void *unused, struct mcp_call *call)
{
	(void)unused;
	ASSERT(call == working);
	cancels++;
}

static const struct mcp_workshop workshop = { .begin = begin_work, .cancel = cancel_work };

static void set_up(void)
{
	mcp = mcp_open(&workshop, NULL);
	context = (struct mcp_context){ .peer = &peer, .group = "" };
}

static struct mcp_exchange *take(const char *text)
{
	const struct mcp_listener listener = { .say = say, .end = end };
	return mcp_take(mcp, &context, text, strlen(text), &listener);
}

static void finish(const char *result)
{
	struct mcp_call *call = take_ptr(&working);
	auto_free char *line = result ? xasprintf("{\"event\":\"done\",\"data\":%s,"
						  "\"execution_id\":\"x\",\"seq\":1}",
						result)
				      : NULL;
	mcp_hear(call, line, line ? strlen(line) : 0, true);
}

static void tear_down(void)
{
	mcp_close(mcp);
	free(last);
	free(job);
}

static void expect(const char *part)
{
	if (!last || !strstr(last, part))
		FAIL("'%s' lacks '%s'", last ? last : "", part);
}

TEST(a_request_is_answered_before_it_returns_where_nothing_is_to_be_done)
{
	set_up();
	ASSERT(!take("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}"));
	ASSERT_EQ(ends, 1);
	ASSERT_EQ(last_end, MCP_END_ANSWERED);
	ASSERT_STR(last, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}");
	tear_down();
}

TEST(a_notification_is_accepted_and_not_answered)
{
	set_up();
	ASSERT(!take("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
	ASSERT_EQ(last_end, MCP_END_ACCEPTED);
	ASSERT(!last);
	tear_down();
}

TEST(work_is_answered_when_it_is_done)
{
	set_up();
	ASSERT(take(
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" RUN "}}"));
	ASSERT_EQ(ends, 0);
	ASSERT_EQ(job_kind, WORK_RUN);
	ASSERT_STR(job, "{\"code\":\"1\"}");
	ASSERT_EQ(mcp_busy(mcp), 1);
	finish("{\"status\":\"ok\",\"stdout\":\"1\\n\",\"meta\":{}}");
	ASSERT_EQ(ends, 1);
	ASSERT_EQ(mcp_busy(mcp), 0);
	expect("\"text\":\"1\\n\"");
	expect("\"isError\":false");
	tear_down();
}

TEST(work_that_cannot_begin_is_an_error_of_the_tool)
{
	set_up();
	(void)take("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" RUN "}}");
	ASSERT(!take(
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{" RUN "}}"));
	expect("one at a time");
	expect("\"isError\":true");
	ASSERT_EQ(mcp_busy(mcp), 1);
	finish(NULL);
	expect("died");
	tear_down();
}

TEST(a_cancelled_call_ends_without_a_word)
{
	set_up();
	(void)take("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" RUN "}}");
	(void)take("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		   "\"requestId\":\"1\"}}");
	ASSERT_EQ(cancels, 0); /* a text is another id than a number */
	(void)take("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		   "\"requestId\":1}}");
	ASSERT_EQ(cancels, 1);
	ASSERT_EQ(ends, 2);
	finish("{\"status\":\"interrupted\",\"meta\":{}}");
	ASSERT_EQ(ends, 3);
	ASSERT(!last);
	tear_down();
}

TEST(nobody_cancels_what_is_anothers)
{
	set_up();
	(void)take("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" RUN "}}");
	context.client = 7;
	(void)take("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		   "\"requestId\":1}}");
	context.client = 0;
	context.group = "other";
	(void)take("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		   "\"requestId\":1}}");
	context.group = NULL;
	(void)take("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		   "\"requestId\":1}}");
	ASSERT_EQ(cancels, 0);
	finish(NULL);
	tear_down();
}

TEST(who_leaves_cancels_in_the_modern_era_only)
{
	set_up();
	struct mcp_exchange *legacy = take(
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" RUN "}}");
	mcp_leave(legacy);
	ASSERT_EQ(cancels, 0);
	ASSERT_EQ(ends, 0);
	finish("{\"status\":\"ok\",\"meta\":{}}");
	ASSERT_EQ(ends, 1);
	ASSERT(!last);
	struct mcp_exchange *modern =
		take("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
		     "\"params\":{" RUN "," META "}}");
	mcp_leave(modern);
	ASSERT_EQ(cancels, 1);
	finish(NULL);
	ASSERT_EQ(ends, 2);
	ASSERT(!last);
	tear_down();
}

TEST(a_batch_is_answered_when_all_of_it_is_done)
{
	set_up();
	ASSERT(take("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" RUN
		    "}},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"},"
		    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]"));
	ASSERT_EQ(ends, 0);
	finish("{\"status\":\"ok\",\"meta\":{}}");
	ASSERT_EQ(ends, 1);
	ASSERT(last && last[0] == '[' && strstr(last, "\"id\":1") && strstr(last, "\"id\":2"));
	(void)take("[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]");
	ASSERT(!last);
	ASSERT_EQ(last_end, MCP_END_ACCEPTED);
	peer.version = MCP_2025_11_25;
	(void)take("[{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}]");
	expect("-32600");
	ASSERT_EQ(last_end, MCP_END_INVALID);
	tear_down();
}

TEST(progress_rises_and_is_told_only_to_who_asked)
{
	static const char event[] = "{\"event\":\"stdout\",\"data\":\"a\\u001b[1mb\\n\"}";
	set_up();
	(void)take("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" RUN "}}");
	mcp_hear(working, event, strlen(event), false);
	ASSERT_EQ(said, 0);
	finish(NULL);
	(void)take("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" RUN
		   ",\"_meta\":{\"progressToken\":5}}}");
	mcp_hear(working, event, strlen(event), false);
	ASSERT_EQ(said, 1);
	expect("\"progressToken\":5");
	expect("\"progress\":7");
	expect("a^[[1mb"); /* no control comes through */
	mcp_hear(working, event, strlen(event), false);
	ASSERT_EQ(said, 1); /* not so soon */
	finish(NULL);
	tear_down();
}

TEST(a_trace_is_passed_on_where_it_makes_sense)
{
	static const char trace[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
	set_up();
	context.trace = trace;
	(void)take("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" RUN "}}");
	ASSERT(strstr(job, trace));
	finish(NULL);
	(void)take("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" RUN
		   ",\"_meta\":{\"traceparent\":"
		   "\"00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"}}}");
	ASSERT(strstr(job, "00-1af7"));
	finish(NULL);
	context.trace = NULL;
	(void)take("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" RUN
		   ",\"_meta\":{\"traceparent\":\"nonsense\"}}}");
	ASSERT_STR(job, "{\"code\":\"1\"}");
	finish(NULL);
	tear_down();
}

TEST(headers_must_say_what_a_modern_message_says)
{
	static const char text[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
				   "\"params\":{" RUN "," META "}}";
	set_up();
	context = (struct mcp_context){ .has_headers = true,
		.version_header = "2026-07-28",
		.method_header = "tools/call",
		.name_header = " run_code " };
	ASSERT(take(text));
	finish(NULL);
	context.name_header = "=?base64?cnVuX2NvZGU=?=";
	ASSERT(take(text));
	finish(NULL);
	static const char *const wrong[] = { NULL, "run_cod", "=?base64?eA==?=",
		"=?base64?"
		"?=",
		"" };
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		context.name_header = wrong[i];
		ASSERT(!take(text));
		expect("-32020");
		ASSERT_EQ(last_end, MCP_END_INVALID);
	}
	tear_down();
}

TEST(a_modern_client_hears_that_a_method_is_not_there)
{
	set_up();
	(void)take("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META "}}");
	expect("-32601");
	ASSERT_EQ(last_end, MCP_END_UNKNOWN_METHOD);
	(void)take("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pong\"}");
	ASSERT_EQ(last_end, MCP_END_ANSWERED);
	tear_down();
}

TEST(no_tool_has_an_argument_that_reaches_out_of_a_cell)
{
	for (size_t i = 0; i < mcp_service.tool_count; i++)
		for (const struct mcp_param *param = mcp_service.tools[i].params; param->name;
			param++) {
			const struct field *field = param->is_own ? NULL : spec_field(param->name);
			ASSERT(!field || !field->is_host);
		}
}

TEST(what_the_structured_part_promises_is_in_every_result)
{
	struct spec spec;
	struct result result;
	set_up();
	spec_init(&spec);
	result_init(&result);
	result.status = STATUS_OK;
	(void)take("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" RUN "}}");
	auto_free char *text = result_to_json(&result, &spec, false);
	finish(text);
	auto_json struct json_object *schema = mcp_describe_result();
	auto_json struct json_object *answer = json_tokener_parse(last);
	struct json_object *structured = json_object_object_get(
		json_object_object_get(answer, "result"), "structuredContent");
	struct json_object *required = json_object_object_get(schema, "required");
	for (size_t i = 0; i < json_object_array_length(required); i++)
		ASSERT(json_object_object_get_ex(structured,
			json_object_get_string(json_object_array_get_idx(required, i)), NULL));
	result_done(&result);
	spec_done(&spec);
	tear_down();
}
