/* SPDX-License-Identifier: Apache-2.0 */
/* Errors are values on the caller's stack: nothing to free, nothing to leak. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

enum err_code {
	ERR_NONE = 0,
	ERR_INVALID,     /* the caller asked for something that makes no sense */
	ERR_SYSTEM,      /* the kernel refused; `sys` holds its errno */
	ERR_LIMIT,       /* an outsider's data went past a bound */
	ERR_MISSING,     /* a program, file or layer this machine does not have */
	ERR_BROKEN,      /* one of our own parts answered nonsense or died */
	ERR_BUSY,        /* another has it now */
	ERR_INTERRUPTED, /* whoever asked does not want it any more */
	ERR_CODE_COUNT,
};

struct err {
	enum err_code code;
	int sys; /* errno, or 0 */
	char text[512];
};

/* Both fill *err and return -1, so that a failing function can end in one line. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int err_sys(struct err *err, int sys, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts context before the text already there: "raise cell: " + "mount /proc: …". Returns -1. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The only macro that may hide a return. */
#define TRY(call)                  \
	do {                       \
		if ((call) < 0)    \
			return -1; \
	} while (0)
