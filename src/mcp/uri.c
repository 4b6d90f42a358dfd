/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/uri.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"

static const char head[] = "hotcell://session/";

static bool is_plain(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("-._~/", c));
}

char *uri_write(const char *session, const char *path)
{
	static const char digits[] = "0123456789ABCDEF";
	char *uri = xasprintf("%s%s/%*s", head, session, (int)(3 * strlen(path)), "");
	char *to = uri + strlen(head) + strlen(session) + 1;
	for (; *path; path++) {
		unsigned char byte = (unsigned char)*path;
		if (!is_plain(*path)) {
			*to++ = '%';
			*to++ = digits[byte >> 4];
		}
		*to++ = is_plain(*path) ? *path : digits[byte & 15];
	}
	*to = '\0';
	return uri;
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* NULL: an escape is none, or stands for the end of a text. */
static char *decode(const char *from, size_t len)
{
	char *text = xcalloc(len + 1, 1);
	char *to = text;
	for (size_t i = 0; i < len; i++) {
		if (from[i] != '%') {
			*to++ = from[i];
			continue;
		}
		int high = len - i > 2 ? digit(from[i + 1]) : -1;
		int low = len - i > 2 ? digit(from[i + 2]) : -1;
		if (high < 0 || low < 0 || high + low == 0) {
			free(text);
			return NULL;
		}
		*to++ = (char)(high * 16 + low);
		i += 2;
	}
	return text;
}

bool uri_read(const char *uri, char **ret_session, char **ret_path)
{
	if (strncmp(uri, head, strlen(head)) != 0)
		return false;
	const char *name = uri + strlen(head);
	size_t len = strcspn(name, "/");
	if (len == 0 || name[len] == '\0' || name[len + 1] == '\0')
		return false;
	auto_free char *session = decode(name, len);
	auto_free char *path = decode(name + len + 1, strlen(name + len + 1));
	if (!session || !path)
		return false;
	*ret_session = take_ptr(&session);
	*ret_path = take_ptr(&path);
	return true;
}

const char *uri_mime(const char *path)
{
	/* clang-format off */
	static const struct { const char *ending, *mime; } types[] = {
		{ "csv", "text/csv" }, { "css", "text/css" }, { "gif", "image/gif" },
		{ "gz", "application/gzip" }, { "htm", "text/html" }, { "html", "text/html" },
		{ "jpeg", "image/jpeg" }, { "jpg", "image/jpeg" }, { "js", "text/javascript" },
		{ "json", "application/json" }, { "md", "text/markdown" }, { "pdf", "application/pdf" },
		{ "png", "image/png" }, { "py", "text/x-python" }, { "svg", "image/svg+xml" },
		{ "tsv", "text/tab-separated-values" }, { "txt", "text/plain" }, { "wav", "audio/wav" },
		{ "webp", "image/webp" }, { "xml", "application/xml" }, { "zip", "application/zip" },
	};
	/* clang-format on */
	const char *dot = strrchr(path, '.');
	for (size_t i = 0; dot && i < COUNT_OF(types); i++)
		if (strcasecmp(dot + 1, types[i].ending) == 0)
			return types[i].mime;
	return NULL;
}
