/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of text. libc's wcwidth() follows a locale that may not be installed; a table made from
 * Unicode's own data (tools/mkwidth) gives the same answer everywhere. Like every terminal we count
 * characters, not clusters: an emoji joined of several takes the columns of its parts.
 */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/term.h"
#include "wire/utf8.h"

struct range {
	uint32_t first, last;
};

/* clang-format off */
#define ZERO(first, last) { first, last },
#define WIDE(first, last)
static const struct range zero_ranges[] = {
#include "cli/width.def"
};
#undef ZERO
#undef WIDE
#define ZERO(first, last)
#define WIDE(first, last) { first, last },
static const struct range wide_ranges[] = {
#include "cli/width.def"
};
#undef ZERO
#undef WIDE
/* clang-format on */

static bool is_within(const struct range *ranges, size_t count, uint32_t character)
{
	size_t low = 0;
	while (low < count) {
		size_t middle = low + (count - low) / 2;
		if (character > ranges[middle].last)
			low = middle + 1;
		else if (character < ranges[middle].first)
			count = middle;
		else
			return true;
	}
	return false;
}

int width_of(uint32_t character)
{
	if (character < 0x300)
		return character == 0 ? 0 : 1;
	if (is_within(zero_ranges, COUNT_OF(zero_ranges), character))
		return 0;
	return is_within(wide_ranges, COUNT_OF(wide_ranges), character) ? 2 : 1;
}

static uint32_t decode(const char *data, int size)
{
	const uint8_t *byte = (const uint8_t *)data;
	if (size == 1)
		return byte[0];
	uint32_t character = byte[0] & (0x7fu >> size);
	for (int i = 1; i < size; i++)
		character = character << 6 | (byte[i] & 0x3f);
	return character;
}

/* Characters that move the cursor or reorder what is read. */
static bool is_control(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character <= 0x9f) ||
	       (character >= 0x202a && character <= 0x202e) ||
	       (character >= 0x2066 && character <= 0x2069) || character == 0x2028 ||
	       character == 0x2029;
}

enum { PIECE_SIZE = 16 };

/* What is shown for the character at `text`: in *ret_piece, with its columns. Returns the bytes it
 * stands for. */
static size_t next_piece(
	const char *text, size_t len, char piece[PIECE_SIZE], size_t *ret_len, int *ret_columns)
{
	int step = utf8_step(text, len);
	uint32_t character = step > 0 ? decode(text, step) : 0xfffd;
	int n = 0;
	*ret_columns = 1;
	if (step <= 0)
		n = snprintf(piece, PIECE_SIZE, "\xef\xbf\xbd");
	else if (character == '\n')
		n = snprintf(piece, PIECE_SIZE, "\xe2\x86\xb5"); /* ↵ */
	else if (character == '\t')
		n = snprintf(piece, PIECE_SIZE, " ");
	else if (character < 0x80 && is_control(character))
		n = *ret_columns = snprintf(piece, PIECE_SIZE, "^%c", (char)(character ^ 0x40));
	else if (is_control(character))
		n = *ret_columns = snprintf(piece, PIECE_SIZE, "<U+%04X>", (unsigned)character);
	if (n == 0) {
		memcpy(piece, text, (size_t)step);
		n = step;
		*ret_columns = width_of(character);
	}
	*ret_len = (size_t)n;
	return step > 0 ? (size_t)step : step < 0 ? (size_t)-step : len;
}

size_t text_fit(const char *text, size_t len, int max_columns, int *ret_columns)
{
	size_t at = 0;
	*ret_columns = 0;
	while (at < len) {
		char piece[PIECE_SIZE];
		size_t piece_len;
		int columns;
		size_t done = next_piece(text + at, len - at, piece, &piece_len, &columns);
		if (*ret_columns + columns > max_columns)
			break;
		*ret_columns += columns;
		at += done;
	}
	return at;
}

int text_put(struct buf *out, const char *text, size_t len, int max_columns)
{
	int used, columns;
	char piece[PIECE_SIZE];
	size_t piece_len;
	size_t fitting = text_fit(text, len, max_columns, &used);
	bool is_cut = fitting < len;
	if (is_cut)
		fitting = text_fit(text, len, max_columns - 1, &used);
	for (size_t at = 0; out && at < fitting;) {
		at += next_piece(text + at, fitting - at, piece, &piece_len, &columns);
		(void)buf_append(out, piece, piece_len);
	}
	if (!is_cut || max_columns < 1)
		return used;
	if (out)
		(void)buf_append(out, "\xe2\x80\xa6", 3); /* … */
	return used + 1;
}

void text_pad(struct buf *out, int count)
{
	for (; count > 0; count--)
		(void)buf_append(out, " ", 1);
}

const char *text_bytes(int64_t bytes, char *text, size_t size)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0;
	if (bytes < 1024) {
		(void)snprintf(text, size, "%lld byte%s", (long long)bytes, bytes == 1 ? "" : "s");
		return text;
	}
	int64_t tenths = bytes * 10 / 1024;
	while (tenths >= 10240 && unit + 1 < COUNT_OF(units)) {
		tenths /= 1024;
		unit++;
	}
	if (tenths < 100)
		(void)snprintf(text, size, "%lld.%lld %s", (long long)(tenths / 10),
			(long long)(tenths % 10), units[unit]);
	else
		(void)snprintf(text, size, "%lld %s", (long long)(tenths / 10), units[unit]);
	return text;
}
