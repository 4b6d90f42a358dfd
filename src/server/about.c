/* SPDX-License-Identifier: Apache-2.0 */
/* What the server tells of itself: health, and who isolates. */

#include "base/own.h"
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
