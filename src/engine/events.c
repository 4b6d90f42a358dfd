/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/own.h"

static const char *const stream_names[STREAM_COUNT] = { "stdout", "stderr" };

static int tell(struct events *events, const char *line)
{
	return io_write_until(events->fd, line, strlen(line), events->interrupt_fd);
}

static void tell_status(struct events *events, const char *state, const char *key, int64_t number)
{
	auto_free char *line = status_to_json(events->id, events->seq++, state, key, number);
	(void)tell(events, line);
}

static void tell_queued(void *context, unsigned int ahead)
{
	struct events *events = context;
	if (events->queued_us == 0)
		events->queued_us = clock_us();
	tell_status(events, "queued", "ahead", ahead);
}

static void tell_begun(void *context)
{
	struct events *events = context;
	bool has_waited = events->queued_us != 0;
	if (!events->has_begun)
		tell_status(events, "running", has_waited ? "waited_ms" : NULL,
			has_waited ? (clock_us() - events->queued_us) / 1000 : 0);
	events->has_begun = true;
}

static void render(void *context, int stream, const char *data, size_t len, struct buf *pending)
{
	struct events *events = context;
	size_t text_len = 0;
	auto_free char *text = utf8_stream_push(&events->streams[stream], data, len, &text_len);
	if (text_len == 0)
		return;
	auto_free char *line =
		event_to_json(events->id, events->seq++, stream_names[stream], text, text_len);
	(void)buf_append(pending, line, strlen(line));
}

static void announce(void *context, const struct message *message, struct buf *pending)
{
	struct events *events = context;
	auto_free char *line = message_to_json(message, events->id, events->seq++);
	(void)buf_append(pending, line, strlen(line));
}

void events_follow(struct events *events, struct outlet *outlet)
{
	*outlet = (struct outlet){ .fds = { events->fd, events->fd },
		.render = render,
		.announce = announce,
		.queued = tell_queued,
		.begun = tell_begun,
		.context = events };
}

static void tell_rest(struct events *events, int stream)
{
	size_t len = 0;
	auto_free char *text = utf8_stream_end(&events->streams[stream], &len);
	if (len == 0)
		return;
	auto_free char *line =
		event_to_json(events->id, events->seq++, stream_names[stream], text, len);
	(void)tell(events, line);
}

int events_finish(struct events *events, const char *result)
{
	if (events->may_be_torn)
		(void)tell(events, "\n");
	tell_begun(events); /* who follows a run hears of its beginning, also of a failed one */
	for (int stream = 0; stream < STREAM_COUNT; stream++)
		tell_rest(events, stream);
	auto_free char *line =
		event_to_json(events->id, events->seq++, "done", result, strlen(result));
	return tell(events, line);
}
