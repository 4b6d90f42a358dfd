/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP over HTTP: each message is a request of its own, answered as JSON, or as a stream of events
 * once there is something to say before the answer. Nothing is kept from one to the next. The
 * session id that a legacy client gets is only a name by which it cancels its own calls: any will
 * do, and none is remembered.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/own.h"
#include "mcp/mcp.h"
#include "server/routes.h"

enum {
	SESSION_BYTES = 16,
	SESSION_MAX = 128,
	ALIVE_US = 10000000, /* who hears nothing for long takes a connection for broken */
};

/* Who waits for an answer. It outlives its request where the client left and the work goes on. */
struct asker {
	struct http *http;
	struct request *request; /* NULL: the client is gone */
	struct tenant tenant;
	struct mcp_peer peer; /* agrees on a version: it said initialize */
	struct mcp_exchange *exchange;
	bool takes_stream;
};

/* ---- answers ------------------------------------------------------------------------------------
 */

static void put_event(struct request *request, const char *message, size_t len)
{
	static const char head[] = "event: message\ndata: ";
	stream_put(request, head, strlen(head));
	stream_put(request, message, len);
	stream_put(request, "\n\n", 2);
}

/* Who does not read a stream, or does not keep up with it, hears the answer alone. */
static void say(void *context, const char *message, size_t len)
{
	struct asker *asker = context;
	struct request *request = asker->request;
	if (!request || !asker->takes_stream || stream_is_full(request))
		return;
	if (!request->is_stream)
		stream_begin(request, "text/event-stream");
	put_event(request, message, len);
}

static void give_session(struct request *request)
{
	unsigned char bytes[SESSION_BYTES];
	char text[2 * SESSION_BYTES + 1];
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return;
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	(void)MHD_add_response_header(request->response, "Mcp-Session-Id", text);
}

static void answer(struct asker *asker, enum mcp_end how, const char *message, size_t len)
{
	/* clang-format off */
	static const unsigned int statuses[] = {
		[MCP_END_ANSWERED]       = MHD_HTTP_OK,
		[MCP_END_ACCEPTED]       = MHD_HTTP_ACCEPTED,
		[MCP_END_INVALID]        = MHD_HTTP_BAD_REQUEST,
		[MCP_END_UNKNOWN_METHOD] = MHD_HTTP_NOT_FOUND,
	};
	/* clang-format on */
	struct request *request = asker->request;
	if (request->is_stream) {
		if (message)
			put_event(request, message, len);
		stream_end(request);
		return;
	}
	answer_text(request, statuses[how], "application/json",
		message ? xstrndup(message, len) : xstrdup(""));
	if (asker->peer.version)
		give_session(request);
}

static void end(void *context, enum mcp_end how, const char *message, size_t len)
{
	struct asker *asker = context;
	if (asker->request) {
		asker->request->asker = NULL;
		answer(asker, how, message, len);
	}
	asker->http->asker_count--;
	free(asker);
}

/* A comment, which clients pass over. Whoever waits for so long gets a stream, if he takes one. */
void mcp_tick(struct http *http, int64_t now_us)
{
	static const char comment[] = ": alive\n\n";
	if (http->alive_us == 0 || now_us < http->alive_us)
		return;
	http->alive_us = http->asker_count > 0 ? now_us + ALIVE_US : 0;
	for (struct request *at = http->requests; at; at = at->next) {
		if (!at->asker || !at->asker->takes_stream || now_us - at->begun_us < ALIVE_US)
			continue;
		if (!at->is_stream)
			stream_begin(at, "text/event-stream");
		stream_put(at, comment, strlen(comment));
	}
}

void asker_leave(struct asker *asker)
{
	if (!asker)
		return;
	asker->request->asker = NULL;
	asker->request = NULL;
	mcp_leave(asker->exchange);
}

/* ---- work ---------------------------------------------------------------------------------------
 */

static void hear(void *context, const char *line, size_t len, bool is_last)
{
	mcp_hear(context, line, len, is_last);
}

static int begin_work(void *context, struct mcp_call *call, enum work_kind kind, const char *job,
	size_t len, struct err *err)
{
	struct http *http = context;
	const struct asker *asker = mcp_owner(call);
	const struct listener listener = { .hear = hear, .context = call };
	struct run *run =
		run_submit(http, &asker->tenant, kind, xstrndup(job, len), &listener, err);
	if (!run)
		return -1;
	mcp_set_work(call, run);
	run_next(http);
	return 0;
}

static void cancel_work(void *context, struct mcp_call *call)
{
	(void)context;
	run_cancel(mcp_work(call));
}

void mcp_serve(struct http *http)
{
	http->workshop = (struct mcp_workshop){
		.begin = begin_work, .cancel = cancel_work, .context = http
	};
	http->mcp = mcp_open(&http->workshop, NULL);
}

/* ---- messages -----------------------------------------------------------------------------------
 */

static bool is_json(const struct request *request)
{
	static const char wanted[] = "application/json";
	const char *type = request_header(request, MHD_HTTP_HEADER_CONTENT_TYPE);
	size_t len = strlen(wanted);
	return type && strncasecmp(type, wanted, len) == 0 &&
	       (type[len] == '\0' || strchr("; \t", type[len]));
}

static bool takes_stream(const struct request *request)
{
	const char *accept = request_header(request, MHD_HTTP_HEADER_ACCEPT);
	return !accept || strstr(accept, "text/event-stream") || strstr(accept, "*/*");
}

/* A name of visible characters, or none. */
static const char *find_session(const struct request *request)
{
	const char *id = request_header(request, "Mcp-Session-Id");
	size_t len = id ? strlen(id) : 0;
	if (len == 0 || len > SESSION_MAX)
		return NULL;
	for (size_t i = 0; i < len; i++)
		if (id[i] < 0x21 || id[i] > 0x7e)
			return NULL;
	return id;
}

void route_mcp(struct request *request)
{
	struct http *http = request->http;
	if (!is_json(request)) {
		answer_error(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "not_json", NULL,
			"Content-Type: application/json", "a message is JSON");
		return;
	}
	struct asker *asker = xcalloc(1, sizeof(*asker));
	*asker = (struct asker){ .http = http,
		.request = request,
		.tenant = request->tenant,
		.takes_stream = takes_stream(request) };
	const struct mcp_context context = { .peer = &asker->peer,
		.client = request->tenant.key,
		.group = find_session(request),
		.trace = request->trace[0] ? request->trace : NULL,
		.has_headers = true,
		.version_header = request_header(request, "MCP-Protocol-Version"),
		.method_header = request_header(request, "Mcp-Method"),
		.name_header = request_header(request, "Mcp-Name") };
	const struct mcp_listener listener = { .say = say, .end = end, .context = asker };
	request->asker = asker;
	http->asker_count++;
	if (http->alive_us == 0)
		http->alive_us = clock_us() + ALIVE_US;
	struct mcp_exchange *exchange = mcp_take(
		http->mcp, &context, buf_text(&request->body), request->body.len, &listener);
	if (exchange) /* else there is no asker any more */
		asker->exchange = exchange;
}
