/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request is known by: an id of ours, told in the answer, and the trace its client says it
 * is part of, passed on to the run it asks for. The log has one line of each request with both.
 * Neither code nor anything else that a body or a header held is in it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/own.h"
#include "server/http.h"
#include "wire/log.h"

static const char trace_header[] = "traceparent";

void trace_begin(struct request *request)
{
	struct http *http = request->http;
	const char *given = request_header(request, trace_header);
	if (http->epoch == 0 && getrandom(&http->epoch, sizeof(http->epoch), GRND_NONBLOCK) < 0)
		http->epoch = (uint32_t)request->begun_us;
	(void)snprintf(request->id, sizeof(request->id), "r%08" PRIx32 "-%" PRIu64, http->epoch,
		++http->next_id);
	if (given && trace_is_valid(given))
		(void)snprintf(request->trace, sizeof(request->trace), "%s", given);
}

void trace_answer(const struct request *request, struct MHD_Response *response)
{
	(void)MHD_add_response_header(response, "X-Request-Id", request->id);
	if (request->trace[0])
		(void)MHD_add_response_header(response, trace_header, request->trace);
}

/* The route as it stands in the table: a path may name what is nobody else's business. What is no
 * route is somebody's mistake, and told as it came. */
void trace_log(const struct request *request)
{
	enum { FIELDS_MAX = 10 };
	struct log_field fields[FIELDS_MAX];
	char id[TRACE_ID_SIZE];
	size_t count = 0;
	if (!log_wants(LEVEL_INFO))
		return;
	bool is_answered = request->state == ANSWER_SENT;
	fields[count++] = (struct log_field){ .name = "request_id", .text = request->id };
	fields[count++] = (struct log_field){ .name = "method",
		.text = request->route ? request->route->method : request->method };
	fields[count++] = (struct log_field){ .name = request->route ? "route" : "path",
		.text = request->route ? request->route->path : request->path };
	fields[count++] = (struct log_field){ .name = "status",
		.number = is_answered ? (int64_t)request->status : 0 };
	fields[count++] = (struct log_field){ .name = "bytes", .number = (int64_t)request->sent };
	fields[count++] = (struct log_field){
		.name = "duration_ms", .number = clock_us() - request->begun_us, .places = 3
	};
	if (request->tenant.holder)
		fields[count++] =
			(struct log_field){ .name = "token", .text = request->tenant.token };
	if (request->tenant.name[0])
		fields[count++] =
			(struct log_field){ .name = "tenant", .text = request->tenant.name };
	if (request->trace[0]) {
		trace_id(request->trace, id);
		fields[count++] = (struct log_field){ .name = "trace_id", .text = id };
	}
	log_tell(LEVEL_INFO, "request", fields, count);
}
