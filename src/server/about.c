/* SPDX-License-Identifier: Apache-2.0 */
/* What the server tells of itself: health, languages, and its interface. */
#include <string.h>

#include "base/own.h"
#include "model/field.h"
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
