/* SPDX-License-Identifier: Apache-2.0 */
/* What was typed before: one file for each language, of this user alone, bounded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/spec.h"

enum { HISTORY_MAX = 1000, HISTORY_BYTES_MAX = 1 << 20 };

struct history {
	struct strings items; /* oldest first */
	char *path;           /* owned; NULL: it is not kept */
};

/* Reads what is kept. A file that cannot be read costs its entries and nothing else. */
void history_open(struct history *history, const char *language);
void history_done(struct history *history);

/* The same for a file by name, which need not exist; its directory must. */
void history_open_file(struct history *history, const char *path);

/* Adds an entry, unless it is empty or the same as the last one, and keeps it. */
void history_add(struct history *history, const char *text);

/* The nearest entry before `at` (the number of entries: all of them) that begins with `prefix`, or,
 * when `is_anywhere`, has it in it, and is not `other`. False: there is none. */
bool history_find(const struct history *history, size_t at, const char *prefix, bool is_anywhere,
	const char *other, size_t *ret_index);
