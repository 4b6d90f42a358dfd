/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/rows.h"

#include <string.h>

#include "base/own.h"

struct kept {
	struct value value; /* without data: that lies at `at` */
	size_t at;
};

void rows_init(struct rows *rows)
{
	*rows = (struct rows){ 0 };
	buf_init(&rows->bytes, ROWS_KEPT_BYTES);
}

void rows_done(struct rows *rows)
{
	for (size_t i = 0; i < rows->column_count; i++)
		free(rows->names[i]);
	free((void *)rows->names);
	free(rows->cells);
	buf_done(&rows->bytes);
	*rows = (struct rows){ 0 };
}

void rows_add_column(struct rows *rows, const char *name)
{
	rows->names = xrealloc((void *)rows->names, rows->column_count + 1, sizeof(*rows->names));
	rows->names[rows->column_count++] = xstrdup(name);
}

static bool has_room(const struct rows *rows, const struct value *values)
{
	size_t bytes = rows->bytes.len;
	if (rows->is_full || rows->kept_count == ROWS_KEPT_MAX)
		return false;
	/* wide rows of numbers have a weight, too */
	if ((rows->kept_count + 1) * rows->column_count * sizeof(struct kept) > 8 * ROWS_KEPT_BYTES)
		return false;
	for (size_t i = 0; i < rows->column_count; i++) {
		if (values[i].len > ROWS_KEPT_BYTES - bytes)
			return false;
		bytes += values[i].len;
	}
	return true;
}

bool rows_add(struct rows *rows, const struct value *values)
{
	rows->total++;
	if (!has_room(rows, values)) {
		rows->is_full = true;
		return false;
	}
	size_t count = rows->kept_count * rows->column_count;
	bool is_grown = (rows->kept_count & (rows->kept_count - 1)) == 0;
	if (is_grown) {
		size_t room = rows->kept_count ? 2 * count : rows->column_count;
		rows->cells = xrealloc(rows->cells, room, sizeof(*rows->cells));
	}
	for (size_t i = 0; i < rows->column_count; i++) {
		rows->cells[count + i] = (struct kept){ values[i], rows->bytes.len };
		text_put_bytes(&rows->bytes, values[i].data, values[i].len);
	}
	rows->kept_count++;
	return true;
}

void rows_get(const struct rows *rows, size_t row, struct value *values)
{
	for (size_t i = 0; i < rows->column_count; i++) {
		const struct kept *kept = &rows->cells[row * rows->column_count + i];
		values[i] = kept->value;
		values[i].data = buf_text(&rows->bytes) + kept->at;
	}
}
