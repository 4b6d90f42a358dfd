/* SPDX-License-Identifier: Apache-2.0 */
/* What is typed at the prompt and is meant for the prompt itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* %NAME WORDS, and the lines below it; %%NAME WORDS goes on until these are whole. */
struct magic {
	char *name;  /* owned */
	char *words; /* owned; without blanks around them; may be empty */
	char *body;  /* owned; may be empty */
	bool wants_body;
};

/* Whether the text is a magic: "%" or "%%" and a letter first. */
bool magic_parse(const char *text, struct magic *ret_magic);
void magic_done(struct magic *magic);

/* Whether the text asks about a name: ?x, x?, ??x or x??. *ret_name is the caller's; *ret_detail is
 * 1 for two marks. */
bool magic_is_question(const char *text, char **ret_name, int *ret_detail);
