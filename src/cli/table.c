/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables that fit. Each column begins with the width its cells want. When the terminal is too
 * narrow the widest column gives way first, one column of the screen after the other, so that
 * narrow ones keep what they have; text gives way before numbers, since a cut number misleads. When
 * even that is not enough the columns on the right are left out. What is missing is told below.
 */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/view.h"

enum {
	GAP = 3,          /* " │ " */
	FLOOR = 8,        /* a column is not made narrower than this while others can give way */
	FRACTION_MAX = 6, /* digits behind the point of a long fraction */
	NUMBER_LEN = 14,  /* longer fractions are rounded */
	NUMBER_SIZE = 32,
	COLUMNS_READ = 1024, /* more cannot be on any screen */
};

enum cell_kind { CELL_EMPTY = 0, CELL_TEXT, CELL_NUMBER, CELL_WORD };

struct cell {
	enum cell_kind kind;
	const char *text; /* borrowed from the JSON, or `number` */
	size_t len;
	int fraction; /* columns behind and with the point */
	char number[NUMBER_SIZE];
};

struct column {
	int width;
	int fraction;   /* the longest */
	bool is_number; /* no cell is text */
	struct cell name;
	struct cell *cells; /* owned; one for each row shown */
};

struct table {
	struct column *columns; /* owned */
	size_t column_count, column_total;
	size_t row_count, row_given;
	int64_t row_total;
};

static void read_number(struct cell *cell, struct json_object *value)
{
	const char *text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
	(void)snprintf(cell->number, sizeof(cell->number), "%.31s", text);
	if (json_object_is_type(value, json_type_double) && strlen(text) > NUMBER_LEN)
		(void)snprintf(cell->number, sizeof(cell->number), "%.*g", FRACTION_MAX,
			json_object_get_double(value));
	cell->kind = CELL_NUMBER;
	cell->text = cell->number;
	cell->len = strlen(cell->number);
	const char *point = strchr(cell->number, '.');
	if (point && !strpbrk(cell->number, "eEnN"))
		cell->fraction = (int)strlen(point);
}

/* Reads a cell in place: its text may be its own `number`. */
static void read_cell(struct cell *cell, struct json_object *value)
{
	*cell = (struct cell){ 0 };
	switch (json_object_get_type(value)) {
	case json_type_int:
	case json_type_double:
		read_number(cell, value);
		return;
	case json_type_string:
		cell->kind = CELL_TEXT;
		cell->text = json_object_get_string(value);
		cell->len = (size_t)json_object_get_string_len(value);
		return;
	case json_type_null:
		cell->kind = CELL_WORD;
		cell->text = "null";
		cell->len = strlen(cell->text);
		return;
	default:
		cell->kind = json_object_is_type(value, json_type_boolean) ? CELL_WORD : CELL_TEXT;
		cell->text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
		cell->len = strlen(cell->text);
	}
}

/* Numbers of one column stand with their points below each other. */
static int tail_of(const struct column *column, const struct cell *cell)
{
	return cell->kind == CELL_NUMBER ? column->fraction - cell->fraction : 0;
}

static void measure(struct column *column, size_t row_count, int max_columns)
{
	column->width = text_put(NULL, column->name.text, column->name.len, max_columns);
	column->is_number = false;
	for (size_t i = 0; i < row_count; i++) {
		const struct cell *cell = &column->cells[i];
		if (cell->fraction > column->fraction)
			column->fraction = cell->fraction;
		column->is_number |= cell->kind == CELL_NUMBER;
	}
	for (size_t i = 0; i < row_count; i++) {
		const struct cell *cell = &column->cells[i];
		int width =
			text_put(NULL, cell->text, cell->len, max_columns) + tail_of(column, cell);
		column->is_number &= cell->kind != CELL_TEXT;
		if (width > column->width)
			column->width = width < max_columns ? width : max_columns;
	}
	if (column->width == 0)
		column->width = 1;
}

