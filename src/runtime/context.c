/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's line with two before and two after, numbered, marked, and with a caret:
 *
 *     2 | def share(total, people):
 *   > 3 |     return total / people
 *       |                  ^
 *     4 |
 *
 * Code is somebody else's text: tabs become spaces, so that the caret stands right, controls
 * become visible, and long lines are cut around the caret.
 */
#include "runtime/analysis.h"

#include <stdint.h>
#include <string.h>

#include "base/own.h"
#include "wire/utf8.h"

enum { AROUND = 2, TAB_WIDTH = 4, WIDTH_MAX = 160, WIDTH_LEFT = 100 };

/* Terminals give these two cells, or none. */
static const struct {
	uint32_t first, last;
	int width;
} widths[] = {
	{ 0x300, 0x36f, 0 },
	{ 0x1100, 0x115f, 2 },
	{ 0x200b, 0x200d, 0 },
	{ 0x2e80, 0xa4cf, 2 },
	{ 0xac00, 0xd7a3, 2 },
	{ 0xf900, 0xfaff, 2 },
	{ 0xfe00, 0xfe0f, 0 },
	{ 0xfe30, 0xfe6f, 2 },
	{ 0xff00, 0xff60, 2 },
	{ 0xffe0, 0xffe6, 2 },
	{ 0x1f300, 0x1faff, 2 },
	{ 0x20000, 0x3fffd, 2 },
};

static uint32_t decode(const char *at, size_t len)
{
	const unsigned char *byte = (const unsigned char *)at;
	uint32_t value = len == 1 ? byte[0] : byte[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++)
		value = value << 6 | (byte[i] & 0x3f);
	return value;
}

static int width_of(uint32_t character)
{
	for (size_t i = 0; i < COUNT_OF(widths); i++)
		if (character >= widths[i].first && character <= widths[i].last)
			return widths[i].width;
	return 1;
}

/* One character of the code, made printable. Returns how many bytes of the code it took. */
static size_t put_character(struct buf *text, struct span rest, int *width)
{
	int step = utf8_step(rest.at, rest.len);
	size_t len = step > 0 ? (size_t)step : 1;
	if (*rest.at == '\t') {
		int spaces = TAB_WIDTH - *width % TAB_WIDTH;
		(void)buf_printf(text, "%*s", spaces, "");
		*width += spaces;
	} else if (step <= 0 || (unsigned char)*rest.at < 0x20 || *rest.at == 0x7f) {
		(void)buf_append(text, "\xef\xbf\xbd", 3);
		*width += 1;
	} else {
		auto_free char *one = xstrndup(rest.at, len);
		char shown[16];
		(void)utf8_line(one, shown, sizeof(shown)); /* C1 and what reorders text */
		bool is_plain = strcmp(shown, one) == 0;
		(void)buf_append(text, shown, strlen(shown));
		*width += is_plain ? width_of(decode(rest.at, len)) : (int)strlen(shown);
	}
	return len;
}

/* The line from character `from` on, as far as WIDTH_MAX goes; *ret_caret is where character
 * `column` (from 1) stands. */
static char *show_line(struct span line, int64_t from, int64_t column, int *ret_caret)
{
	auto_buf struct buf text = { 0 };
	int width = 0;
	int64_t number = 1;
	buf_init(&text, WIDTH_MAX * 16);
	*ret_caret = -1;
	if (from > 1) {
		(void)buf_append(&text, "\xe2\x80\xa6", 3);
		width = 1;
	}
	for (size_t used = 0; used < line.len; number++) {
		struct span rest = { line.at + used, line.len - used };
		if (number < from) {
			int step = utf8_step(rest.at, rest.len);
			used += step > 0 ? (size_t)step : 1;
			continue;
		}
		if (number == column)
			*ret_caret = width;
		if (width >= WIDTH_MAX) {
			(void)buf_append(&text, "\xe2\x80\xa6", 3);
			break;
		}
		used += put_character(&text, rest, &width);
	}
	if (number == column) /* just past the end, where something is missing */
		*ret_caret = width;
	return xstrdup(buf_text(&text));
}

static int digits_of(int64_t number)
{
	int digits = 1;
	for (; number >= 10; number /= 10)
		digits++;
	return digits;
}

void context_fill(const struct analysis_input *input, struct failure *failure)
{
	int64_t line = failure->line;
	if (line < 1 || failure->context_count > 0 || !code_line(input, line).at)
		return;
	int digits = digits_of(line + AROUND);
	int64_t from = failure->column > WIDTH_LEFT ? failure->column - WIDTH_LEFT : 1;
	for (int64_t at = line > AROUND ? line - AROUND : 1; at <= line + AROUND; at++) {
		struct span source = code_line(input, at);
		int caret = -1;
		if (!source.at)
			break;
		bool is_it = at == line;
		auto_free char *text =
			show_line(source, is_it ? from : 1, is_it ? failure->column : 0, &caret);
		failure_add_context(failure, xasprintf("%c %*lld |%s%s", is_it ? '>' : ' ', digits,
						     (long long)at, *text ? " " : "", text));
		if (caret >= 0)
			failure_add_context(
				failure, xasprintf("  %*s | %*s^", digits, "", caret, ""));
	}
}
