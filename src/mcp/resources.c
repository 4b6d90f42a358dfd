/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of sessions as resources. A list is a page for each session, in the order of their names,
 * so that none is long and nothing is kept between pages: a cursor is the name of the next session.
 * An execution in a session is told with links to the files that were written meanwhile.
 */
#include <string.h>

#include "base/own.h"
#include "mcp/parts.h"
#include "mcp/uri.h"
#include "wire/json.h"

enum { LINKS_MAX = 10 };

static const char *text_of(struct json_object *json, const char *key)
{
	struct json_object *value = json_object_object_get(json, key);
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static size_t count_of(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

/* The answer to a job, or NULL and why there is none. */
static struct json_object *read_answer(const char *result, size_t len, struct err *err)
{
	struct json_object *json = NULL;
	if (!result)
		(void)err_set(err, ERR_BROKEN, "the process that looked died; try again");
	else if (work_refusal(result, len, err) == 0)
		(void)json_read(result, len, MCP_RESULT_MAX, MCP_DEPTH_MAX, &json, err);
	return json;
}

static int ask_session(struct mcp_call *call, const char *verb, const char *session,
	const char *path, mcp_finish *finish, struct err *err)
{
	auto_json struct json_object *job = json_object_new_object();
	json_put(job, "verb", json_new_string(verb));
	if (session)
		json_put(job, "session", json_new_string(session));
	if (path)
		json_put(job, "path", json_new_string(path));
	auto_free char *text = json_print(job, false);
	return mcp_work_on(call, WORK_SESSION, text, finish, err);
}

/* A file of a list; NULL: it is something else. */
static struct json_object *new_resource(const char *session, struct json_object *file)
{
	const char *path = text_of(file, "path");
	const char *mime = uri_mime(path);
	if (strcmp(text_of(file, "kind"), "file") != 0)
		return NULL;
	struct json_object *json = json_object_new_object();
	auto_free char *uri = uri_write(session, path);
	auto_free char *words = xasprintf("in session %s", session);
	json_put(json, "uri", json_new_string(uri));
	json_put(json, "name", json_new_string(path));
	json_put(json, "description", json_new_string(words));
	if (mime)
		json_put(json, "mimeType", json_new_string(mime));
	json_put(json, "size", json_object_get(json_object_object_get(file, "size")));
	return json;
}

/* ---- lists --------------------------------------------------------------------------------------
 */

static void finish_page(struct mcp_call *call, const char *result, size_t len)
{
	struct err err = { 0 };
	/* a session that ended meanwhile has no files */
	auto_json struct json_object *answer = read_answer(result, len, &err);
	struct json_object *files = json_object_object_get(answer, "files");
	struct json_object *page = json_object_new_object();
	struct json_object *list = json_object_new_array();
	for (size_t i = 0; i < count_of(files); i++) {
		struct json_object *resource = new_resource(
			text_of(call->kept, "session"), json_object_array_get_idx(files, i));
		if (resource)
			(void)json_object_array_add(list, resource);
	}
	json_put(page, "resources", list);
	if (text_of(call->kept, "next")[0])
		json_put(page, "nextCursor", json_new_string(text_of(call->kept, "next")));
	mcp_answer(call, page);
}

/* The first name from there on, or beyond it. */
static const char *find_name(struct json_object *sessions, const char *from, bool is_beyond)
{
	const char *found = NULL;
	for (size_t i = 0; i < count_of(sessions); i++) {
		const char *name = text_of(json_object_array_get_idx(sessions, i), "name");
		int order = strcmp(name, from);
		if ((order > 0 || (order == 0 && !is_beyond)) &&
			(!found || strcmp(name, found) < 0))
			found = name;
	}
	return found;
}

static void finish_sessions(struct mcp_call *call, const char *result, size_t len)
{
	struct err err = { 0 };
	auto_json struct json_object *answer = read_answer(result, len, &err);
	if (!answer) {
		mcp_refuse(call, MCP_INTERNAL_ERROR, NULL, "%s", err.text);
		return;
	}
	struct json_object *sessions = json_object_object_get(answer, "sessions");
	const char *name = find_name(sessions, text_of(call->params, "cursor"), false);
	if (!name) {
		struct json_object *page = json_object_new_object();
		json_put(page, "resources", json_object_new_array());
		mcp_answer(call, page);
		return;
	}
	call->kept = json_object_new_object();
	json_put(call->kept, "session", json_new_string(name));
	json_put(call->kept, "next", json_new_string(find_name(sessions, name, true)));
	if (ask_session(call, "files", name, NULL, finish_page, &err) < 0)
		mcp_refuse(call, MCP_INTERNAL_ERROR, NULL, "%s", err.text);
}

static void list_resources(struct mcp_call *call)
{
	struct err err = { 0 };
	if (ask_session(call, "list", NULL, NULL, finish_sessions, &err) < 0)
		mcp_refuse(call, MCP_INTERNAL_ERROR, NULL, "%s", err.text);
}

static void list_templates(struct mcp_call *call)
{
	struct json_object *result = json_object_new_object();
	struct json_object *list = json_object_new_array();
	struct json_object *json = json_object_new_object();
	json_put(json, "uriTemplate", json_new_string("hotcell://session/{session}/{+path}"));
	json_put(json, "name", json_new_string("session file"));
	json_put(json, "description",
		json_new_string("A file in the directory of a session, as its code names it."));
	(void)json_object_array_add(list, json);
	json_put(result, "resourceTemplates", list);
	mcp_answer(call, result);
}

/* ---- one ----------------------------------------------------------------------------------------
 */

static void refuse_resource(struct mcp_call *call, const char *why)
{
	struct json_object *data = json_object_new_object();
	json_put(data, "uri", json_new_string(text_of(call->params, "uri")));
	mcp_refuse(call, mcp_is_modern(call) ? MCP_INVALID_PARAMS : MCP_RESOURCE_NOT_FOUND, data,
		"Resource not found: %s", why);
}

static void finish_read(struct mcp_call *call, const char *result, size_t len)
{
	struct err err = { 0 };
	auto_json struct json_object *answer = read_answer(result, len, &err);
	if (!answer && (err.code == ERR_MISSING || err.code == ERR_INVALID)) {
		refuse_resource(call, err.text);
		return;
	}
	if (!answer) {
		mcp_refuse(call, MCP_INTERNAL_ERROR, NULL, "%s", err.text);
		return;
	}
	struct json_object *whole = json_object_new_object();
	struct json_object *list = json_object_new_array();
	struct json_object *json = json_object_new_object();
	struct json_object *text = json_object_object_get(answer, "text");
	const char *mime = uri_mime(text_of(answer, "path"));
	if (!mime)
		mime = text ? "text/plain" : "application/octet-stream";
	json_put(json, "uri", json_new_string(text_of(call->params, "uri")));
	json_put(json, "mimeType", json_new_string(mime));
	if (text)
		json_put(json, "text", json_object_get(text));
	else
		json_put(json, "blob", json_object_get(json_object_object_get(answer, "base64")));
	(void)json_object_array_add(list, json);
	json_put(whole, "contents", list);
	mcp_answer(call, whole);
}

static void read_resource(struct mcp_call *call)
{
	struct err err = { 0 };
	auto_free char *session = NULL;
	auto_free char *path = NULL;
	if (!json_object_is_type(json_object_object_get(call->params, "uri"), json_type_string))
		mcp_refuse(call, MCP_INVALID_PARAMS, NULL, "params.uri must be a string");
	else if (!uri_read(text_of(call->params, "uri"), &session, &path))
		refuse_resource(call, "files are called hotcell://session/NAME/PATH");
	else if (ask_session(call, "read", session, path, finish_read, &err) < 0)
		mcp_refuse(call, MCP_INTERNAL_ERROR, NULL, "%s", err.text);
}

/* ---- links --------------------------------------------------------------------------------------
 */

/* What the code wrote for somebody to see: since the call began, and not hidden. */
static bool is_news(const struct mcp_call *call, struct json_object *file)
{
	const char *path = text_of(file, "path");
	int64_t modified = json_object_get_int64(json_object_object_get(file, "modified"));
	return modified >= call->begun_s && path[0] != '.' && !strstr(path, "/.") &&
	       !strstr(path, "__pycache__/");
}

/* The one that the code ran in. */
static const char *session_of(const struct mcp_call *call)
{
	return text_of(json_object_object_get(call->params, "arguments"), "session");
}

static struct json_object *find_links(const struct mcp_call *call, struct json_object *files)
{
	struct json_object *links = json_object_new_array();
	const char *session = session_of(call);
	for (size_t i = 0; i < count_of(files); i++) {
		struct json_object *file = json_object_array_get_idx(files, i);
		struct json_object *link = is_news(call, file) ? new_resource(session, file) : NULL;
		if (!link)
			continue;
		json_put(link, "type", json_new_string("resource_link"));
		(void)json_object_array_add(links, link);
		if (json_object_array_length(links) == LINKS_MAX)
			break;
	}
	return links;
}

static void finish_links(struct mcp_call *call, const char *result, size_t len)
{
	struct err err = { 0 };
	auto_json struct json_object *answer = read_answer(result, len, &err);
	mcp_tell_result(
		call, call->kept, find_links(call, json_object_object_get(answer, "files")));
}

/* Before it is told, its files are looked at. */
void mcp_finish_turn(struct mcp_call *call, const char *result, size_t len)
{
	struct err err = { 0 };
	struct json_object *json = mcp_read_result(call, result, len);
	if (!json)
		return;
	call->kept = json;
	if (call->version < MCP_2025_06_18 ||
		ask_session(call, "files", session_of(call), NULL, finish_links, &err) < 0)
		mcp_tell_result(call, call->kept, NULL);
}

/* clang-format off */
const struct mcp_method mcp_resource_methods[MCP_RESOURCE_METHODS] = {
	{ .name = "resources/list", .eras = MCP_BOTH, .is_cacheable = true, .answer = list_resources },
	{ .name = "resources/templates/list", .eras = MCP_BOTH, .is_cacheable = true,
	  .answer = list_templates },
	{ .name = "resources/read", .eras = MCP_BOTH, .is_cacheable = true, .named_by = "uri",
	  .answer = read_resource },
};
/* clang-format on */
