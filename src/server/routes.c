/* SPDX-License-Identifier: Apache-2.0 */
/* What HTTP serves: one table. */
#include <string.h>

#include "base/own.h"
#include "server/routes.h"

const struct route http_routes[] = {
	{ "POST", "/v1/execute", "run code in a fresh cell: one result, or events by Accept",
		route_execute },
	{ "GET", "/v1/languages", "the languages that are defined here", route_languages },
	{ "GET", "/v1/providers", "who can isolate a run", route_providers },
	{ "GET", "/healthz", "whether it serves", route_health },
	{ "GET", "/metrics", "counts and gauges for Prometheus", route_metrics },
	{ "GET", "/openapi.json", "this interface, described", route_openapi },
};
const size_t http_route_count = COUNT_OF(http_routes);

const struct route *route_find(const char *method, const char *path, bool *ret_is_known)
{
	*ret_is_known = false;
	for (size_t i = 0; i < http_route_count; i++) {
		if (strcmp(http_routes[i].path, path) != 0)
			continue;
		*ret_is_known = true;
		if (strcmp(http_routes[i].method, method) == 0)
			return &http_routes[i];
	}
	return NULL;
}
