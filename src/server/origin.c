/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages in a browser (CORS). Those that come from this machine, or from a name it was told, may
 * read what they ask for; access_admit() refuses all others before anything else is looked at. A
 * browser asks first whether it may send a header such as Authorization: that question has no token
 * in it.
 */
#include <string.h>

#include "base/own.h"
#include "server/http.h"

static const char methods[] = "GET, HEAD, POST, PUT, DELETE";
static const char told[] = "X-Request-Id, traceparent, Retry-After, Content-Range, ETag";

/* A name of a header as it may be repeated in ours. */
static bool is_plain(const char *list)
{
	return strlen(list) <= 512 && strspn(list, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRS"
						   "TUVWXYZ0123456789-_, ") == strlen(list);
}

void origin_allow(const struct request *request, struct MHD_Response *response)
{
	const char *origin = request_header(request, "Origin");
	if (!origin || request->is_local || request->is_foreign)
		return;
	(void)MHD_add_response_header(response, "Access-Control-Allow-Origin", origin);
	(void)MHD_add_response_header(response, "Access-Control-Expose-Headers", told);
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Origin");
}

bool origin_asks(struct request *request)
{
	const char *headers = request_header(request, "Access-Control-Request-Headers");
	if (strcmp(request->method, MHD_HTTP_METHOD_OPTIONS) != 0 ||
		!request_header(request, "Origin") ||
		!request_header(request, "Access-Control-Request-Method"))
		return false;
	answer_text(request, MHD_HTTP_NO_CONTENT, "text/plain", xstrdup(""));
	(void)MHD_add_response_header(request->response, "Access-Control-Allow-Methods", methods);
	if (headers && is_plain(headers))
		(void)MHD_add_response_header(
			request->response, "Access-Control-Allow-Headers", headers);
	(void)MHD_add_response_header(request->response, "Access-Control-Max-Age", "600");
	return true;
}
