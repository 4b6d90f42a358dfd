/* SPDX-License-Identifier: Apache-2.0 */
#include "base/own.h"

#include <stdarg.h>
#include <string.h>

static void *or_abort(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

void *xcalloc(size_t count, size_t size)
{
	return or_abort(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *old, size_t count, size_t size)
{
	return or_abort(reallocarray(old, count ? count : 1, size));
}

char *xstrdup(const char *text)
{
	return or_abort(strdup(text));
}

char *xstrndup(const char *text, size_t len)
{
	return or_abort(strndup(text, len));
}

char *xasprintf(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return or_abort(n < 0 ? NULL : text);
}
