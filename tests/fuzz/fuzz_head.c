/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a request's head says: what its path is taken for lies in it, a trace is one or is not,
 * and the log has one line of it. And whatever a worker says: its result lies in what it said. */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "model/trace.h"
#include "server/path.h"
#include "wire/json.h"
#include "wire/log.h"
#include "worker/worker.h"

enum { HEAD_MAX = 4096, PARAMS = 2 };

static void check_path(const char *path)
{
	static const char *const patterns[] = { "/v1/execute", "/v1/sessions/{name}",
		"/v1/sessions/{name}/exec", "/v1/sessions/{name}/files/{path...}", "/", "" };
	for (size_t i = 0; i < COUNT_OF(patterns); i++) {
		char *params[PARAMS] = { NULL };
		if (path_match(patterns[i], path, params, PARAMS))
			for (size_t j = 0; j < PARAMS; j++)
				MUST(!params[j] || (params[j][0] && strstr(path, params[j])));
		path_drop(params, PARAMS);
	}
}

static void check_trace(const char *text)
{
	char id[TRACE_ID_SIZE];
	if (!trace_is_valid(text))
		return;
	trace_id(text, id);
	MUST(strlen(id) == TRACE_ID_SIZE - 1 && strstr(text, id) == text + 3);
}

static void check_line(const char *text, enum log_format format)
{
	char line[LOG_LINE_MAX];
	struct err err = { 0 };
	const struct log_field fields[] = { { .name = "path", .text = text },
		{ .name = "method", .text = text } };
	auto_json struct json_object *json = NULL;
	log_set(format, LEVEL_INFO);
	size_t len = log_compose(line, LEVEL_INFO, text, fields, COUNT_OF(fields));
	MUST(len > 0 && len < LOG_LINE_MAX && strchr(line, '\n') == line + len - 1);
	MUST(format == LOG_TEXT || json_read(line, len, LOG_LINE_MAX, 4, &json, &err) == 0);
	MUST(!memchr(line, '\033', len));
}

static void check_worker(const char *text, size_t size)
{
	size_t len = 0;
	const char *result = work_result(text, size, &len);
	MUST(!result || (result >= text && result + len <= text + size));
	if (result)
		MUST(work_status(result, len) < RUN_STATUS_COUNT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char head[HEAD_MAX + 1] = { 0 };
	memcpy(head, data, size < HEAD_MAX ? size : HEAD_MAX);
	check_path(head);
	check_trace(head);
	check_line(head, LOG_TEXT);
	check_line(head, LOG_JSON);
	/* as the owner has it: with its end behind it */
	auto_free char *said = xstrndup((const char *)data, size);
	check_worker(said, strlen(said));
	return 0;
}
