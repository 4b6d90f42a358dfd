/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for Prometheus: what was counted here, and the account of daemon and keeper, which is
 * asked for when somebody wants them. Every name that comes from outside is bounded, in length,
 * in what it may hold and in how many of them there are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "model/result.h"
#include "server/routes.h"
#include "wire/json.h"

enum { METRICS_MAX = 1 << 20, POOLS_TOLD = 64, FORM_SIZE = 16 };

/* clang-format off */
static const double bounds[LATENCY_BUCKETS] = {	/* seconds, rising */
	0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30,
};
/* clang-format on */

/* ---- counting -----------------------------------------------------------------------------------
 */

void metrics_open(struct http_counts *counts)
{
	counts->routes = xcalloc(http_route_count + 1, sizeof(counts->routes[0]));
}

void metrics_close(struct http_counts *counts)
{
	free(counts->routes);
}

static void count_time(struct histogram *histogram, int64_t took_us)
{
	size_t at = 0;
	while (at < LATENCY_BUCKETS && (double)took_us / 1e6 > bounds[at])
		at++;
	if (at < LATENCY_BUCKETS)
		histogram->buckets[at]++;
	histogram->count++;
	histogram->sum_us += (uint64_t)took_us;
}

/* The result's own key is the last of its name: what a program told comes before it, and within a
 * string it could not stand like this. */
static void find_language(const char *result, size_t len, char name[LANGUAGE_SIZE])
{
	static const char key[] = "\"language\":\"";
	const size_t key_len = sizeof(key) - 1;
	(void)snprintf(name, LANGUAGE_SIZE, "none");
	for (size_t at = len > key_len ? len - key_len : 0; at > 0; at--) {
		if (memcmp(result + at, key, key_len) != 0)
			continue;
		const char *text = result + at + key_len;
		size_t text_len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_+#-");
		if (text_len > 0 && text_len < LANGUAGE_SIZE && text[text_len] == '"')
			(void)snprintf(name, LANGUAGE_SIZE, "%.*s", (int)text_len, text);
		return;
	}
}

/* The last place is for all the languages that found none. */
static struct language_count *language_of(struct http_counts *counts, const char *name)
{
	size_t at = 0;
	while (at < counts->language_count && strcmp(counts->languages[at].name, name) != 0)
		at++;
	if (at < counts->language_count)
		return &counts->languages[at];
	if (at == LANGUAGES_COUNTED)
		return &counts->languages[LANGUAGES_COUNTED - 1];
	counts->language_count++;
	(void)snprintf(counts->languages[at].name, LANGUAGE_SIZE, "%s",
		at == LANGUAGES_COUNTED - 1 ? "other" : name);
	return &counts->languages[at];
}

void run_count(struct http *http, const char *result, size_t len, int64_t begun_us)
{
	char name[LANGUAGE_SIZE];
	find_language(result, len, name);
	struct language_count *language = language_of(&http->counts, name);
	language->by_status[work_status(result, len)]++;
	count_time(&language->took, clock_us() - begun_us);
}

/* Codes are our own, and few. */
static size_t code_place(struct http_counts *counts, unsigned int code)
{
	size_t at = 0;
	while (at < counts->code_count && counts->codes[at] != code)
		at++;
	if (at == counts->code_count && at < CODES_COUNTED - 1)
		counts->codes[counts->code_count++] = code;
	return at;
}

void metrics_count_request(struct request *request)
{
	struct http_counts *counts = &request->http->counts;
	size_t at = request->route ? (size_t)(request->route - http_routes) : http_route_count;
	unsigned int code = request->state == ANSWER_SENT ? request->status : 0;
	counts->routes[at].by_code[code_place(counts, code)]++;
	count_time(&counts->routes[at].took, clock_us() - request->begun_us);
}

/* ---- telling ------------------------------------------------------------------------------------
 */

