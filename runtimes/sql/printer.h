/* SPDX-License-Identifier: Apache-2.0 */
/* Rows on their way to standard output, in the mode that was asked for. */
#pragma once

#include "sql/shell.h"
#include "sql/table.h"

struct printer {
	const struct shell *shell;
	const struct rows *rows;
	struct table table;
	struct buf line;
	bool has_begun;
};

/* `rows` has its columns already. */
void printer_init(struct printer *printer, const struct shell *shell, const struct rows *rows);
void printer_done(struct printer *printer);

/* A row that was just added to rows; `is_kept` as rows_add() told. */
void printer_row(struct printer *printer, const struct value *values, bool is_kept);

/* After the last row; with an error there is no count of rows. */
void printer_end(struct printer *printer, bool is_whole);
