/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/value.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/own.h"
#include "wire/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

enum { TAB_COLUMNS = 8, SHOWN_SIZE = 16 };

void text_put_bytes(struct buf *buf, const char *data, size_t len)
{
	if (buf_append(buf, data, len) < 0)
		buf->cap = buf->len; /* nothing fits any more, not even what is shorter */
}

void text_add(struct buf *buf, const char *text)
{
	text_put_bytes(buf, text, strlen(text));
}

bool text_is_over(const struct buf *buf)
{
	return buf->len == buf->cap;
}

void value_format_real(double real, char text[static REAL_SIZE])
{
	if (isinf(real) || isnan(real)) {
		const char *word = isnan(real) ? "NaN" : real < 0 ? "-Infinity" : "Infinity";
		(void)snprintf(text, REAL_SIZE, "%s", word);
		return;
	}
	int len = 0;
	for (int digits = 15; digits <= 17; digits++) {
		len = snprintf(text, REAL_SIZE, "%.*g", digits, real);
		if (strtod(text, NULL) == real)
			break;
	}
	if (!strpbrk(text, ".e"))
		(void)snprintf(text + len, (size_t)(REAL_SIZE - len), ".0");
}

bool value_is_number(const struct value *value)
{
	return value->kind == VALUE_INTEGER || value->kind == VALUE_REAL;
}

static void write_hex(struct buf *buf, const struct value *value)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < value->len; i++) {
		unsigned char byte = (unsigned char)value->data[i];
		const char pair[2] = { digits[byte >> 4], digits[byte & 15] };
		text_put_bytes(buf, pair, sizeof(pair));
	}
}

void value_write(struct buf *buf, const struct value *value, const char *null_text)
{
	if (value->kind == VALUE_NULL) {
		text_add(buf, null_text);
	} else if (value->kind == VALUE_BLOB) {
		text_add(buf, "\\x");
		write_hex(buf, value);
	} else {
		text_put_bytes(buf, value->data, value->len);
	}
}

static void write_json_char(struct buf *buf, const char *text, size_t len)
{
	unsigned char c = (unsigned char)*text;
	char escape[8];
	switch (c) {
	case '"':
		text_add(buf, "\\\"");
		break;
	case '\\':
		text_add(buf, "\\\\");
		break;
	case '\n':
		text_add(buf, "\\n");
		break;
	case '\t':
		text_add(buf, "\\t");
		break;
	default:
		(void)snprintf(escape, sizeof(escape), "\\u%04x", c);
		if (c < 0x20)
			text_add(buf, escape);
		else
			text_put_bytes(buf, text, len);
	}
}

static bool is_plain_json(char c)
{
	return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

void value_write_json_text(struct buf *buf, const char *text, size_t len)
{
	text_add(buf, "\"");
	for (size_t at = 0; at < len;) {
		size_t plain = at;
		while (plain < len && is_plain_json(text[plain]))
			plain++;
		text_put_bytes(buf, text + at, plain - at);
		at = plain;
		if (at == len)
			break;
		int step = utf8_step(text + at, len - at);
		if (step > 0)
			write_json_char(buf, text + at, (size_t)step);
		else
			text_add(buf, REPLACEMENT);
		at = step == 0 ? len : at + (size_t)abs(step);
	}
	text_add(buf, "\"");
}

void value_write_json(struct buf *buf, const struct value *value)
{
	char text[REAL_SIZE];
	switch (value->kind) {
	case VALUE_NULL:
		text_add(buf, "null");
		break;
	case VALUE_INTEGER:
		text_put_bytes(buf, value->data, value->len);
		break;
	case VALUE_REAL:
		value_format_real(value->real, text);
		if (isfinite(value->real))
			text_add(buf, text);
		else
			value_write_json_text(buf, text, strlen(text));
		break;
	case VALUE_TEXT:
		value_write_json_text(buf, value->data, value->len);
		break;
	case VALUE_BLOB:
		text_add(buf, "\"\\\\x");
		write_hex(buf, value);
		text_add(buf, "\"");
		break;
	}
}

static void write_sql_blob(struct buf *buf, const struct value *value)
{
	text_add(buf, "x'");
	write_hex(buf, value);
	text_add(buf, "'");
}

static void write_sql_text(struct buf *buf, const struct value *value)
{
	text_add(buf, "'");
	for (size_t at = 0; at < value->len;) {
		const char *quote = memchr(value->data + at, '\'', value->len - at);
		size_t end = quote ? (size_t)(quote - value->data) + 1 : value->len;
		text_put_bytes(buf, value->data + at, end - at);
		if (quote)
			text_add(buf, "'");
		at = end;
	}
	text_add(buf, "'");
}

void value_write_sql(struct buf *buf, const struct value *value)
{
	char text[REAL_SIZE];
	switch (value->kind) {
	case VALUE_NULL:
		text_add(buf, "NULL");
		break;
	case VALUE_INTEGER:
		text_put_bytes(buf, value->data, value->len);
		break;
	case VALUE_REAL:
		value_format_real(value->real, text);
		if (isinf(value->real))
			(void)snprintf(text, sizeof(text), value->real < 0 ? "-9e999" : "9e999");
		text_add(buf, text);
		break;
	case VALUE_BLOB:
		write_sql_blob(buf, value);
		break;
	case VALUE_TEXT:
		if (!memchr(value->data, '\0', value->len)) {
			write_sql_text(buf, value);
			break;
		}
		/* a statement's text ends at a NUL: only as bytes does it get through */
		text_add(buf, "CAST(");
		write_sql_blob(buf, value);
		text_add(buf, " AS TEXT)");
		break;
	}
}

static wchar_t decode(const char *text, int len)
{
	static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	wchar_t c = (unsigned char)text[0] & masks[len];
	for (int i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)text[i] & 0x3f);
	return c;
}