static bool read_table(struct table *table, struct json_object *json, size_t max_rows, int width)
{
	struct json_object *names, *rows, *total;
	if (!json_object_object_get_ex(json, "columns", &names) ||
		!json_object_object_get_ex(json, "rows", &rows) ||
		!json_object_is_type(names, json_type_array) ||
		!json_object_is_type(rows, json_type_array) || json_object_array_length(names) == 0)
		return false;
	table->column_total = json_object_array_length(names);
	table->column_count =
		table->column_total < COLUMNS_READ ? table->column_total : COLUMNS_READ;
	table->row_given = json_object_array_length(rows);
	table->row_total = (int64_t)table->row_given;
	if (json_object_object_get_ex(json, "total_rows", &total) &&
		json_object_is_type(total, json_type_int) &&
		json_object_get_int64(total) > table->row_total)
		table->row_total = json_object_get_int64(total);
	table->row_count = table->row_given < max_rows ? table->row_given : max_rows;
	table->columns = xcalloc(table->column_count, sizeof(*table->columns));
	for (size_t i = 0; i < table->column_count; i++) {
		struct column *column = &table->columns[i];
		read_cell(&column->name, json_object_array_get_idx(names, i));
		column->cells = xcalloc(table->row_count + 1, sizeof(*column->cells));
		for (size_t k = 0; k < table->row_count; k++) {
			struct json_object *row = json_object_array_get_idx(rows, k);
			if (json_object_is_type(row, json_type_array) &&
				i < json_object_array_length(row))
				read_cell(&column->cells[k], json_object_array_get_idx(row, i));
			else
				column->cells[k] = (struct cell){ .text = "" };
		}
		measure(column, table->row_count, width);
	}
	return true;
}

static int floor_of(const struct column *column)
{
	return column->width < FLOOR ? column->width : FLOOR;
}

/* How many columns there is room for, each at its floor. */
static void drop_columns(struct table *table, int width)
{
	int used = 1 - GAP;
	size_t count = 0;
	while (count < table->column_count) {
		int mark = count + 1 < table->column_total ? GAP + 1 : 0; /* "│ …" */
		int next = used + GAP + floor_of(&table->columns[count]);
		if (count > 0 && next + mark > width)
			break;
		used = next;
		count++;
	}
	for (size_t i = count; i < table->column_count; i++)
		free(table->columns[i].cells);
	table->column_count = count;
}

static int row_width(const struct table *table)
{
	int width = 1 - GAP;
	for (size_t i = 0; i < table->column_count; i++)
		width += GAP + table->columns[i].width;
	return width + (table->column_count < table->column_total ? GAP + 1 : 0);
}

/* The widest column that may give way; numbers only when no text can. */
static struct column *pick_widest(struct table *table, bool with_numbers, int floor)
{
	struct column *widest = NULL;
	for (size_t i = 0; i < table->column_count; i++) {
		struct column *column = &table->columns[i];
		if (column->width > floor && (with_numbers || !column->is_number) &&
			(!widest || column->width > widest->width))
			widest = column;
	}
	return widest;
}

static void shrink(struct table *table, int width)
{
	for (int excess = row_width(table) - width; excess > 0; excess--) {
		struct column *column = pick_widest(table, false, FLOOR);
		if (!column)
			column = pick_widest(table, true, FLOOR);
		if (!column)
			column = pick_widest(table, true, 1);
		if (!column)
			return;
		column->width--;
	}
}

static void put_cell(struct buf *out, const struct column *column, const struct cell *cell,
	enum style style, const struct term *term, bool is_last)
{
	int tail = tail_of(column, cell);
	int width = text_put(NULL, cell->text, cell->len, column->width);
	if (width + tail > column->width)
		tail = column->width - width;
	int blanks = column->width - width - tail;
	if (column->is_number)
		text_pad(out, blanks);
	style_begin(out, term, style);
	(void)text_put(out, cell->text, cell->len, column->width);
	style_end(out, term, style);
	if (!is_last)
		text_pad(out, column->is_number ? tail : blanks + tail);
}