static void put_head(struct buf *text, const char *name, const char *kind, const char *help)
{
	(void)buf_printf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static void put_metric(
	struct buf *text, const char *name, const char *kind, const char *help, uint64_t value)
{
	put_head(text, name, kind, help);
	(void)buf_printf(text, "%s %" PRIu64 "\n", name, value);
}

static void put_histogram(
	struct buf *text, const char *name, const char *labels, const struct histogram *histogram)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
		sum += histogram->buckets[i];
		(void)buf_printf(text, "%s_bucket{%s,le=\"%g\"} %" PRIu64 "\n", name, labels,
			bounds[i], sum);
	}
	(void)buf_printf(text,
		"%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n%s_sum{%s} %.6f\n%s_count{%s} %" PRIu64
		"\n",
		name, labels, histogram->count, name, labels, (double)histogram->sum_us / 1e6, name,
		labels, histogram->count);
}

static void put_executions(struct buf *text, const struct http_counts *counts)
{
	static const char took[] = "hotcell_execution_seconds";
	static const char total[] = "hotcell_executions_total";
	put_head(text, total, "counter", "Executions over HTTP by language and status.");
	for (size_t i = 0; i < counts->language_count; i++) {
		const struct language_count *language = &counts->languages[i];
		for (size_t j = STATUS_OK; j < RUN_STATUS_COUNT; j++)
			(void)buf_printf(text, "%s{language=\"%s\",status=\"%s\"} %" PRIu64 "\n",
				total, language->name, run_status_names[j], language->by_status[j]);
	}
	put_head(text, took, "histogram",
		"How long executions took, from their request to their result.");
	for (size_t i = 0; i < counts->language_count; i++) {
		char labels[LANGUAGE_SIZE + 16];
		(void)snprintf(
			labels, sizeof(labels), "language=\"%s\"", counts->languages[i].name);
		put_histogram(text, took, labels, &counts->languages[i].took);
	}
}

static void route_labels(size_t at, char *labels, size_t size)
{
	bool is_route = at < http_route_count;
	(void)snprintf(labels, size, "method=\"%s\",route=\"%s\"",
		is_route ? http_routes[at].method : "none",
		is_route ? http_routes[at].path : "none");
}

static void put_requests(struct buf *text, const struct http_counts *counts)
{
	static const char took[] = "hotcell_http_request_seconds";
	static const char total[] = "hotcell_http_requests_total";
	char labels[160];
	put_head(text, total, "counter",
		"Requests by route and status; 0: the client left before its answer.");
	for (size_t i = 0; i <= http_route_count; i++) {
		route_labels(i, labels, sizeof(labels));
		for (size_t j = 0; j < counts->code_count; j++)
			if (counts->routes[i].by_code[j] > 0)
				(void)buf_printf(text, "%s{%s,code=\"%u\"} %" PRIu64 "\n", total,
					labels, counts->codes[j], counts->routes[i].by_code[j]);
	}
	put_head(text, took, "histogram", "How long requests took, to the end of their answers.");
	for (size_t i = 0; i <= http_route_count; i++) {
		route_labels(i, labels, sizeof(labels));
		if (counts->routes[i].took.count > 0)
			put_histogram(text, took, labels, &counts->routes[i].took);
	}
}

/* A tool is a row, named by us: no client can add one. */
static void put_tools(struct buf *text, const struct mcp *mcp)
{
	const char *tool = NULL;
	uint64_t calls = 0;
	uint64_t errors = 0;
	put_head(text, "hotcell_mcp_calls_total", "counter", "Calls of tools over MCP.");
	for (size_t i = 0; mcp_count(mcp, i, &tool, &calls, &errors); i++)
		(void)buf_printf(
			text, "hotcell_mcp_calls_total{tool=\"%s\"} %" PRIu64 "\n", tool, calls);
	put_head(text, "hotcell_mcp_errors_total", "counter", "Calls that ended as an error.");
	for (size_t i = 0; mcp_count(mcp, i, &tool, &calls, &errors); i++)
		(void)buf_printf(
			text, "hotcell_mcp_errors_total{tool=\"%s\"} %" PRIu64 "\n", tool, errors);
}

static size_t count_open(const struct http *http)
{
	size_t count = 0;
	for (const struct request *request = http->requests; request; request = request->next)
		count++;
	return count;
}

