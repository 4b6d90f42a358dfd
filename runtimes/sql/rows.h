/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of one result. They pass by one at a time; only the first ones are kept, to measure the
 * columns of the table by and to be sent over the channel. A result of any length needs the same
 * memory.
 */
#pragma once

#include "sql/value.h"

enum {
	ROWS_KEPT_MAX = 1000,
	ROWS_KEPT_BYTES = 1 << 20,
	ROWS_COLUMNS_MAX = 2000,     /* SQLite's own limit, as Debian builds it */
	ROWS_TEXT_BYTES = 256 << 10, /* of the table in a frame */
};

struct rows {
	size_t column_count;
	char **names;       /* owned */
	struct kept *cells; /* owned: kept_count * column_count */
	struct buf bytes;   /* of the kept cells */
	size_t kept_count;
	bool is_full; /* no further row is kept */
	int64_t total;
};

void rows_init(struct rows *rows);
void rows_done(struct rows *rows);

/* Takes a copy of the name. */
void rows_add_column(struct rows *rows, const char *name);

/* Counts a row and keeps it if there is room; whether it was kept. */
bool rows_add(struct rows *rows, const struct value *values);

/* One row that was kept, `values` having room for each column. */
void rows_get(const struct rows *rows, size_t row, struct value *values);
