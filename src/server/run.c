/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What requests have workers do: executions first of all. Each waits for its turn, fairly among
 * those who ask, and then for a worker. The answer is one result, or, by what the client accepts,
 * the events as they come: NDJSON, or SSE for a browser's EventSource. A client that leaves cancels
 * what it asked for: a run ends, and code in a session is interrupted.
 */
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "model/result.h"
#include "model/spec.h"
#include "server/routes.h"
#include "wire/json.h"

struct run {
	struct waiter waiter; /* first: a waiter is its run */
	struct http *http;
	struct request *request;  /* NULL: the client is gone, or somebody else hears of it */
	struct listener listener; /* who that is; its hear is NULL: nobody */
	struct tenant tenant;
	bool is_counted;   /* among what the tenant has at once */
	int64_t cpu_us;    /* it took */
	struct work *work; /* NULL: it waits, or is over */
	enum manner manner;
	enum work_kind kind;
	unsigned int status; /* of an answer that is no refusal */
	char *job;           /* owned */
	char *session;       /* owned; whose turn it is, or NULL */
	int64_t begun_us;
	bool is_paused;
	bool is_asking; /* its code waits for a line */
};

static void free_run(struct run *run)
{
	queue_remove(&run->http->queue, &run->waiter);
	if (run->request)
		run->request->run = NULL;
	if (run->is_counted)
		access_end(run->http, &run->tenant, run->cpu_us);
	free(run->job);
	free(run->session);
	free(run);
}

/* ---- what the worker says -----------------------------------------------------------------------
 */

static void begin_stream(struct run *run)
{
	if (!run->request->is_stream)
		stream_begin(run->request,
			run->manner == MANNER_SSE ? "text/event-stream" : "application/x-ndjson");
}

