/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions over HTTP. Each waits for its turn, fairly among those who ask, and then for a worker.
 * The answer is one result, or, by what the client accepts, the events as they come: NDJSON, or SSE
 * for a browser's EventSource. A client that leaves cancels what it asked for.
 */
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "model/result.h"
#include "model/spec.h"
#include "server/routes.h"
#include "wire/json.h"

enum manner { MANNER_RESULT = 0, MANNER_LINES, MANNER_SSE };

struct run {
	struct waiter waiter; /* first: a waiter is its run */
	struct http *http;
	struct request *request; /* NULL: the client is gone */
	struct work *work;       /* NULL: it waits, or is over */
	enum manner manner;
	enum work_kind kind;
	char *job; /* owned */
	int64_t begun_us;
	bool is_paused;
};

static void free_run(struct run *run)
{
	queue_remove(&run->http->queue, &run->waiter);
	if (run->request)
		run->request->run = NULL;
	free(run->job);
	free(run);
}

const double http_latencies[LATENCY_BUCKETS] = { 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5,
	30 };

static void count_latency(struct http_counts *counts, int64_t took_us)
{
	size_t at = 0;
	while (at < LATENCY_BUCKETS && (double)took_us / 1e6 > http_latencies[at])
		at++;
	if (at < LATENCY_BUCKETS)
		counts->latencies[at]++;
	counts->latency_us += (uint64_t)took_us;
	counts->finished++;
}

static void pass_on(struct run *run, const char *line, size_t len)
{
	struct request *request = run->request;
	if (run->manner == MANNER_SSE) {
		static const char key[] = "{\"event\":\"";
		const char *name = line + sizeof(key) - 1;
		size_t name_len = strcspn(name, "\"");
		stream_put(request, "event: ", strlen("event: "));
		stream_put(request, name, name_len);
		stream_put(request, "\ndata: ", strlen("\ndata: "));
	}
	stream_put(request, line, len);
	stream_put(request, "\n\n", run->manner == MANNER_SSE ? 2 : 1);
	if (stream_is_full(request) && run->work && !run->is_paused) {
		run->is_paused = true;
		work_pause(run->work, true);
	}
}

static void tell_end(struct run *run, const char *line, size_t len)
{
	struct request *request = run->request;
	size_t result_len = 0;
	const char *result = line ? work_result(line, len, &result_len) : NULL;
	if (result && run->kind == WORK_RUN) {
		run->http->counts.by_status[work_status(result, result_len)]++;
		count_latency(&run->http->counts, clock_us() - run->begun_us);
	}
	if (!request)
		return;
	if (run->manner != MANNER_RESULT) {
		if (result)
			pass_on(run, line, len);
		stream_end(request);
	} else if (result) {
		answer_text(request, MHD_HTTP_OK, "application/json",
			xasprintf("%.*s\n", (int)result_len, result));
	} else {
		answer_error(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "worker_died", NULL,
			"try again", "the process that ran it died");
	}
}

static void hear(void *context, const char *line, size_t len, bool is_last)
{
	struct run *run = context;
	struct http *http = run->http;
	if (!is_last) {
		if (run->request && run->manner != MANNER_RESULT)
			pass_on(run, line, len);
		return;
	}
	run->work = NULL;
	http->running--;
	tell_end(run, line, len);
	free_run(run);
	run_next(http);
}

void run_resume(struct run *run)
{
	if (!run->is_paused || !run->work)
		return;
	run->is_paused = false;
	work_pause(run->work, false);
}

void run_cancel(struct run *run)
{
	if (run->request)
		run->request->run = NULL;
	run->request = NULL;
	if (!run->work) {
		free_run(run);
		return;
	}
	work_cancel(run->work);
	run_resume(run);
}