static void put_http(struct buf *text, const struct http *http)
{
	const struct http_counts *counts = &http->counts;
	size_t all = 0;
	size_t busy = 0;
	workers_count(http->workers, &all, &busy);
	put_executions(text, counts);
	put_metric(text, "hotcell_executions_running", "gauge",
		"Executions over HTTP that run now.", http->running);
	put_metric(text, "hotcell_executions_waiting", "gauge",
		"Executions over HTTP that wait for a worker.", http->queue.count);
	put_metric(text, "hotcell_executions_refused_total", "counter",
		"Executions refused because too many waited.", counts->refused);
	put_metric(text, "hotcell_http_limited_total", "counter",
		"Requests refused because of a limit of their token.", counts->limited);
	put_requests(text, counts);
	put_metric(text, "hotcell_http_requests_open", "gauge",
		"Requests that are being served, streams among them.", count_open(http));
	put_metric(text, "hotcell_http_errors_total", "counter",
		"Requests answered with a status of 400 and more.", counts->errors);
	put_tools(text, http->mcp);
	put_head(text, "hotcell_workers", "gauge", "Processes that drive executions over HTTP.");
	(void)buf_printf(text,
		"hotcell_workers{state=\"busy\"} %zu\nhotcell_workers{state=\"idle\"} %zu\n", busy,
		all - busy);
}

/* ---- the account of daemon and keeper -----------------------------------------------------------
 */

static uint64_t number_of(struct json_object *json, const char *key)
{
	int64_t number = json_object_get_int64(json_object_object_get(json, key));
	return number > 0 ? (uint64_t)number : 0;
}

/* Several pools may be of one language and form: they differ in what their cells may do. */
struct pools {
	size_t count;
	struct {
		char language[LANGUAGE_SIZE];
		char form[FORM_SIZE];
		uint64_t parked, lent;
	} rows[POOLS_TOLD];
};

static void copy_word(char *word, size_t size, struct json_object *value)
{
	const char *text = value ? json_object_get_string(value) : "none";
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_+#-");
	(void)snprintf(word, size, "%.*s", (int)len, text);
}

static void add_pool(struct pools *pools, struct json_object *pool)
{
	char language[LANGUAGE_SIZE], form[FORM_SIZE];
	size_t at = 0;
	copy_word(language, sizeof(language), json_object_object_get(pool, "runtime"));
	copy_word(form, sizeof(form), json_object_object_get(pool, "form"));
	while (at < pools->count && (strcmp(pools->rows[at].language, language) != 0 ||
					    strcmp(pools->rows[at].form, form) != 0))
		at++;
	if (at == POOLS_TOLD)
		return;
	if (at == pools->count) {
		pools->count++;
		(void)snprintf(pools->rows[at].language, LANGUAGE_SIZE, "%s", language);
		(void)snprintf(pools->rows[at].form, FORM_SIZE, "%s", form);
	}
	pools->rows[at].parked += number_of(pool, "parked");
	pools->rows[at].lent += number_of(pool, "lent");
}

static void put_pools(struct buf *text, struct json_object *keeper)
{
	struct pools pools = { 0 };
	struct json_object *list = json_object_object_get(keeper, "pools");
	size_t count = list ? json_object_array_length(list) : 0;
	for (size_t i = 0; i < count; i++)
		add_pool(&pools, json_object_array_get_idx(list, i));
	put_head(text, "hotcell_cells_parked", "gauge", "Cells that stand ready.");
	for (size_t i = 0; i < pools.count; i++)
		(void)buf_printf(text,
			"hotcell_cells_parked{language=\"%s\",form=\"%s\"} %" PRIu64 "\n",
			pools.rows[i].language, pools.rows[i].form, pools.rows[i].parked);
	put_head(text, "hotcell_cells_lent", "gauge", "Cells that are in somebody's hands.");
	for (size_t i = 0; i < pools.count; i++)
		(void)buf_printf(text,
			"hotcell_cells_lent{language=\"%s\",form=\"%s\"} %" PRIu64 "\n",
			pools.rows[i].language, pools.rows[i].form, pools.rows[i].lent);
}

