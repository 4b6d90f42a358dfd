/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One value of a result, and the ways to write it. Writers append to a buffer and do not fail: a
 * buffer that came to its cap is closed there, and text_is_over() tells in the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum value_kind {
	VALUE_NULL = 0,
	VALUE_INTEGER,
	VALUE_REAL,
	VALUE_TEXT,
	VALUE_BLOB,
};

/* Borrowed: from SQLite until the next row, or from the rows that are kept. */
struct value {
	enum value_kind kind;
	const char *data; /* of numbers, their text as SQLite writes it */
	size_t len;
	double real;
};

#define TEXT_NO_CAP (SIZE_MAX / 2)

void text_add(struct buf *buf, const char *text);
void text_put_bytes(struct buf *buf, const char *data, size_t len);
bool text_is_over(const struct buf *buf);

enum { REAL_SIZE = 40 };

/* The shortest text of 15 to 17 digits that is read back as the same number; always with a point,
 * an exponent, or as "Infinity" and "-Infinity". */
void value_format_real(double real, char text[static REAL_SIZE]);

bool value_is_number(const struct value *value);

/* As a person reads it: blobs as \x68656c6c6f, NULL as `null_text`; bytes of text as they are. */
void value_write(struct buf *buf, const struct value *value, const char *null_text);

/* As JSON: numbers exact, blobs as text. What is not UTF-8 becomes U+FFFD. */
void value_write_json(struct buf *buf, const struct value *value);
void value_write_json_text(struct buf *buf, const char *text, size_t len);

/* As a literal of SQL that gives exactly this value. */
void value_write_sql(struct buf *buf, const struct value *value);

/* For one cell of a table: control characters shown, long lines and many lines cut with "…". */
struct cut {
	size_t columns; /* 0: nothing is cut */
	size_t lines;
};

void value_write_cell(struct buf *buf, const struct value *value, const char *null_text,
	const struct cut *cut, bool *ret_is_cut);

/* Columns a terminal needs for one line of UTF-8 text. */
size_t value_width(const char *text, size_t len);
