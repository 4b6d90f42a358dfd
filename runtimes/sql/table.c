/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/table.h"

#include <inttypes.h>
#include <string.h>

#include "base/own.h"

void table_init(struct table *table, const struct rows *rows, const char *null_text,
	const struct cut *cut, bool has_headers)
{
	*table = (struct table){
		.rows = rows, .null_text = null_text, .cut = *cut, .has_headers = has_headers
	};
	table->widths = xcalloc(rows->column_count + 1, sizeof(*table->widths));
	table->has_text = xcalloc(rows->column_count + 1, sizeof(*table->has_text));
	for (size_t i = 0; has_headers && i < rows->column_count; i++)
		table->widths[i] = value_width(rows->names[i], strlen(rows->names[i]));
}

void table_done(struct table *table)
{
	free(table->widths);
	free(table->has_text);
	*table = (struct table){ 0 };
}

/* The next line of a cell's text; moves *at behind it. False when there is none left. */
static bool next_line(const struct buf *cell, size_t *at, const char **ret_line, size_t *ret_len)
{
	if (*at > cell->len)
		return false;
	*ret_line = buf_text(cell) + *at;
	const char *newline = memchr(*ret_line, '\n', cell->len - *at);
	*ret_len = newline ? (size_t)(newline - *ret_line) : cell->len - *at;
	*at += *ret_len + 1;
	return true;
}

static void write_cell(
	const struct table *table, const struct value *value, struct buf *cell, bool *ret_is_cut)
{
	cell->len = 0;
	value_write_cell(cell, value, table->null_text, &table->cut, ret_is_cut);
}

void table_measure(struct table *table, const struct value *values)
{
	auto_buf struct buf cell;
	buf_init(&cell, TEXT_NO_CAP);
	for (size_t i = 0; i < table->rows->column_count; i++) {
		size_t at = 0, len = 0;
		const char *line = NULL;
		bool is_cut = false;
		write_cell(table, &values[i], &cell, &is_cut);
		while (next_line(&cell, &at, &line, &len)) {
			size_t width = value_width(line, len);
			if (width > table->widths[i])
				table->widths[i] = width;
		}
		table->has_text[i] |= values[i].kind == VALUE_TEXT || values[i].kind == VALUE_BLOB;
	}
}

void table_measure_kept(struct table *table)
{
	auto_free struct value *values = xcalloc(table->rows->column_count + 1, sizeof(*values));
	for (size_t i = 0; i < table->rows->kept_count; i++) {
		rows_get(table->rows, i, values);
		table_measure(table, values);
	}
}

static void put_many(struct buf *buf, const char *mark, size_t count)
{
	for (size_t i = 0; i < count; i++)
		text_put_bytes(buf, mark, 1);
}

void table_write_head(const struct table *table, struct buf *buf)
{
	const struct rows *rows = table->rows;
	if (!table->has_headers)
		return;
	for (size_t i = 0; i < rows->column_count; i++) {
		size_t room =
			table->widths[i] - value_width(rows->names[i], strlen(rows->names[i]));
		text_add(buf, i ? "|" : "");
		put_many(buf, " ", 1 + room / 2);
		text_add(buf, rows->names[i]);
		put_many(buf, " ", 1 + room - room / 2);
	}
	text_add(buf, "\n");
	for (size_t i = 0; i < rows->column_count; i++) {
		text_add(buf, i ? "+" : "");
		put_many(buf, "-", table->widths[i] + 2);
	}
	text_add(buf, "\n");
}

/* A cell whose text goes on below is marked with a '+' at its right edge. */
static void write_part(struct buf *buf, const char *line, size_t len, size_t width, bool is_right,
	bool has_more, bool is_last)
{
	size_t own = value_width(line, len);
	size_t room = width > own ? width - own : 0;
	text_add(buf, " ");
	if (is_right)
		put_many(buf, " ", room);
	text_put_bytes(buf, line, len);
	if (!is_right && (!is_last || has_more))
		put_many(buf, " ", room);
	if (has_more)
		text_add(buf, "+");
	else if (!is_last)
		text_add(buf, " ");
}

static bool write_row_line(struct table *table, struct buf *buf, const struct value *values,
	const struct buf *cells, size_t *at)
{
	size_t count = table->rows->column_count;
	bool has_more = false;
	for (size_t i = 0; i < count; i++) {
		const char *line = "";
		size_t len = 0;
		bool is_right = value_is_number(&values[i]) ||
				(values[i].kind == VALUE_NULL && !table->has_text[i]);
		(void)next_line(&cells[i], &at[i], &line, &len);
		bool goes_on = at[i] <= cells[i].len;
		has_more |= goes_on;
		text_add(buf, i ? "|" : "");
		write_part(buf, line, len, table->widths[i], is_right, goes_on, i + 1 == count);
	}
	text_add(buf, "\n");
	return has_more;
}

void table_write_row(struct table *table, struct buf *buf, const struct value *values)
{
	size_t count = table->rows->column_count;
	auto_free struct buf *cells = xcalloc(count + 1, sizeof(*cells));
	auto_free size_t *at = xcalloc(count + 1, sizeof(*at));
	for (size_t i = 0; i < count; i++) {
		bool is_cut = false;
		buf_init(&cells[i], TEXT_NO_CAP);
		write_cell(table, &values[i], &cells[i], &is_cut);
		table->cut_count += is_cut;
	}
	while (write_row_line(table, buf, values, cells, at))
		;
	for (size_t i = 0; i < count; i++)
		buf_done(&cells[i]);
}

void table_write_foot(const struct table *table, struct buf *buf)
{
	int64_t total = table->rows->total;
	char text[128];
	(void)snprintf(text, sizeof(text), "(%" PRId64 " row%s)\n", total, total == 1 ? "" : "s");
	text_add(buf, text);
	if (table->cut_count > 0) {
		(void)snprintf(text, sizeof(text),
			"(%" PRId64 " value%s cut to fit; .width 0 or .mode line shows all)\n",
			table->cut_count, table->cut_count == 1 ? "" : "s");
		text_add(buf, text);
	}
	text_add(buf, "\n");
}
