/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/columns.h"

#include <string.h>

#include "base/own.h"

enum { GAP = 2, FLOOR = 6, UNBOUNDED = 1 << 20 };

void columns_add(struct columns *columns, char *text)
{
	columns->cells = xrealloc(columns->cells, columns->cell_count + 1, sizeof(*columns->cells));
	columns->cells[columns->cell_count++] = text;
}

void columns_done(struct columns *columns)
{
	for (size_t i = 0; i < columns->cell_count; i++)
		free(columns->cells[i]);
	free(columns->cells);
	columns->cells = NULL;
	columns->cell_count = 0;
}

static int width_of_text(const char *text)
{
	return text ? text_put(NULL, text, strlen(text), UNBOUNDED) : 0;
}

static void measure(const struct columns *columns, int widths[COLUMNS_COUNT_MAX])
{
	for (size_t i = 0; i < columns->count; i++)
		widths[i] = width_of_text(columns->heads[i].title);
	for (size_t i = 0, column = 0; i < columns->cell_count; i++) {
		int width = width_of_text(columns->cells[i]);
		widths[column] = width > widths[column] ? width : widths[column];
		column = column + 1 < columns->count ? column + 1 : 0;
	}
}

/* The widest of those that may be cut loses a column, until all fit or none may. */
static void shrink(const struct columns *columns, int widths[COLUMNS_COUNT_MAX], int room)
{
	int used = -GAP;
	for (size_t i = 0; i < columns->count; i++)
		used += widths[i] + GAP;
	while (used > room) {
		int *widest = NULL;
		for (size_t i = 0; i < columns->count; i++) {
			if (columns->heads[i].gives_way && widths[i] > FLOOR &&
				(!widest || widths[i] > *widest))
				widest = &widths[i];
		}
		if (!widest)
			return;
		(*widest)--;
		used--;
	}
}

static void put_cell(
	struct buf *out, const struct column_head *head, const char *text, int width, bool is_last)
{
	auto_buf struct buf cell = { 0 };
	buf_init(&cell, UNBOUNDED);
	int used = text ? text_put(&cell, text, strlen(text), width) : 0;
	if (head->is_number)
		text_pad(out, width - used);
	(void)buf_append(out, buf_text(&cell), cell.len);
	if (!head->is_number && !is_last)
		text_pad(out, width - used);
	if (!is_last)
		text_pad(out, GAP);
}

/* A row, without blanks at its end. */
static void put_row(struct buf *out, const struct columns *columns, size_t first,
	const int widths[COLUMNS_COUNT_MAX])
{
	for (size_t i = 0; i < columns->count; i++) {
		const char *text = first < columns->cell_count ? columns->cells[first + i]
							       : columns->heads[i].title;
		put_cell(out, &columns->heads[i], text, widths[i], i + 1 == columns->count);
	}
	while (out->len > 0 && out->data[out->len - 1] == ' ')
		out->len--;
	(void)buf_append(out, "\n", 1);
}

void columns_put(struct buf *out, const struct columns *columns, const struct term *term)
{
	int widths[COLUMNS_COUNT_MAX] = { 0 };
	if (columns->count == 0)
		return;
	measure(columns, widths);
	if (term->is_terminal)
		shrink(columns, widths, term->columns - 1);
	style_begin(out, term, STYLE_BOLD);
	put_row(out, columns, columns->cell_count, widths);
	style_end(out, term, STYLE_BOLD);
	for (size_t i = 0; i + columns->count <= columns->cell_count; i += columns->count)
		put_row(out, columns, i, widths);
}
