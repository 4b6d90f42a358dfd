/* SPDX-License-Identifier: Apache-2.0 */
/* What the server tells of itself: health, metrics, languages, and its interface. */
#include <inttypes.h>
#include <string.h>

#include "base/own.h"
#include "model/field.h"
#include "model/result.h"
#include "provider/provider.h"
#include "server/routes.h"
#include "wire/json.h"

void route_health(struct request *request)
{
	struct json_object *json = json_object_new_object();
	bool is_draining = request->http->is_draining;
	json_put(json, "status", json_new_string(is_draining ? "draining" : "ok"));
	json_put(json, "version", json_new_string(HOTCELL_VERSION));
	answer_json(request, is_draining ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK, json);
}

void route_providers(struct request *request)
{
	struct json_object *list = json_object_new_array();
	for (size_t i = 0; providers[i]; i++) {
		struct json_object *json = json_object_new_object();
		json_put(json, "name", json_new_string(providers[i]->name));
		json_put(json, "title", json_new_string(providers[i]->title));
		(void)json_object_array_add(list, json);
	}
	answer_json(request, MHD_HTTP_OK, list);
}

/* ---- metrics ------------------------------------------------------------------------------------
 */

static void put_metric(
	struct buf *text, const char *name, const char *kind, const char *help, uint64_t value)
{
	(void)buf_printf(text, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", name, help, name,
		kind, name, value);
}

static void put_buckets(struct buf *text, const struct http_counts *counts)
{
	static const char name[] = "hotcell_execution_seconds";
	uint64_t sum = 0;
	(void)buf_printf(text,
		"# HELP %s How long executions took, from their request to their result.\n"
		"# TYPE %s histogram\n",
		name, name);
	for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
		sum += counts->latencies[i];
		(void)buf_printf(
			text, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name, http_latencies[i], sum);
	}
	(void)buf_printf(text,
		"%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum %.6f\n%s_count %" PRIu64 "\n", name,
		counts->finished, name, (double)counts->latency_us / 1e6, name, counts->finished);
}

/* A tool is a row, named by us: no client can add one. */
static void put_tools(struct buf *text, const struct mcp *mcp)
{
	const char *tool = NULL;
	uint64_t calls = 0;
	uint64_t errors = 0;
	(void)buf_printf(text, "# HELP hotcell_mcp_calls_total Calls of tools over MCP.\n"
			       "# TYPE hotcell_mcp_calls_total counter\n");
	for (size_t i = 0; mcp_count(mcp, i, &tool, &calls, &errors); i++)
		(void)buf_printf(
			text, "hotcell_mcp_calls_total{tool=\"%s\"} %" PRIu64 "\n", tool, calls);
	(void)buf_printf(text, "# HELP hotcell_mcp_errors_total Calls that ended as an error.\n"
			       "# TYPE hotcell_mcp_errors_total counter\n");
	for (size_t i = 0; mcp_count(mcp, i, &tool, &calls, &errors); i++)
		(void)buf_printf(
			text, "hotcell_mcp_errors_total{tool=\"%s\"} %" PRIu64 "\n", tool, errors);
}

void route_metrics(struct request *request)
{
	enum { METRICS_MAX = 64 << 10 };
	auto_buf struct buf text;
	const struct http *http = request->http;
	const struct http_counts *counts = &http->counts;
	buf_init(&text, METRICS_MAX);
	(void)buf_printf(&text, "# HELP hotcell_executions_total Executions by their status.\n"
				"# TYPE hotcell_executions_total counter\n");
	for (size_t i = STATUS_OK; i < RUN_STATUS_COUNT; i++)
		(void)buf_printf(&text, "hotcell_executions_total{status=\"%s\"} %" PRIu64 "\n",
			run_status_names[i], counts->by_status[i]);
	put_buckets(&text, counts);
	put_metric(&text, "hotcell_executions_running", "gauge", "Executions that run now.",
		http->running);
	put_metric(&text, "hotcell_executions_waiting", "gauge",
		"Executions that wait for a place.", http->queue.count);
	put_metric(&text, "hotcell_executions_refused_total", "counter",
		"Executions refused because too many waited.", counts->refused);
	put_metric(&text, "hotcell_http_limited_total", "counter",
		"Requests refused because of a limit of their token.", counts->limited);
	put_metric(&text, "hotcell_http_requests_total", "counter", "Requests over HTTP.",
		counts->requests);
	put_metric(&text, "hotcell_http_errors_total", "counter",
		"Requests answered with a status of 400 and more.", counts->errors);
	put_tools(&text, http->mcp);
	answer_text(request, MHD_HTTP_OK, "text/plain; version=0.0.4", xstrdup(buf_text(&text)));
}

