/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many runs for one request: several at once, their results in the order of the jobs. A job that
 * cannot be run is a result like any other. Results are sent as soon as those before them are, so
 * little waits here, however many there are; a client that does not read holds its own batch up.
 * What was sent is a beginning of the whole, and ?skip= goes on behind it.
 */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "model/units.h"
#include "server/feed.h"
#include "server/routes.h"
#include "wire/json.h"

enum {
	AHEAD = 4, /* results that may wait for an earlier one, for each that runs at once */
	CONCURRENCY_MAX = 256,
};

/* A job that was handed out, until its result is sent. */
struct slot {
	struct batch *batch;
	struct run *run; /* while it waits or runs */
	char *result;    /* owned; NULL: there is none yet */
};

struct batch {
	struct http *http;
	struct batch *next;      /* of all there are */
	struct request *request; /* NULL: the client is gone */
	struct tenant tenant;
	enum manner manner;
	struct feed feed; /* in the request's body */
	size_t concurrency;
	struct slot *slots; /* owned; a ring, by the number of the job */
	size_t slot_count;
	size_t skipped;
	size_t handed, finished, sent; /* jobs, those that were skipped included */
	size_t running;
	size_t by_status[RUN_STATUS_COUNT];
	bool is_held; /* it is told of what has ended, and does nothing about it yet */
};

/* clang-format off */
static const struct field fields[] = {
	{ .name = "skip", .type = FIELD_COUNT, .min = 0, .max = LIMIT_BATCH_JOBS, .fallback = "0",
	  .example = "120", .help = "go on behind the first so many jobs, whose results are there" },
	{ .name = "concurrency", .type = FIELD_COUNT, .min = 1, .max = CONCURRENCY_MAX,
	  .example = "4", .help = "how many run at once, and no more than the daemon runs" },
	{ 0 },
};
/* clang-format on */

const struct form batch_form = { .fields = fields };

static struct slot *slot_of(const struct batch *batch, size_t number)
{
	return &batch->slots[number % batch->slot_count];
}

/* ---- what is sent -------------------------------------------------------------------------------
 */

/* One event, or what a piece of one long object is. */
static void put(struct batch *batch, const char *event, const char *text)
{
	struct request *request = batch->request;
	if (batch->manner == MANNER_SSE) {
		stream_put(request, "event: ", strlen("event: "));
		stream_put(request, event, strlen(event));
		stream_put(request, "\ndata: ", strlen("\ndata: "));
	}
	stream_put(request, text, strlen(text));
	if (batch->manner != MANNER_RESULT)
		stream_put(request, "\n\n", batch->manner == MANNER_SSE ? 2 : 1);
}

static void put_result(struct batch *batch, const char *result)
{
	if (batch->manner == MANNER_RESULT) {
		put(batch, NULL, batch->sent > batch->skipped ? "," : "{\"results\":[");
		put(batch, NULL, result);
		return;
	}
	auto_free char *line =
		xasprintf("{\"event\":\"result\",\"index\":%zu,\"data\":%s}", batch->sent, result);
	put(batch, "result", line);
}

static void put_progress(struct batch *batch)
{
	char line[128];
	if (batch->manner == MANNER_RESULT)
		return;
	(void)snprintf(line, sizeof(line),
		"{\"event\":\"progress\",\"data\":{\"finished\":%zu,\"total\":%zu}}",
		batch->finished, batch->feed.total);
	put(batch, "progress", line);
}

static char *summarise(const struct batch *batch)
{
	auto_json struct json_object *json = json_object_new_object();
	struct json_object *by_status = json_object_new_object();
	for (size_t i = STATUS_OK; i < RUN_STATUS_COUNT; i++)
		if (batch->by_status[i] > 0)
			(void)json_object_object_add(by_status, run_status_names[i],
				json_object_new_int64((int64_t)batch->by_status[i]));
	json_put(json, "total", json_object_new_int64((int64_t)batch->feed.total));
	json_put(json, "skipped", json_object_new_int64((int64_t)batch->skipped));
	json_put(json, "sent", json_object_new_int64((int64_t)batch->sent));
	json_put(json, "is_whole", json_object_new_boolean(batch->sent == batch->feed.total));
	json_put(json, "by_status", by_status);
	return json_print(json, false);
}

