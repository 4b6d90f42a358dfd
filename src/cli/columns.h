/* SPDX-License-Identifier: Apache-2.0 */
/* Lists for people: titles above columns, as wide as their cells, no wider than the terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cli/term.h"

enum { COLUMNS_COUNT_MAX = 10 };

struct column_head {
	const char *title;
	bool is_number; /* stands on the right */
	bool gives_way; /* is cut where there is no room */
};

struct columns {
	const struct column_head *heads;
	size_t count;
	char **cells; /* owned, row by row; NULL is empty */
	size_t cell_count;
};

/* Takes the text of the next cell. */
void columns_add(struct columns *columns, char *text);
void columns_done(struct columns *columns);

/* All of it. On a terminal it fits; elsewhere nothing is cut. */
void columns_put(struct buf *out, const struct columns *columns, const struct term *term);
