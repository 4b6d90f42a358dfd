/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of strangers, and results of work: whatever comes, every exchange ends once, and all
 * that is said is one line of JSON. The input is lines. The first is how the message came: its
 * first letter, then headers, each behind a bar. Then come messages; one that begins with '=' is
 * the result of the oldest work, and one with '!' an event of it.
 */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "mcp/mcp.h"
#include "model/spec.h"
#include "wire/json.h"

enum { WORKS_MAX = 64 };

static struct mcp *mcp;
static struct mcp_call *works[WORKS_MAX];
static size_t work_count, begun, ended;

static void check_message(const char *message, size_t len)
{
	struct json_object *json = NULL;
	struct err err = { 0 };
	MUST(strlen(message) == len && !memchr(message, '\n', len));
	MUST(json_read_list(message, len, (size_t)256 << 20, 80, &json, &err) == 0);
	MUST(json_object_is_type(json, json_type_array) ||
		json_object_object_get_ex(json, "jsonrpc", NULL));
	json_free(&json);
}

static void say(void *context, const char *message, size_t len)
{
	(void)context;
	check_message(message, len);
}

static void end(void *context, enum mcp_end how, const char *message, size_t len)
{
	(void)context;
	MUST(how <= MCP_END_UNKNOWN_METHOD);
	if (message)
		check_message(message, len);
	ended++;
}

static int begin_work(void *context, struct mcp_call *call, enum work_kind kind, const char *job,
	size_t len, struct err *err)
{
	(void)context;
	(void)kind;
	MUST(strlen(job) == len);
	if (work_count == WORKS_MAX)
		return err_set(err, ERR_BUSY, "too many");
	works[work_count++] = call;
	return 0;
}

static struct mcp_call *take_work(size_t at)
{
	struct mcp_call *call = works[at];
	memmove(works + at, works + at + 1, (work_count - at - 1) * sizeof(works[0]));
	work_count--;
	return call;
}

/* As a worker does: what is cancelled ends, and says so. */
static void cancel_work(void *context, struct mcp_call *call)
{
	(void)context;
	for (size_t i = 0; i < work_count; i++)
		if (works[i] == call) {
			mcp_hear(take_work(i), NULL, 0, true);
			return;
		}
	MUST(false);
}

static void finish_work(const char *result, size_t len)
{
	if (work_count == 0)
		return;
	auto_free char *line =
		xasprintf("{\"event\":\"done\",\"data\":%.*s,\"execution_id\":\"x\",\"seq\":1}",
			(int)len, result);
	mcp_hear(take_work(0), line, strlen(line), true);
}

static void take_line(const struct mcp_context *context, const char *line, size_t len)
{
	const struct mcp_listener listener = { .say = say, .end = end };
	if (line[0] == '=') {
		finish_work(line + 1, len - 1);
	} else if (line[0] == '!') {
		if (work_count > 0)
			mcp_hear(works[0], line + 1, len - 1, false);
	} else {
		begun++;
		struct mcp_exchange *exchange = mcp_take(mcp, context, line, len, &listener);
		if (exchange && line[len - 1] == '-')
			mcp_leave(exchange);
	}
}

/* How it came: 's' over a connection that lasts, else with the headers behind the bars. */
static void read_way(char *way, struct mcp_peer *peer, struct mcp_context *context)
{
	const char **headers[] = { &context->version_header, &context->method_header,
		&context->name_header, &context->group };
	char *next = way;
	context->peer = peer;
	context->has_headers = way[0] != 's';
	if (way[0] == 's')
		context->group = "";
	(void)strsep(&next, "|");
	for (size_t i = 0; i < COUNT_OF(headers) && next; i++) {
		char *header = strsep(&next, "|");
		*headers[i] = header[0] ? header : NULL;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct mcp_workshop workshop = { .begin = begin_work, .cancel = cancel_work };
	struct mcp_peer peer = { 0 };
	struct mcp_context context = { 0 };
	char root[] = "/usr";
	char *items[] = { root, NULL };
	const struct strings roots = { .items = items, .count = 1 };
	auto_free char *text = xstrndup((const char *)data, size);
	char *next = text;
	work_count = begun = ended = 0;
	mcp = mcp_open(&workshop, &roots);
	char *way = strsep(&next, "\n");
	read_way(way, &peer, &context);
	while (next) {
		char *line = strsep(&next, "\n");
		if (line[0])
			take_line(&context, line, strlen(line));
	}
	MUST(mcp_busy(mcp) == work_count);
	while (work_count > 0)
		mcp_hear(take_work(0), NULL, 0, true);
	MUST(mcp_busy(mcp) == 0);
	mcp_close(mcp);
	MUST(begun == ended);
	return 0;
}
