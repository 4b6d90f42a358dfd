/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "model/spec.h"
#include "server/http.h"
#include "wire/json.h"

void answer_text(struct request *request, unsigned int status, const char *type, char *text)
{
	request->status = status;
	request->sent = strlen(text);
	request->response =
		MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
	(void)MHD_add_response_header(request->response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	request->state = ANSWER_READY;
	request->http->counts.errors += status >= MHD_HTTP_BAD_REQUEST;
	request_wake(request);
}

void answer_json(struct request *request, unsigned int status, struct json_object *json)
{
	auto_free char *text = json_print(json, false);
	(void)json_object_put(json);
	answer_text(request, status, "application/json", xasprintf("%s\n", text));
}

__attribute__((format(printf, 6, 0))) static void answer_words(struct request *request,
	unsigned int status, const char *code, const char *field, const char *fix, const char *fmt,
	va_list ap)
{
	char text[1024];
	struct json_object *json = json_object_new_object();
	struct json_object *error = json_object_new_object();
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	json_put(error, "code", json_new_string(code));
	json_put(error, "message", json_new_string(text));
	json_put(error, "field", json_new_string(field));
	json_put(error, "fix", json_new_string(fix));
	json_put(error, "request_id", json_new_string(request->id));
	json_put(json, "error", error);
	answer_json(request, status, json);
}

void answer_error(struct request *request, unsigned int status, const char *code, const char *field,
	const char *fix, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	answer_words(request, status, code, field, fix, fmt, ap);
	va_end(ap);
}

void answer_later(struct request *request, const char *code, int64_t seconds, const char *fix,
	const char *fmt, ...)
{
	char after[32];
	va_list ap;
	va_start(ap, fmt);
	answer_words(request, MHD_HTTP_SERVICE_UNAVAILABLE, code, NULL, fix, fmt, ap);
	va_end(ap);
	(void)snprintf(after, sizeof(after), "%" PRId64, seconds);
	(void)MHD_add_response_header(request->response, MHD_HTTP_HEADER_RETRY_AFTER, after);
}

void answer_draining(struct request *request)
{
	enum { RETRY_S = 5 }; /* until the next daemon serves, as a guess */
	answer_later(request, "draining", RETRY_S, "ask again when the next daemon serves",
		"the daemon was told to end and takes nothing new");
	(void)MHD_add_response_header(request->response, MHD_HTTP_HEADER_CONNECTION, "close");
}

static const char *const err_names[ERR_CODE_COUNT] = {
	/* clang-format off */
	[ERR_NONE]        = "internal",
	[ERR_INVALID]     = "invalid",
	[ERR_SYSTEM]      = "system",
	[ERR_LIMIT]       = "limit",
	[ERR_MISSING]     = "missing",
	[ERR_BROKEN]      = "internal",
	[ERR_BUSY]        = "busy",
	[ERR_INTERRUPTED] = "interrupted",
	/* clang-format on */
};

static const struct field *find_field(const struct route *route, const char *name)
{
	const struct field *field = route && route->body ? form_find(route->body, name) : NULL;
	if (!field && route && route->query)
		field = form_find(route->query, name);
	return field ? field : spec_field(name);
}

/* Words about a field begin with its name and end with an example. */
void answer_err(struct request *request, unsigned int status, const struct err *err)
{
	static const char example[] = ", for example ";
	char name[64];
	const char *fix = strstr(err->text, example);
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(err->text, ":"), err->text);
	const struct field *field = find_field(request->route, name);
	const char *code = err_names[err->code] ? err_names[err->code] : "internal";
	answer_error(request, status, code, field ? field->name : NULL,
		fix ? fix + strlen(", ") : NULL, "%s", err->text);
}

void answer_refusal(struct request *request, const struct err *err)
{
	/* clang-format off */
	static const struct { unsigned int status; const char *fix; } refusals[ERR_CODE_COUNT] = {
		[ERR_NONE]        = { MHD_HTTP_INTERNAL_SERVER_ERROR, NULL },
		[ERR_INVALID]     = { MHD_HTTP_BAD_REQUEST, NULL },
		[ERR_SYSTEM]      = { MHD_HTTP_INTERNAL_SERVER_ERROR, NULL },
		[ERR_LIMIT]       = { MHD_HTTP_CONFLICT, NULL },
		[ERR_MISSING]     = { MHD_HTTP_NOT_FOUND, NULL },
		[ERR_BROKEN]      = { MHD_HTTP_SERVICE_UNAVAILABLE, "try again" },
		[ERR_BUSY]        = { MHD_HTTP_CONFLICT, "\"wait\": true waits for its turn; POST "
							 "/v1/sessions/{name}/interrupt stops "
							 "what runs" },
		[ERR_INTERRUPTED] = { MHD_HTTP_SERVICE_UNAVAILABLE, "try again" },
	};
	/* clang-format on */
	const char *code = err_names[err->code] ? err_names[err->code] : "internal";
	const char *fix = refusals[err->code].fix;
	if (err->code == ERR_MISSING && strncmp(request->path, "/v1/sessions", 12) == 0)
		fix = "GET /v1/sessions lists what there is";
	if (err->code == ERR_INVALID)
		answer_err(request, MHD_HTTP_BAD_REQUEST, err);
	else
		answer_error(request, refusals[err->code].status, code, NULL, fix, "%s", err->text);
}

void answer_queue_full(struct request *request)
{
	answer_later(request, "queue_full", 1, "try again later, or serve with a longer --queue",
		"%lld executions wait already", (long long)request->http->settings.queue);
}
