/* SPDX-License-Identifier: Apache-2.0 */
/* What differs among shells. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

struct dialect {
	const char *program;  /* the name it is started by */
	const char *init;     /* its first lines; %1$d: the relay, %2$d: where to report to */
	bool has_escapes;     /* it knows $'…' */
	const char *check[4]; /* reads code without running it; the file follows */

	const char *open; /* what its complaint about an open quote has in it */

	/* Asked in a subshell, with $__hotcell as what it is about: lines of text. */
	const char *commands;
	const char *variables;
	const char *files;
	const char *directories;
	const char *about;
	const char *manual; /* after `about`, where more is wanted */
	const char *names;  /* what was given a name in this shell, and of which kind it is */
};

/* By the name of a program; NULL: unknown. */
const struct dialect *dialect_find(const char *program);

/* Adds `text` as one word of the shell, on one line if the shell has a way to say so. */
void dialect_quote(const struct dialect *dialect, struct buf *buf, const char *text, size_t len);

/* Where the word begins that ends at `end`, and whether it stands where a command does. */
size_t dialect_word(const char *code, size_t end, bool *ret_is_command, bool *ret_is_cd);