/* libc knows the widths of characters once it was told that they are Unicode's. That costs more
 * than most scripts, and most results are ASCII, so it waits for the first character that is not.
 */
static size_t char_width(const char *text, int len)
{
	static bool is_loaded;
	if (len == 1)
		return 1;
	if (!is_loaded)
		(void)setlocale(LC_CTYPE, "C.UTF-8");
	is_loaded = true;
	int width = wcwidth(decode(text, len));
	return width < 0 ? 1 : (size_t)width;
}

size_t value_width(const char *text, size_t len)
{
	size_t width = 0;
	for (size_t at = 0; at < len;) {
		int step = utf8_step(text + at, len - at);
		width += step > 0 ? char_width(text + at, step) : 1;
		at = step == 0 ? len : at + (size_t)abs(step);
	}
	return width;
}

/* Controls of ASCII, of Latin 1, and those that turn the direction of writing around. */
static bool is_control(wchar_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

/* One character as it will be shown on a line that already has `column` columns; its width. */
static size_t show_char(const char *text, size_t len, size_t column, char shown[static SHOWN_SIZE],
	size_t *ret_used)
{
	int step = utf8_step(text, len);
	*ret_used = step == 0 ? len : (size_t)abs(step);
	if (step <= 0) {
		(void)snprintf(shown, SHOWN_SIZE, REPLACEMENT);
		return 1;
	}
	wchar_t c = decode(text, step);
	if (c == '\t')
		return (size_t)snprintf(
			shown, SHOWN_SIZE, "%*s", (int)(TAB_COLUMNS - column % TAB_COLUMNS), "");
	if (c == '\r')
		return (size_t)snprintf(shown, SHOWN_SIZE, "\\r");
	if (is_control(c))
		return (size_t)snprintf(
			shown, SHOWN_SIZE, c < 0x100 ? "\\x%02X" : "\\u%04X", (unsigned int)c);
	(void)snprintf(shown, SHOWN_SIZE, "%.*s", step, text);
	return char_width(text, step);
}

/* One line, up to and without its newline; the last column is the mark's when it is cut. */
static bool write_line(struct buf *buf, const char *text, size_t len, size_t columns)
{
	size_t column = 0;
	for (size_t at = 0; at < len;) {
		char shown[SHOWN_SIZE];
		size_t used = 1;
		size_t width = show_char(text + at, len - at, column, shown, &used);
		bool is_last = at + used == len;
		if (columns > 0 && column + width + !is_last > columns) {
			text_add(buf, "…");
			return true;
		}
		text_add(buf, shown);
		column += width;
		at += used;
	}
	return false;
}

static bool write_lines(struct buf *buf, const char *text, size_t len, const struct cut *cut)
{
	bool is_cut = false;
	for (size_t at = 0, lines = 1;; lines++) {
		const char *newline = at < len ? memchr(text + at, '\n', len - at) : NULL;
		size_t end = newline ? (size_t)(newline - text) : len;
		is_cut |= write_line(buf, text + at, end - at, cut->columns);
		if (!newline)
			return is_cut;
		if (cut->columns > 0 && lines == cut->lines) {
			text_add(buf, "…");
			return true;
		}
		text_add(buf, "\n");
		at = end + 1;
	}
}

void value_write_cell(struct buf *buf, const struct value *value, const char *null_text,
	const struct cut *cut, bool *ret_is_cut)
{
	auto_buf struct buf text;
	struct value part = *value;
	buf_init(&text, TEXT_NO_CAP);
	/* of a blob no more than will be seen is turned into digits */
	if (value->kind == VALUE_BLOB && cut->columns > 0 && part.len > cut->columns)
		part.len = cut->columns;
	if (value->kind != VALUE_TEXT) {
		value_write(&text, &part, null_text);
		part.data = buf_text(&text);
		part.len = text.len;
	}
	if (write_lines(buf, part.data, part.len, cut))
		*ret_is_cut = true;
}
