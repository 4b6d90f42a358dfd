/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the daemon is, as events: what `hotcell top` shows, for a page with an EventSource. All who
 * watch are told at the same moments, each second, what a client at the socket would be told.
 */
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "server/routes.h"
#include "wire/json.h"

enum { EVERY_US = 1000000 };

/* One that does not read is told again when it has. */
static void hear_account(
	struct request *request, struct json_object *answer, int fd, const struct err *err)
{
	static const char before[] = "event: status\ndata: ";
	auto_json struct json_object *account = answer;
	auto_fd int given = fd; /* nothing comes with an account */
	(void)err;
	(void)given;
	if (!account || stream_is_full(request))
		return;
	auto_free char *text = json_print(account, false);
	stream_put(request, before, sizeof(before) - 1);
	stream_put(request, text, strlen(text));
	stream_put(request, "\n\n", 2);
}

int64_t events_next_us(const struct http *http)
{
	return http->watcher_count > 0 ? http->watch_us : INT64_MAX;
}

void events_tick(struct http *http, int64_t now_us)
{
	if (http->watcher_count == 0 || now_us < http->watch_us)
		return;
	http->watch_us = now_us + EVERY_US;
	for (struct request *request = http->requests; request; request = request->next)
		if (request->is_watching && !request->question)
			question_account(request, hear_account);
}

void events_leave(struct request *request)
{
	request->http->watcher_count -= request->is_watching;
	request->is_watching = false;
}

void route_events(struct request *request)
{
	stream_begin(request, "text/event-stream");
	request->is_watching = true;
	if (request->http->watcher_count++ == 0)
		request->http->watch_us = clock_us() + EVERY_US;
	question_account(request, hear_account);
}
