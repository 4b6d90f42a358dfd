/* SPDX-License-Identifier: Apache-2.0 */
/* The interface, described from the tables it is served from. */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "server/routes.h"
#include "wire/json.h"

/* What answers are, by the members they always have. */
/* clang-format off */
static const struct {
	const char *name;
	const char *help;
	const char *members; /* with spaces between them */
} answers[] = {
	{ "ExecutionResult", "how an execution ended",
	  "id status stdout stderr exit_code signal duration outputs error hint denials usage files meta" },
	{ "SecurityReport", "the guard's verdict on code", "language profile analysed verdict findings imports" },
	{ "Batch", "all results in the order of the jobs", "results summary" },
	{ "Session", "all about a session",
	  "name id language status created last_used executions idle lifetime undo warm memory_kb points running" },
	{ "Sessions", "the sessions there are", "sessions" },
	{ "Killed", "the name of the one that ended", "killed" },
	{ "Interrupted", "whether anything ran", "interrupted" },
	{ "Told", "that the line was handed on", "told" },
	{ "Point", "a point of a session, and what cannot be carried", "point notes" },
	{ "Branch", "a new session, and what cannot be carried", "session notes" },
	{ "Files", "what is in /home/user", "files count bytes" },
	{ "File", "the file that was written", "path size" },
	{ "Removed", "the path that was removed", "removed" },
	{ "Executions", "records of the audit log", "executions" },
	{ "Execution", "one record, and what is kept of it", "id time status artifact" },
	{ "Error", "what could not be served", "error" },
};
/* clang-format on */

static struct json_object *new_object(const char *key, struct json_object *value)
{
	struct json_object *json = json_object_new_object();
	(void)json_object_object_add(json, key, value);
	return json;
}

static struct json_object *new_reference(const char *name)
{
	auto_free char *path = xasprintf("#/components/schemas/%s", name);
	return new_object("$ref", json_new_string(path));
}

/* ---- what is said -------------------------------------------------------------------------------
 */

static struct json_object *describe_field(const struct field *field)
{
	struct json_object *schema = field_schema(field, false);
	auto_free char *words = xasprintf("%s%s%s", field->help,
		field->fallback ? "; default " : "", field->fallback ? field->fallback : "");
	json_put(schema, "description", json_new_string(words));
	return schema;
}

static struct json_object *describe_form(const struct form *form)
{
	struct json_object *json = new_object("type", json_new_string("object"));
	struct json_object *members = json_object_new_object();
	const struct field *field = NULL;
	for (size_t i = 0; (field = form_field(form, i)) != NULL; i++)
		(void)json_object_object_add(members, field->name, describe_field(field));
	json_put(json, "properties", members);
	json_put(json, "additionalProperties", json_object_new_boolean(false));
	return json;
}

static struct json_object *new_content(const char *type, struct json_object *schema)
{
	return new_object(type, new_object("schema", schema));
}

static struct json_object *describe_body(const struct route *route)
{
	struct json_object *json = json_object_new_object();
	struct json_object *content = NULL;
	if (route->takes_bytes) {
		content = new_content(
			"application/octet-stream", new_object("type", json_new_string("string")));
	} else if (route->takes_many) {
		struct json_object *list = new_object("type", json_new_string("array"));
		json_put(list, "items", new_reference(route->body->name));
		content = new_content("application/json", list);
		json_put(content, "application/x-ndjson",
			new_object("schema", new_reference(route->body->name)));
	} else {
		content = new_content("application/json", new_reference(route->body->name));
	}
	json_put(json, "content", content);
	return json;
}

static struct json_object *describe_parameter(
	const char *name, size_t len, const char *where, struct json_object *schema)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "name", json_new_text(name, len));
	json_put(json, "in", json_new_string(where));
	if (strcmp(where, "path") == 0)
		json_put(json, "required", json_object_new_boolean(true));
	json_put(json, "schema", schema);
	return json;
}

/* A name in a pattern, without the dots that say that it is all that is left. */
static size_t name_len(const char *name)
{
	return strcspn(name, ".}");
}

static struct json_object *describe_parameters(const struct route *route)
{
	struct json_object *list = json_object_new_array();
	const struct field *field = NULL;
	for (const char *at = strchr(route->path, '{'); at; at = strchr(at + 1, '{'))
		(void)json_object_array_add(
			list, describe_parameter(at + 1, name_len(at + 1), "path",
				      new_object("type", json_new_string("string"))));
	for (size_t i = 0; route->query && (field = form_field(route->query, i)) != NULL; i++)
		(void)json_object_array_add(
			list, describe_parameter(field->name, strlen(field->name), "query",
				      describe_field(field)));
	return list;
}