static void pass_on(struct run *run, const char *line, size_t len)
{
	struct request *request = run->request;
	begin_stream(run);
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

static bool is_execution(enum work_kind kind)
{
	return kind == WORK_RUN || kind == WORK_TURN;
}

/* What a worker could not do has a status of its own, as long as none was sent. */
static bool tell_refusal(struct run *run, const char *result, size_t len)
{
	struct err err = { 0 };
	if (work_refusal(result, len, &err) == 0)
		return false;
	if (!run->request->is_stream)
		answer_refusal(run->request, &err);
	else
		stream_end(run->request);
	return true;
}

static void tell_end(struct run *run, const char *line, size_t len)
{
	struct request *request = run->request;
	size_t result_len = 0;
	const char *result = line ? work_result(line, len, &result_len) : NULL;
	struct err err = { 0 };
	if (result && is_execution(run->kind) && work_refusal(result, result_len, &err) == 0) {
		run_count(run->http, result, result_len, run->begun_us);
		run->cpu_us = work_cpu_us(result, result_len);
	}
	if (!request)
		return;
	if (result && tell_refusal(run, result, result_len))
		return;
	if (result && run->manner != MANNER_RESULT)
		pass_on(run, line, len);
	if (request->is_stream)
		stream_end(request);
	else if (result)
		answer_text(request, run->status, "application/json",
			xasprintf("%.*s\n", (int)result_len, result));
	else
		answer_error(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "worker_died", NULL,
			"try again", "the process that ran it died");
}

static void hear(void *context, const char *line, size_t len, bool is_last)
{
	static const char asks[] = "{\"event\":\"input_request\"";
	struct run *run = context;
	struct http *http = run->http;
	const struct listener listener = run->listener;
	if (!is_last && listener.hear) {
		listener.hear(listener.context, line, len, false);
		return;
	}
	if (!is_last) {
		run->is_asking |= len > sizeof(asks) && memcmp(line, asks, sizeof(asks) - 1) == 0;
		if (run->request && run->manner != MANNER_RESULT)
			pass_on(run, line, len);
		return;
	}
	run->work = NULL;
	http->running--;
	tell_end(run, line, len);
	free_run(run);
	if (listener.hear)
		listener.hear(listener.context, line, len, true);
	batches_go_on(http);
	run_next(http);
}

/* ---- its life -----------------------------------------------------------------------------------
 */

void run_resume(struct run *run)
{
	if (!run->is_paused || !run->work)
		return;
	run->is_paused = false;
	work_pause(run->work, false);
}

/* It was not begun, and will not be. */
static void give_up(struct run *run)
{
	const struct listener listener = run->listener;
	free_run(run);
	if (listener.hear)
		listener.hear(listener.context, NULL, 0, true);
}

void run_cancel(struct run *run)
{
	if (run->request)
		run->request->run = NULL;
	run->request = NULL;
	if (!run->work) {
		give_up(run);
		return;
	}
	work_cancel(run->work);
	run_resume(run);
}

void run_interrupt(struct run *run)
{
	if (run->work) {
		work_cancel(run->work);
		run_resume(run);
		return;
	}
	if (run->request && run->manner == MANNER_RESULT)
		answer_draining(run->request);
	else if (run->request)
		stream_end(run->request);
	free_run(run);
}

/* Gives work to whoever is next, as long as there are workers. */
void run_next(struct http *http)
{
	while (http->running < (size_t)http->settings.concurrency && queue_peek(&http->queue)) {
		struct run *run = (struct run *)queue_pop(&http->queue);
		const struct listener listener = { .hear = hear, .context = run };
		struct work_wish wish = { .kind = run->kind,
			.text = run->job,
			.len = strlen(run->job),
			.tenant = run->tenant.name,
			.token = run->tenant.token };
		struct err err = { 0 };
		access_bound(&run->tenant, &wish);
		http->running++;
		if (workers_submit(http->workers, &wish, &listener, &run->work, &err) == 0)
			continue;
		http->running--;
		if (run->request)
			answer_err(run->request, MHD_HTTP_SERVICE_UNAVAILABLE, &err);
		give_up(run);
	}
}

void run_begin(struct request *request, const struct run_wish *wish)
{
	struct http *http = request->http;
	struct run *run = xcalloc(1, sizeof(*run));
	*run = (struct run){ .http = http,
		.request = request,
		.tenant = request->tenant,
		.manner = wish->manner,
		.kind = wish->kind,
		.status = wish->status ? wish->status : MHD_HTTP_OK,
		.job = wish->job,
		.session = wish->session ? xstrdup(wish->session) : NULL,
		.begun_us = clock_us() };
	if (!access_begin(request, wish->kind)) {
		free_run(run);
		return;
	}
	run->is_counted = access_counts(wish->kind);
	if (!queue_push(&http->queue, &run->waiter, request->tenant.key,
		    (size_t)http->settings.queue)) {
		http->counts.refused++;
		free_run(run);
		answer_queue_full(request);
		return;
	}
	request->run = run;
	/* a turn may be refused, which has a status of its own */
	if (run->manner != MANNER_RESULT && run->kind == WORK_RUN)
		begin_stream(run);
	run_next(http);
}

struct run *run_submit(struct http *http, const struct tenant *tenant, enum work_kind kind,
	char *job, const struct listener *listener, struct err *err)
{
	auto_free char *own = job;
	if (access_submit(tenant, kind, err) < 0)
		return NULL;
	struct run *run = xcalloc(1, sizeof(*run));
	*run = (struct run){ .http = http,
		.listener = *listener,
		.tenant = *tenant,
		.is_counted = access_counts(kind),
		.kind = kind,
		.job = take_ptr(&own),
		.begun_us = clock_us() };
	if (queue_push(&http->queue, &run->waiter, tenant->key, (size_t)http->settings.queue))
		return run;
	http->counts.refused++;
	free_run(run);
	(void)err_set(err, ERR_BUSY, "%lld executions wait already; try again later",
		(long long)http->settings.queue);
	return NULL;
}

/* ---- bodies -------------------------------------------------------------------------------------
 */

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
	for (size_t i = 0; i < spec_field_count; i++)
		if (spec_fields[i].is_record && !spec_fields[i].is_once &&
			strcmp(spec_fields[i].name, "store") != 0 &&
			spec_is_given(spec, &spec_fields[i]))
			return err_set(err, ERR_INVALID,
				"%s: what is kept of all who ask is settled by whoever runs the "
				"daemon",
				spec_fields[i].name);
	for (size_t i = 0; i < spec->env.count; i++)
		if (!strchr(spec->env.items[i], '='))
			return err_set(err, ERR_INVALID,
				"env: '%.60s' has no value, for example \"env\": [\"LEVEL=3\"]",
				spec->env.items[i]);
	return 0;
}

