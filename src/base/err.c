/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;
	err->code = code;
	err->sys = 0;
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return -1;
}

int err_sys(struct err *err, int sys, const char *fmt, ...)
{
	va_list ap;
	err->code = ERR_SYSTEM;
	err->sys = sys;
	va_start(ap, fmt);
	int n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(err->text))
		(void)snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %s", strerror(sys));
	return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char inner[sizeof(err->text)];
	va_list ap;
	memcpy(inner, err->text, sizeof(inner));
	va_start(ap, fmt);
	int n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(err->text))
		(void)snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %s", inner);
	return -1;
}