/* ---- what is answered ---------------------------------------------------------------------------
 */

static struct json_object *describe_answer(const char *members)
{
	struct json_object *json = new_object("type", json_new_string("object"));
	struct json_object *list = json_object_new_array();
	while (*members) {
		size_t len = strcspn(members, " ");
		(void)json_object_array_add(list, json_new_text(members, len));
		members += len + (members[len] == ' ');
	}
	json_put(json, "required", list);
	return json;
}

static struct json_object *describe_responses(const struct route *route)
{
	struct json_object *json = json_object_new_object();
	struct json_object *ok = json_object_new_object();
	struct json_object *wrong = json_object_new_object();
	char status[12];
	json_put(ok, "description", json_new_string(route->summary));
	if (route->answers) {
		struct json_object *content =
			new_content("application/json", new_reference(route->answers));
		if (route->has_events) {
			json_put(content, "application/x-ndjson", json_object_new_object());
			json_put(content, "text/event-stream", json_object_new_object());
		}
		json_put(ok, "content", content);
	}
	(void)snprintf(status, sizeof(status), "%u", route->status ? route->status : MHD_HTTP_OK);
	(void)json_object_object_add(json, status, ok);
	json_put(wrong, "description", json_new_string("what could not be served"));
	json_put(wrong, "content", new_content("application/json", new_reference("Error")));
	json_put(json, "default", wrong);
	return json;
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

/* The scopes that a token needs; a route that needs none is for everybody. */
static struct json_object *describe_security(enum scope scope)
{
	struct json_object *list = json_object_new_array();
	if (scope == SCOPE_NONE)
		return list;
	struct json_object *scopes = json_object_new_array();
	(void)json_object_array_add(scopes, json_new_string(scope_names[scope]));
	(void)json_object_array_add(list, new_object("token", scopes));
	return list;
}

static struct json_object *describe_route(const struct route *route)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "summary", json_new_string(route->summary));
	json_put(json, "parameters", describe_parameters(route));
	if (route->body || route->takes_bytes)
		json_put(json, "requestBody", describe_body(route));
	json_put(json, "responses", describe_responses(route));
	json_put(json, "security", describe_security(route->scope));
	return json;
}

/* The path as it is described: /files/{path...} is /files/{path} there. */
static char *path_of(const struct route *route)
{
	const char *dots = strstr(route->path, "...}");
	return dots ? xasprintf("%.*s}", (int)(dots - route->path), route->path)
		    : xstrdup(route->path);
}

static struct json_object *describe_routes(void)
{
	struct json_object *paths = json_object_new_object();
	for (size_t i = 0; i < http_route_count; i++) {
		const struct route *route = &http_routes[i];
		char method[8] = "";
		auto_free char *name = path_of(route);
		struct json_object *path = json_object_object_get(paths, name);
		if (!path) {
			path = json_object_new_object();
			(void)json_object_object_add(paths, name, path);
		}
		for (size_t at = 0; at < sizeof(method) - 1 && route->method[at]; at++)
			method[at] = (char)(route->method[at] | 0x20);
		(void)json_object_object_add(path, method, describe_route(route));
	}
	return paths;
}

static struct json_object *describe_schemas(void)
{
	struct json_object *schemas = json_object_new_object();
	for (size_t i = 0; i < http_route_count; i++) {
		const struct form *form = http_routes[i].body;
		if (form && !json_object_object_get(schemas, form->name))
			(void)json_object_object_add(schemas, form->name, describe_form(form));
	}
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		struct json_object *schema = describe_answer(answers[i].members);
		json_put(schema, "description", json_new_string(answers[i].help));
		(void)json_object_object_add(schemas, answers[i].name, schema);
	}
	return schemas;
}

static struct json_object *describe_tokens(void)
{
	struct json_object *token = new_object("type", json_new_string("http"));
	json_put(token, "scheme", json_new_string("bearer"));
	json_put(token, "description", json_new_string("hotcell token new NAME makes one"));
	return new_object("token", token);
}

void route_openapi(struct request *request)
{
	struct json_object *json = json_object_new_object();
	struct json_object *info = json_object_new_object();
	struct json_object *components = json_object_new_object();
	json_put(info, "title", json_new_string("hotcell"));
	json_put(info, "version", json_new_string(HOTCELL_VERSION));
	json_put(components, "schemas", describe_schemas());
	json_put(components, "securitySchemes", describe_tokens());
	json_put(json, "openapi", json_new_string("3.1.0"));
	json_put(json, "info", info);
	json_put(json, "paths", describe_routes());
	json_put(json, "components", components);
	answer_json(request, MHD_HTTP_OK, json);
}