int run_check(const struct tenant *tenant, enum work_kind kind, const char *text, size_t len,
	struct asked *asked, struct err *err)
{
	TRY(asked_read(asked, kind, text, len, err));
	return check_reach(&asked->spec, tenant, err);
}

enum manner run_manner(const struct request *request)
{
	const char *accept = request_header(request, MHD_HTTP_HEADER_ACCEPT);
	if (accept && strstr(accept, "text/event-stream"))
		return MANNER_SSE;
	return accept && strstr(accept, "application/x-ndjson") ? MANNER_LINES : MANNER_RESULT;
}

/* One line, with what the route knows besides. */
static int read_job(struct request *request, enum work_kind kind, struct json_object *more,
	char **ret_job, struct asked *asked, struct err *err)
{
	auto_json struct json_object *json = NULL;
	TRY(json_read(buf_text(&request->body), request->body.len, BODY_MAX, LIMIT_SPEC_DEPTH,
		&json, err));
	if (more) {
		json_object_object_foreach(more, key, value)
		{
			if (json_object_object_get_ex(json, key, NULL))
				return err_set(err, ERR_INVALID,
					"%s: is said by the path, not by the body", key);
			(void)json_object_object_add(json, key, json_object_get(value));
		}
	}
	if (request->trace[0] && asked_takes(kind, spec_field("traceparent")) &&
		!json_object_object_get(json, "traceparent"))
		json_put(json, "traceparent", json_new_string(request->trace));
	*ret_job = json_print(json, false);
	return run_check(&request->tenant, kind, *ret_job, strlen(*ret_job), asked, err);
}

void run_request(
	struct request *request, enum work_kind kind, struct json_object *more, unsigned int status)
{
	struct err err = { 0 };
	struct asked asked = { 0 };
	auto_json struct json_object *own = more;
	auto_free char *job = NULL;
	struct run_wish wish = { .kind = kind, .status = status };
	int r = read_job(request, kind, own, &job, &asked, &err);
	if (is_execution(kind))
		wish.manner = run_manner(request);
	if (r == 0 && asked.answers_input && wish.manner == MANNER_RESULT)
		r = err_set(&err, ERR_INVALID,
			"input: who answers must hear what is asked for: Accept "
			"application/x-ndjson or text/event-stream");
	if (r < 0) {
		answer_err(request, MHD_HTTP_BAD_REQUEST, &err);
	} else if (access_fits(request, &asked.spec)) {
		wish.job = take_ptr(&job);
		wish.session = asked.session;
		run_begin(request, &wish);
	}
	asked_done(&asked);
}

void route_execute(struct request *request)
{
	run_request(request, WORK_RUN, NULL, 0);
}

void route_check(struct request *request)
{
	run_request(request, WORK_CHECK, NULL, 0);
}

/* A version that is not known yet is asked for in a cell, which takes its time. */
void route_languages(struct request *request)
{
	run_begin(request, &(struct run_wish){ .kind = WORK_LANGUAGES, .job = xstrdup("{}") });
}

/* ---- input --------------------------------------------------------------------------------------
 */

/* The execution in this session whose code waits for a line. */
static struct run *find_asking(const struct request *request, const char *session)
{
	for (const struct request *at = request->http->requests; at; at = at->next)
		if (at->run && at->run->is_asking && at->run->session &&
			strcmp(at->run->session, session) == 0 &&
			strcmp(at->tenant.name, request->tenant.name) == 0)
			return at->run;
	return NULL;
}

int run_input(struct request *request, const char *session, const char *line, struct err *err)
{
	struct run *run = find_asking(request, session);
	if (!run || !run->work)
		return err_set(err, ERR_BUSY,
			"nothing in session '%.64s' asks for input over HTTP now", session);
	TRY(work_input(run->work, line, err));
	run->is_asking = false;
	return 0;
}
