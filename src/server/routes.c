/* SPDX-License-Identifier: Apache-2.0 */
/* What HTTP serves: one table. */
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "server/routes.h"

/* clang-format off */
const struct route http_routes[] = {
	{ "POST", "/v1/execute", SCOPE_EXECUTE,
	  "run code in a fresh cell: one result, or events by Accept", route_execute },
	{ "POST", "/v1/check", SCOPE_EXECUTE,
	  "the guard's verdict on code, which is not run: a SecurityReport", route_check },
	{ "POST", "/v1/sessions", SCOPE_SESSIONS, "make a session: a cell that remembers", route_session_new },
	{ "GET", "/v1/sessions", SCOPE_SESSIONS, "the sessions there are", route_session_list },
	{ "GET", "/v1/sessions/{name}", SCOPE_SESSIONS, "all about one: limits, memory, points",
	  route_session_info },
	{ "DELETE", "/v1/sessions/{name}", SCOPE_SESSIONS, "end a session", route_session_kill },
	{ "POST", "/v1/sessions/{name}/exec", SCOPE_SESSIONS,
	  "execute code in it: one result, or events by Accept", route_session_exec },
	{ "POST", "/v1/sessions/{name}/input", SCOPE_SESSIONS,
	  "a line for code that asked for one", route_session_input },
	{ "POST", "/v1/sessions/{name}/interrupt", SCOPE_SESSIONS,
	  "stop the code that runs; the state stays", route_session_interrupt },
	{ "POST", "/v1/sessions/{name}/checkpoint", SCOPE_SESSIONS,
	  "remember how it is, as a point to go back to", route_session_checkpoint },
	{ "POST", "/v1/sessions/{name}/rollback", SCOPE_SESSIONS, "go back to a point",
	  route_session_rollback },
	{ "POST", "/v1/sessions/{name}/undo", SCOPE_SESSIONS, "take the last execution back",
	  route_session_undo },
	{ "POST", "/v1/sessions/{name}/fork", SCOPE_SESSIONS,
	  "a session that begins where this one is", route_session_fork },
	{ "GET", "/v1/languages", SCOPE_EXECUTE, "the languages that are defined here", route_languages },
	{ "GET", "/v1/providers", SCOPE_EXECUTE, "who can isolate a run", route_providers },
	{ "POST", "/mcp", SCOPE_EXECUTE, "the Model Context Protocol, streamable HTTP", route_mcp },
	{ "GET", "/healthz", SCOPE_NONE, "whether it serves", route_health },
	{ "GET", "/metrics", SCOPE_ADMIN, "counts and gauges for Prometheus", route_metrics },
	{ "GET", "/openapi.json", SCOPE_NONE, "this interface, described", route_openapi },
};
/* clang-format on */
const size_t http_route_count = COUNT_OF(http_routes);

/* One part of a path, up to its slash. */
static size_t part_len(const char *path)
{
	return strcspn(path, "/");
}

static bool is_rest(const char *part, size_t len)
{
	return len > 4 && memcmp(part + len - 4, "...}", 4) == 0;
}

static void drop_params(char *params[ROUTE_PARAMS])
{
	for (size_t i = 0; i < ROUTE_PARAMS; i++) {
		free(params[i]);
		params[i] = NULL;
	}
}

/* Part by part; what stands for a {…} is not empty. */
static bool match(const char *pattern, const char *path, char *params[ROUTE_PARAMS])
{
	size_t count = 0;
	for (;;) {
		size_t len = part_len(pattern);
		size_t path_len = part_len(path);
		bool is_param = pattern[0] == '{' && count < ROUTE_PARAMS;
		if (is_param && is_rest(pattern, len)) {
			params[count] = xstrdup(path);
			return *path != '\0';
		}
		if (is_param && path_len > 0)
			params[count++] = xstrndup(path, path_len);
		else if (len != path_len || memcmp(pattern, path, len) != 0)
			return false;
		pattern += len;
		path += path_len;
		if (*pattern != *path)
			return false;
		if (*pattern == '\0')
			return true;
		pattern++;
		path++;
	}
}

/* What answers GET answers HEAD, too. */
static bool takes(const struct route *route, const char *method)
{
	return strcmp(route->method, method) == 0 ||
	       (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

const struct route *route_find(
	const char *method, const char *path, char *params[ROUTE_PARAMS], bool *ret_is_known)
{
	*ret_is_known = false;
	for (size_t i = 0; i < http_route_count; i++) {
		bool is_match = match(http_routes[i].path, path, params);
		*ret_is_known |= is_match;
		if (is_match && takes(&http_routes[i], method))
			return &http_routes[i];
		drop_params(params);
	}
	return NULL;
}