static void put_memory(struct buf *text, struct json_object *account, struct json_object *keeper)
{
	put_head(text, "hotcell_memory_bytes", "gauge", "Resident memory of our own processes.");
	(void)buf_printf(text, "hotcell_memory_bytes{process=\"daemon\"} %" PRIu64 "\n",
		number_of(account, "memory_kb") * 1024);
	if (keeper)
		(void)buf_printf(text, "hotcell_memory_bytes{process=\"keeper\"} %" PRIu64 "\n",
			number_of(keeper, "memory_kb") * 1024);
}

static void put_account(struct buf *text, struct json_object *account)
{
	/* clang-format off */
	static const struct { const char *name, *kind, *key, *help; } rows[] = {
		{ "hotcell_loans_total",         "counter", "served",      "Cells lent to clients." },
		{ "hotcell_loans_refused_total", "counter", "refused",     "Clients that were refused." },
		{ "hotcell_loans_running",       "gauge",   "running",     "Clients that have a cell, or keep their place for the next." },
		{ "hotcell_loans_limit",         "gauge",   "concurrency", "Most cells lent at once." },
		{ "hotcell_loans_waiting",       "gauge",   "queued",      "Clients who wait for a cell." },
		{ "hotcell_queue_limit",         "gauge",   "queue",       "Most clients who may wait." },
		{ "hotcell_sessions",            "gauge",   "sessions",    "Sessions that are held." },
		{ "hotcell_keeper_ends_total",   "counter", "keeper_ended", "How often a keeper ended." },
		{ "hotcell_uptime_seconds",      "gauge",   "uptime",      "Since the daemon began." },
	};
	static const struct { const char *name, *kind, *key, *help; } kept[] = {
		{ "hotcell_cells_served_total", "counter", "served", "Cells the keeper handed out." },
		{ "hotcell_cells_missed_total", "counter", "missed", "Of these, not ready when they were asked for." },
		{ "hotcell_sessions_limit",     "gauge",   "most_sessions", "Most sessions at once." },
		{ "hotcell_parked_limit",       "gauge",   "most_parked", "Most cells that stand ready." },
	};
	/* clang-format on */
	struct json_object *keeper = json_object_object_get(account, "keeper");
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		put_metric(text, rows[i].name, rows[i].kind, rows[i].help,
			number_of(account, rows[i].key));
	put_metric(
		text, "hotcell_keeper_up", "gauge", "Whether the keeper answers.", keeper != NULL);
	put_memory(text, account, keeper);
	if (!keeper)
		return;
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		put_metric(text, kept[i].name, kept[i].kind, kept[i].help,
			number_of(keeper, kept[i].key));
	put_pools(text, keeper);
}

struct json_object *http_account(const struct http *http)
{
	struct json_object *json = json_object_new_object();
	size_t all = 0;
	size_t busy = 0;
	workers_count(http->workers, &all, &busy);
	json_put(json, "running", json_object_new_uint64(http->running));
	json_put(json, "waiting", json_object_new_uint64(http->queue.count));
	json_put(json, "requests", json_object_new_uint64(count_open(http)));
	json_put(json, "workers", json_object_new_uint64(all));
	return json;
}

/* Without the account, what is known here is told all the same. */
static void hear_account(
	struct request *request, struct json_object *answer, int fd, const struct err *err)
{
	auto_json struct json_object *account = answer;
	auto_buf struct buf text;
	(void)err;
	own_close(&fd);
	buf_init(&text, METRICS_MAX);
	put_head(&text, "hotcell_info", "gauge", "What serves here.");
	(void)buf_printf(&text, "hotcell_info{version=\"%s\"} 1\n", HOTCELL_VERSION);
	put_metric(&text, "hotcell_draining", "gauge", "Whether it was told to end.",
		request->http->is_draining);
	put_http(&text, request->http);
	if (account)
		put_account(&text, account);
	answer_text(request, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
		xstrdup(buf_text(&text)));
}

void route_metrics(struct request *request)
{
	question_account(request, hear_account);
}
