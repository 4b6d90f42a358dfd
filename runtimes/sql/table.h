/* SPDX-License-Identifier: Apache-2.0 */
/* The aligned table, as psql draws it. */
#pragma once

#include "sql/rows.h"

struct table {
	const struct rows *rows; /* names and number of columns */
	const char *null_text;
	struct cut cut;
	bool has_headers;
	size_t *widths;    /* owned */
	bool *has_text;    /* owned; NULL stands at the left where there is text */
	int64_t cut_count; /* values that were shortened */
};

void table_init(struct table *table, const struct rows *rows, const char *null_text,
	const struct cut *cut, bool has_headers);
void table_done(struct table *table);

/* Widens the columns for one row. */
void table_measure(struct table *table, const struct value *values);

/* All that was kept. */
void table_measure_kept(struct table *table);

void table_write_head(const struct table *table, struct buf *buf);
void table_write_row(struct table *table, struct buf *buf, const struct value *values);

/* "(3 rows)", what was cut, and an empty line. */
void table_write_foot(const struct table *table, struct buf *buf);