static void put_end(struct batch *batch)
{
	auto_free char *summary = summarise(batch);
	auto_free char *end = batch->manner == MANNER_RESULT
				      ? xasprintf("],\"summary\":%s}\n", summary)
				      : xasprintf("{\"event\":\"done\",\"data\":%s}", summary);
	if (batch->manner == MANNER_RESULT && batch->sent == batch->skipped)
		put(batch, NULL, "{\"results\":[");
	put(batch, "done", end);
	stream_end(batch->request);
}

/* ---- its life -----------------------------------------------------------------------------------
 */

static void free_batch(struct batch *batch)
{
	struct batch **at = &batch->http->batches;
	while (*at != batch)
		at = &(*at)->next;
	*at = batch->next;
	if (batch->request)
		batch->request->batch = NULL;
	for (size_t i = 0; i < batch->slot_count; i++)
		free(batch->slots[i].result);
	free(batch->slots);
	free(batch);
}

static void finish_slot(struct slot *slot, char *result)
{
	struct batch *batch = slot->batch;
	slot->run = NULL;
	slot->result = result;
	batch->by_status[work_status(result, strlen(result))]++;
	batch->finished++;
	if (batch->request && !stream_is_full(batch->request))
		put_progress(batch);
}

static void hear(void *context, const char *line, size_t len, bool is_last)
{
	struct slot *slot = context;
	struct batch *batch = slot->batch;
	size_t result_len = 0;
	if (!is_last)
		return;
	const char *result = line ? work_result(line, len, &result_len) : NULL;
	batch->running--;
	finish_slot(
		slot, result ? xstrndup(result, result_len)
			     : work_refuse(NULL, batch->is_held ? "interrupted before it began"
								: "the process that ran it died"));
	batch_go_on(batch);
}

/* False: it cannot be had now, and will be asked for again when something else has ended. */
static bool hand_out(struct batch *batch, struct feed *feed, const char *job, size_t len)
{
	struct slot *slot = slot_of(batch, batch->handed);
	const struct listener listener = { .hear = hear, .context = slot };
	struct asked asked;
	struct err err = { 0 };
	char place[48];
	(void)snprintf(place, sizeof(place), feed->line > 0 ? "line %zu" : "item %zu",
		feed->line > 0 ? feed->line : feed->index);
	*slot = (struct slot){ .batch = batch };
	int r = run_check(&batch->tenant, WORK_RUN, job, len, &asked, &err);
	asked_done(&asked);
	if (r == 0) {
		batch->running++;
		slot->run = run_submit(
			batch->http, &batch->tenant, WORK_RUN, xstrndup(job, len), &listener, &err);
		if (slot->run)
			return true;
		batch->running--;
		if (batch->http->running > 0 || batch->http->queue.count > 0)
			return false;
	}
	finish_slot(slot, work_refuse(place, err.text));
	return true;
}

/* As many as may run, and no more than can wait for their turn to be sent. */
static void hand_out_some(struct batch *batch)
{
	const char *job = NULL;
	size_t len = 0;
	while (batch->running < batch->concurrency &&
		batch->handed - batch->sent < batch->slot_count && !batch->http->is_draining) {
		struct feed feed = batch->feed;
		if (!feed_next(&feed, &job, &len) || !hand_out(batch, &feed, job, len))
			break;
		batch->feed = feed;
		batch->handed++;
	}
}

static void send_results(struct batch *batch)
{
	while (batch->sent < batch->handed && slot_of(batch, batch->sent)->result &&
		!stream_is_full(batch->request)) {
		auto_free char *result = take_ptr(&slot_of(batch, batch->sent)->result);
		put_result(batch, result);
		batch->sent++;
	}
}