/* ---- the interface, described -------------------------------------------------------------------
 */

static struct json_object *describe_spec(void)
{
	struct json_object *json = json_object_new_object();
	struct json_object *members = json_object_new_object();
	for (size_t i = 0; i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		struct json_object *schema = field_schema(field, false);
		auto_free char *words =
			xasprintf("%s%s%s", field->help, field->fallback ? "; default " : "",
				field->fallback ? field->fallback : "");
		json_put(schema, "description", json_new_string(words));
		json_put(members, field->name, schema);
	}
	json_put(json, "type", json_new_string("object"));
	json_put(json, "properties", members);
	json_put(json, "additionalProperties", json_object_new_boolean(false));
	return json;
}

/* The scopes that a token needs; a route that needs none is for everybody. */
static struct json_object *describe_security(enum scope scope)
{
	struct json_object *list = json_object_new_array();
	if (scope == SCOPE_NONE)
		return list;
	struct json_object *scopes = json_object_new_array();
	struct json_object *item = json_object_new_object();
	(void)json_object_array_add(scopes, json_new_string(scope_names[scope]));
	json_put(item, "token", scopes);
	(void)json_object_array_add(list, item);
	return list;
}

static struct json_object *describe_route(const struct route *route)
{
	struct json_object *json = json_object_new_object();
	struct json_object *responses = json_object_new_object();
	struct json_object *ok = json_object_new_object();
	json_put(json, "summary", json_new_string(route->summary));
	json_put(ok, "description", json_new_string("the answer"));
	json_put(responses, "200", ok);
	json_put(json, "responses", responses);
	json_put(json, "security", describe_security(route->scope));
	if (strcmp(route->path, "/v1/execute") == 0) {
		struct json_object *body = json_object_new_object();
		struct json_object *content = json_object_new_object();
		struct json_object *media = json_object_new_object();
		struct json_object *schema = json_object_new_object();
		json_put(schema, "$ref", json_new_string("#/components/schemas/Spec"));
		json_put(media, "schema", schema);
		json_put(content, "application/json", media);
		json_put(body, "required", json_object_new_boolean(true));
		json_put(body, "content", content);
		json_put(json, "requestBody", body);
	}
	return json;
}

static struct json_object *describe_routes(void)
{
	struct json_object *paths = json_object_new_object();
	for (size_t i = 0; i < http_route_count; i++) {
		const struct route *route = &http_routes[i];
		char method[8] = "";
		struct json_object *path = json_object_object_get(paths, route->path);
		if (!path) {
			path = json_object_new_object();
			json_put(paths, route->path, path);
		}
		for (size_t at = 0; at < sizeof(method) - 1 && route->method[at]; at++)
			method[at] = (char)(route->method[at] | 0x20);
		(void)json_object_object_add(path, method, describe_route(route));
	}
	return paths;
}

static struct json_object *describe_tokens(void)
{
	struct json_object *json = json_object_new_object();
	struct json_object *token = json_object_new_object();
	json_put(token, "type", json_new_string("http"));
	json_put(token, "scheme", json_new_string("bearer"));
	json_put(token, "description", json_new_string("hotcell token new NAME makes one"));
	json_put(json, "token", token);
	return json;
}

void route_openapi(struct request *request)
{
	struct json_object *json = json_object_new_object();
	struct json_object *info = json_object_new_object();
	struct json_object *components = json_object_new_object();
	struct json_object *schemas = json_object_new_object();
	json_put(info, "title", json_new_string("hotcell"));
	json_put(info, "version", json_new_string(HOTCELL_VERSION));
	json_put(schemas, "Spec", describe_spec());
	json_put(components, "schemas", schemas);
	json_put(components, "securitySchemes", describe_tokens());
	json_put(json, "openapi", json_new_string("3.1.0"));
	json_put(json, "info", info);
	json_put(json, "paths", describe_routes());
	json_put(json, "components", components);
	answer_json(request, MHD_HTTP_OK, json);
}
