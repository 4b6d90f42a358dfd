/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table is drawn when its columns were measured: by all rows that are kept, or when there are
 * more, by those and the row that came too much. The rest streams through; a value wider than its
 * column pushes the line out, nothing is lost. The other modes need no measure.
 */
#include "sql/printer.h"

#include <string.h>

#include "base/own.h"

void printer_init(struct printer *printer, const struct shell *shell, const struct rows *rows)
{
	*printer = (struct printer){ .shell = shell, .rows = rows };
	table_init(&printer->table, rows, shell->null_text, &shell->cut, shell->has_headers);
	buf_init(&printer->line, TEXT_NO_CAP);
}

void printer_done(struct printer *printer)
{
	table_done(&printer->table);
	buf_done(&printer->line);
}

static void flush_line(struct printer *printer)
{
	(void)fwrite(buf_text(&printer->line), 1, printer->line.len, stdout);
	printer->line.len = 0;
}

static void begin_table(struct printer *printer, const struct value *next)
{
	const struct rows *rows = printer->rows;
	auto_free struct value *values = xcalloc(rows->column_count + 1, sizeof(*values));
	table_measure_kept(&printer->table);
	if (next)
		table_measure(&printer->table, next);
	table_write_head(&printer->table, &printer->line);
	for (size_t i = 0; i < rows->kept_count; i++) {
		rows_get(rows, i, values);
		table_write_row(&printer->table, &printer->line, values);
		flush_line(printer);
	}
	printer->has_begun = true;
}

static void put_csv(struct buf *line, const char *text, size_t len)
{
	if (!memchr(text, '"', len) && !memchr(text, ',', len) && !memchr(text, '\n', len) &&
		!memchr(text, '\r', len)) {
		text_put_bytes(line, text, len);
		return;
	}
	text_add(line, "\"");
	for (size_t i = 0; i < len; i++) {
		text_put_bytes(line, text + i, 1);
		if (text[i] == '"')
			text_add(line, "\"");
	}
	text_add(line, "\"");
}

/* In CSV NULL is an empty field, and an empty text is one in quotes. */
static void write_csv(struct printer *printer, const struct value *values)
{
	for (size_t i = 0; i < printer->rows->column_count; i++) {
		auto_buf struct buf text;
		buf_init(&text, TEXT_NO_CAP);
		value_write(&text, &values[i], "");
		text_add(&printer->line, i ? "," : "");
		if (values[i].kind == VALUE_TEXT && values[i].len == 0)
			text_add(&printer->line, "\"\"");
		else
			put_csv(&printer->line, buf_text(&text), text.len);
	}
	text_add(&printer->line, "\n");
}

static void write_json(struct printer *printer, const struct value *values)
{
	const struct rows *rows = printer->rows;
	text_add(&printer->line, printer->has_begun ? ",\n{" : "[{");
	for (size_t i = 0; i < rows->column_count; i++) {
		text_add(&printer->line, i ? "," : "");
		value_write_json_text(&printer->line, rows->names[i], strlen(rows->names[i]));
		text_add(&printer->line, ":");
		value_write_json(&printer->line, &values[i]);
	}
	text_add(&printer->line, "}");
}

static void write_fields(struct printer *printer, const struct value *values)
{
	const struct rows *rows = printer->rows;
	size_t width = 0;
	for (size_t i = 0; i < rows->column_count; i++) {
		size_t own = value_width(rows->names[i], strlen(rows->names[i]));
		width = own > width ? own : width;
	}
	text_add(&printer->line, printer->has_begun ? "\n" : "");
	for (size_t i = 0; i < rows->column_count; i++) {
		size_t own = value_width(rows->names[i], strlen(rows->names[i]));
		for (size_t k = own; k < width; k++)
			text_add(&printer->line, " ");
		text_add(&printer->line, rows->names[i]);
		text_add(&printer->line, " = ");
		value_write(&printer->line, &values[i], printer->shell->null_text);
		text_add(&printer->line, "\n");
	}
}

static void write_list(struct printer *printer, const struct value *values)
{
	for (size_t i = 0; i < printer->rows->column_count; i++) {
		text_add(&printer->line, i ? "|" : "");
		value_write(&printer->line, &values[i], printer->shell->null_text);
	}
	text_add(&printer->line, "\n");
}

static void write_names(struct printer *printer)
{
	const struct rows *rows = printer->rows;
	bool is_csv = printer->shell->mode == SHELL_CSV;
	bool is_list = printer->shell->mode == SHELL_LIST;
	if (!printer->shell->has_headers || printer->has_begun || !(is_csv || is_list))
		return;
	for (size_t i = 0; i < rows->column_count; i++) {
		text_add(&printer->line, i == 0 ? "" : is_csv ? "," : "|");
		if (is_csv)
			put_csv(&printer->line, rows->names[i], strlen(rows->names[i]));
		else
			text_add(&printer->line, rows->names[i]);
	}
	text_add(&printer->line, "\n");
}

static void write_table_row(struct printer *printer, const struct value *values, bool is_kept)
{
	if (is_kept)
		return; /* drawn when the columns are known */
	if (!printer->has_begun)
		begin_table(printer, values);
	table_write_row(&printer->table, &printer->line, values);
}

void printer_row(struct printer *printer, const struct value *values, bool is_kept)
{
	write_names(printer);
	switch (printer->shell->mode) {
	case SHELL_CSV:
		write_csv(printer, values);
		break;
	case SHELL_JSON:
		write_json(printer, values);
		break;
	case SHELL_LINE:
		write_fields(printer, values);
		break;
	case SHELL_LIST:
		write_list(printer, values);
		break;
	case SHELL_TABLE:
	case SHELL_MODE_COUNT:
		write_table_row(printer, values, is_kept);
		flush_line(printer);
		return;
	}
	printer->has_begun = true;
	flush_line(printer);
}

void printer_end(struct printer *printer, bool is_whole)
{
	write_names(printer);
	if (printer->shell->mode == SHELL_JSON)
		text_add(&printer->line, printer->has_begun ? "]\n" : "[]\n");
	if (printer->shell->mode == SHELL_TABLE) {
		if (!printer->has_begun && (is_whole || printer->rows->kept_count > 0))
			begin_table(printer, NULL);
		if (is_whole)
			table_write_foot(&printer->table, &printer->line);
	}
	flush_line(printer);
}