/* `row` of row_count is the line of names. */
static void put_row(struct buf *out, const struct table *table, size_t row, const struct term *term)
{
	bool is_cut = table->column_count < table->column_total;
	for (size_t i = 0; i < table->column_count; i++) {
		const struct column *column = &table->columns[i];
		bool is_name = row == table->row_count;
		const struct cell *cell = is_name ? &column->name : &column->cells[row];
		enum style style = is_name                   ? STYLE_BOLD
				   : cell->kind == CELL_WORD ? STYLE_DIM
							     : STYLE_NONE;
		(void)buf_append(out, " ", 1);
		put_cell(out, column, cell, style, term, i + 1 == table->column_count && !is_cut);
		if (i + 1 < table->column_count || is_cut) {
			style_begin(out, term, STYLE_DIM);
			(void)buf_printf(out, " │");
			style_end(out, term, STYLE_DIM);
		}
	}
	while (!is_cut && out->len > 0 && out->data[out->len - 1] == ' ')
		out->len--;
	(void)buf_printf(out, is_cut ? " …\n" : "\n");
}

static void put_rule(struct buf *out, const struct table *table, const struct term *term)
{
	bool is_cut = table->column_count < table->column_total;
	style_begin(out, term, STYLE_DIM);
	for (size_t i = 0; i < table->column_count; i++) {
		bool is_last = i + 1 == table->column_count && !is_cut;
		for (int k = 0; k < table->columns[i].width + (is_last ? 1 : 2); k++)
			(void)buf_printf(out, "─");
		(void)buf_printf(out, is_last ? "" : "┼");
	}
	(void)buf_printf(out, is_cut ? "──" : "");
	style_end(out, term, STYLE_DIM);
	(void)buf_append(out, "\n", 1);
}

/* One line on what is missing, and how to see it. */
static void put_rest(struct buf *out, const struct table *table, const struct term *term)
{
	int64_t missing = table->row_total - (int64_t)table->row_count;
	size_t hidden = table->column_total - table->column_count;
	if (missing == 0 && hidden == 0)
		return;
	style_begin(out, term, STYLE_DIM);
	(void)buf_printf(out, " …");
	if (missing > 0)
		(void)buf_printf(out, " %lld more row%s of %lld", (long long)missing,
			missing == 1 ? "" : "s", (long long)table->row_total);
	if (hidden > 0)
		(void)buf_printf(out, "%s %zu more column%s", missing > 0 ? " and" : "", hidden,
			hidden == 1 ? "" : "s");
	if (table->row_count < table->row_given)
		(void)buf_printf(out, "; --rows %zu shows %s", table->row_given,
			(int64_t)table->row_given < table->row_total ? "more" : "all rows");
	else if (missing > 0)
		(void)buf_printf(out, ", not sent by the program");
	if (hidden > 0)
		(void)buf_printf(out, "; --json has all columns");
	style_end(out, term, STYLE_DIM);
	(void)buf_append(out, "\n", 1);
}

static void table_done(struct table *table)
{
	for (size_t i = 0; i < table->column_count; i++)
		free(table->columns[i].cells);
	free(table->columns);
}

bool table_put(struct buf *out, struct json_object *json, const struct term *term, size_t max_rows)
{
	struct table table = { 0 };
	if (!read_table(&table, json, max_rows, term->columns))
		return false;
	drop_columns(&table, term->columns);
	shrink(&table, term->columns);
	put_row(out, &table, table.row_count, term);
	put_rule(out, &table, term);
	for (size_t i = 0; i < table.row_count; i++)
		put_row(out, &table, i, term);
	put_rest(out, &table, term);
	table_done(&table);
	return true;
}