/* Gives work to whoever is next, as long as there are workers. */
void run_next(struct http *http)
{
	while (http->running < (size_t)http->settings.concurrency && queue_peek(&http->queue)) {
		struct run *run = (struct run *)queue_pop(&http->queue);
		const struct listener listener = { .hear = hear, .context = run };
		const struct work_wish wish = { .kind = run->kind,
			.text = run->job,
			.len = strlen(run->job),
			.tenant = run->request->tenant.name,
			.token = run->request->tenant.token };
		struct err err = { 0 };
		http->running++;
		if (workers_submit(http->workers, &wish, &listener, &run->work, &err) == 0)
			continue;
		http->running--;
		if (run->request)
			answer_err(run->request, MHD_HTTP_SERVICE_UNAVAILABLE, &err);
		free_run(run);
	}
}

/* What names a path of the host is for those who could name it themselves. */
static int check_reach(const struct spec *spec, const struct tenant *tenant, struct err *err)
{
	if (tenant->is_trusted)
		return 0;
	for (size_t i = 0; i < spec_field_count; i++)
		if (spec_fields[i].is_host && spec_is_given(spec, &spec_fields[i]))
			return err_set(err, ERR_INVALID,
				"%s: names a path of the host, which only its own user may, over "
				"the daemon's unix socket",
				spec_fields[i].name);
	for (size_t i = 0; i < spec->env.count; i++)
		if (!strchr(spec->env.items[i], '='))
			return err_set(err, ERR_INVALID,
				"env: '%.60s' has no value, for example \"env\": [\"LEVEL=3\"]",
				spec->env.items[i]);
	return 0;
}

static enum manner choose_manner(const struct request *request)
{
	const char *accept = request_header(request, MHD_HTTP_HEADER_ACCEPT);
	if (accept && strstr(accept, "text/event-stream"))
		return MANNER_SSE;
	return accept && strstr(accept, "application/x-ndjson") ? MANNER_LINES : MANNER_RESULT;
}

static int read_spec(const struct request *request, char **ret_text, struct err *err)
{
	struct spec spec;
	auto_json struct json_object *json = NULL;
	const char *text = buf_text(&request->body);
	spec_init(&spec);
	int r = spec_from_json(&spec, text, request->body.len, err);
	if (r == 0)
		r = spec_check(&spec, err);
	if (r == 0)
		r = check_reach(&spec, &request->tenant, err);
	spec_done(&spec);
	if (r < 0)
		return -1;
	TRY(json_read(text, request->body.len, BODY_MAX, LIMIT_SPEC_DEPTH, &json, err));
	*ret_text = json_print(json, false); /* one line */
	return 0;
}

/* Takes `job`. */
static void begin(struct request *request, enum work_kind kind, enum manner manner, char *job)
{
	struct http *http = request->http;
	struct run *run = xcalloc(1, sizeof(*run));
	*run = (struct run){ .http = http,
		.request = request,
		.manner = manner,
		.kind = kind,
		.job = job,
		.begun_us = clock_us() };
	if (!queue_push(&http->queue, &run->waiter, request->tenant.key,
		    (size_t)http->settings.queue)) {
		http->counts.refused++;
		free_run(run);
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "queue_full", NULL,
			"try again later, or serve with a longer --queue",
			"%lld executions wait already", (long long)http->settings.queue);
		return;
	}
	request->run = run;
	if (run->manner == MANNER_SSE)
		stream_begin(request, "text/event-stream");
	else if (run->manner == MANNER_LINES)
		stream_begin(request, "application/x-ndjson");
	run_next(http);
}

void route_execute(struct request *request)
{
	struct err err = { 0 };
	char *job = NULL;
	if (read_spec(request, &job, &err) < 0)
		answer_err(request, MHD_HTTP_BAD_REQUEST, &err);
	else
		begin(request, WORK_RUN, choose_manner(request), job);
}

/* A version that is not known yet is asked for in a cell, which takes its time. */
void route_languages(struct request *request)
{
	begin(request, WORK_LANGUAGES, MANNER_RESULT, xstrdup("{}"));
}