/* Nothing more will come: all was handed out, or the daemon is about to end. */
static bool is_over(const struct batch *batch)
{
	bool is_all = batch->handed == batch->feed.total || batch->http->is_draining;
	return is_all && batch->sent == batch->handed;
}

void batch_go_on(struct batch *batch)
{
	size_t before = 0;
	if (batch->is_held)
		return;
	if (!batch->request) {
		if (batch->running == 0)
			free_batch(batch);
		return;
	}
	do { /* a job that is refused makes room for the next at once */
		before = batch->sent;
		hand_out_some(batch);
		send_results(batch);
	} while (batch->sent > before);
	if (!is_over(batch))
		return;
	put_end(batch);
	free_batch(batch);
}

void batches_go_on(struct http *http)
{
	for (struct batch *batch = http->batches, *next; batch; batch = next) {
		next = batch->next;
		if (batch->running < batch->concurrency)
			batch_go_on(batch);
	}
}

void batch_interrupt(struct batch *batch)
{
	batch->is_held = true; /* it stays until we are through */
	for (size_t i = 0; i < batch->slot_count; i++)
		if (batch->slots[i].run)
			run_cancel(batch->slots[i].run);
	batch->is_held = false;
	batch_go_on(batch);
}

void batch_leave(struct batch *batch)
{
	if (!batch)
		return;
	batch->request->batch = NULL;
	batch->request = NULL;
	batch_interrupt(batch);
}

/* ---- the request --------------------------------------------------------------------------------
 */

static int read_number(
	const struct request *request, const char *name, int64_t *number, struct err *err)
{
	const char *text = request_query(request, name);
	if (!text)
		return 0;
	TRY(field_check(form_find(&batch_form, name), text, VOICE_VALUE, err) < 0
			? err_wrap(err, "%s", name)
			: 0);
	(void)units_parse_count(text, number);
	return 0;
}

static int read_batch(const struct request *request, struct batch *batch, struct err *err)
{
	const char *job = NULL;
	size_t len = 0;
	int64_t skipped = 0;
	int64_t most = request->http->settings.concurrency;
	int64_t concurrency = most;
	TRY(feed_open(&batch->feed, buf_text(&request->body), request->body.len, err));
	TRY(read_number(request, "skip", &skipped, err));
	TRY(read_number(request, "concurrency", &concurrency, err));
	if ((size_t)skipped > batch->feed.total)
		return err_set(
			err, ERR_INVALID, "skip: there are only %zu jobs", batch->feed.total);
	batch->concurrency = (size_t)(concurrency < most ? concurrency : most);
	batch->skipped = (size_t)skipped;
	for (size_t i = 0; i < batch->skipped; i++)
		(void)feed_next(&batch->feed, &job, &len);
	batch->handed = batch->finished = batch->sent = batch->skipped;
	return 0;
}

void route_batch(struct request *request)
{
	static const char *const types[] = {
		[MANNER_RESULT] = "application/json",
		[MANNER_LINES] = "application/x-ndjson",
		[MANNER_SSE] = "text/event-stream",
	};
	struct err err = { 0 };
	struct batch wanted = { .http = request->http,
		.request = request,
		.tenant = request->tenant,
		.manner = run_manner(request) };
	if (read_batch(request, &wanted, &err) < 0) {
		answer_err(request, MHD_HTTP_BAD_REQUEST, &err);
		return;
	}
	struct batch *batch = xcalloc(1, sizeof(*batch));
	*batch = wanted;
	batch->slot_count = batch->concurrency * AHEAD;
	batch->slots = xcalloc(batch->slot_count, sizeof(*batch->slots));
	batch->next = request->http->batches;
	request->http->batches = batch;
	request->batch = batch;
	stream_begin(request, types[batch->manner]);
	batch_go_on(batch);
	run_next(request->http);
}
