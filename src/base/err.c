/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
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

/* The library's words for this one help nobody. */
static const char *words_of(int sys)
{
	return sys == ETOOMANYREFS
		       ? "too many open files of this user are under way between processes; raise "
			 "ulimit -n"
		       : strerror(sys);
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
		(void)snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %s", words_of(sys));
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
