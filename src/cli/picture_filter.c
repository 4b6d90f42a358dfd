/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the picture program and the terminal. The program read hostile bytes, so what it says
 * may be anything; here it is copied only as far as it is a picture:
 *
 *   symbols   block elements, lines, blanks; colours; new lines
 *   sixel     one ESC P … q with numbers within reason and sixel data
 *   kitty     ESC _ G with pixels that come along (no file, no reply, no stored picture)
 *
 * Hiding and showing the cursor is dropped, as we do not need it. Anything else refuses the whole.
 */
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/own.h"
#include "cli/view.h"
#include "wire/utf8.h"

enum {
	SGR_MAX = 48,
	PIXELS_MAX = 8192, /* each way */
	SIXEL_LINES_MAX = PIXELS_MAX / 6,
	NUMBER_MAX = 65535,
	KITTY_HEAD_MAX = 128,
	KITTY_CHUNK_MAX = 4096,
	LINES_MAX = 256, /* of symbols */
};

struct reader {
	const char *data;
	size_t len, at;
	int lines, sixel_count;
	struct buf *out;
};

static size_t left(const struct reader *reader)
{
	return reader->len - reader->at;
}

static bool begins(const struct reader *reader, const char *with)
{
	size_t len = strlen(with);
	return left(reader) >= len && memcmp(reader->data + reader->at, with, len) == 0;
}

static bool copy(struct reader *reader, size_t len)
{
	if (buf_append(reader->out, reader->data + reader->at, len) < 0)
		return false;
	reader->at += len;
	return true;
}

static bool take_colour(struct reader *reader)
{
	const char *text = reader->data + reader->at;
	for (size_t i = 2; i < left(reader) && i < SGR_MAX; i++) {
		if (text[i] == 'm')
			return copy(reader, i + 1);
		if (text[i] != ';' && !isdigit((unsigned char)text[i]))
			return false;
	}
	return false;
}

/* Blanks, new lines, and the characters that chafa draws with; no letter, no digit, so that a
 * picture cannot speak. */
static bool is_symbol(const char *text, int size)
{
	const uint8_t *byte = (const uint8_t *)text;
	if (size == 1)
		return text[0] == ' ' || text[0] == '\n';
	if (size == 3) /* U+2500 to U+25FF, U+2800 to U+28FF */
		return byte[0] == 0xe2 && ((byte[1] >= 0x94 && byte[1] <= 0x97) ||
						  (byte[1] >= 0xa0 && byte[1] <= 0xa3));
	/* U+1FB00 to U+1FBFF */
	return size == 4 && byte[0] == 0xf0 && byte[1] == 0x9f && byte[2] >= 0xac &&
	       byte[2] <= 0xaf;
}

static bool take_symbol(struct reader *reader)
{
	const char *text = reader->data + reader->at;
	int step = utf8_step(text, left(reader));
	reader->lines += text[0] == '\n';
	return step > 0 && reader->lines <= LINES_MAX && is_symbol(text, step) &&
	       copy(reader, (size_t)step);
}

/* A number, and how it compares to what a picture can need. */
static bool skip_number(const char *text, size_t len, size_t *at)
{
	long number = 0;
	while (*at < len && isdigit((unsigned char)text[*at])) {
		number = number * 10 + (text[(*at)++] - '0');
		if (number > NUMBER_MAX)
			return false;
	}
	return true;
}

/* The data of a sixel picture: `!` repeats, `"` tells the size, `#` chooses a colour. */
static bool check_sixels(const char *text, size_t len)
{
	int lines = 0;
	for (size_t at = 0; at < len;) {
		char c = text[at++];
		if (isdigit((unsigned char)c)) {
			at--;
			if (!skip_number(text, len, &at))
				return false;
			continue;
		}
		if (c == '-' && ++lines > SIXEL_LINES_MAX)
			return false;
		if (c == '\0' || (!strchr("!\"#$-;\n", c) && (c < '?' || c > '~')))
			return false;
	}
	return true;
}

static bool take_sixel(struct reader *reader)
{
	const char *text = reader->data + reader->at;
	const char *end = memmem(text, left(reader), "\033\\", 2);
	if (!end || reader->sixel_count++ > 0)
		return false;
	size_t len = (size_t)(end - text);
	size_t at = 2;
	while (at < len && at < 16 && (isdigit((unsigned char)text[at]) || text[at] == ';'))
		at++;
	return at < len && text[at] == 'q' && check_sixels(text + at + 1, len - at - 1) &&
	       copy(reader, len + 2);
}

/* What may stand before the pixels, and its bounds. The size in characters is dropped: without it
 * the terminal shows pixel for pixel. */
/* clang-format off */
static const struct {
	const char *key;
	long min, max; /* numbers; a == 'T' */
	bool is_kept;
} kitty_keys[] = {
	{ "f=", 24, 32,         true },
	{ "s=", 1,  PIXELS_MAX, true },
	{ "v=", 1,  PIXELS_MAX, true },
	{ "m=", 0,  1,          true },
	{ "c=", 1,  PIXELS_MAX, false },
	{ "r=", 1,  PIXELS_MAX, false },
};
/* clang-format on */

static bool take_kitty_key(const char *word, size_t len, struct buf *head)
{
	const char *comma = head->len > 0 ? "," : "";
	if (len == 3 && memcmp(word, "a=T", 3) == 0)
		return buf_printf(head, "%sa=T,q=2", comma) == 0;
	for (size_t i = 0; i < COUNT_OF(kitty_keys); i++) {
		long number = 0;
		if (len < 3 || memcmp(word, kitty_keys[i].key, 2) != 0)
			continue;
		for (size_t k = 2; k < len; k++) {
			if (!isdigit((unsigned char)word[k]) || number > NUMBER_MAX)
				return false;
			number = number * 10 + (word[k] - '0');
		}
		if (number < kitty_keys[i].min || number > kitty_keys[i].max)
			return false;
		return !kitty_keys[i].is_kept ||
		       buf_printf(head, "%s%s%ld", comma, kitty_keys[i].key, number) == 0;
	}
	return false;
}

static bool take_kitty_head(const char *text, size_t len, struct buf *head)
{
	for (size_t at = 0; at < len;) {
		const char *comma = memchr(text + at, ',', len - at);
		size_t end = comma ? (size_t)(comma - text) : len;
		if (!take_kitty_key(text + at, end - at, head))
			return false;
		at = end + 1;
	}
	return len > 0;
}

static bool is_base64(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\0' ||
			(!isalnum((unsigned char)text[i]) && !strchr("+/=", text[i])))
			return false;
	}
	return true;
}

static bool take_kitty(struct reader *reader)
{
	auto_buf struct buf head = { 0 };
	const char *text = reader->data + reader->at + 3;
	const char *end = memmem(text, left(reader) - 3, "\033\\", 2);
	if (!end)
		return false;
	size_t len = (size_t)(end - text);
	const char *semicolon = memchr(text, ';', len);
	size_t head_len = semicolon ? (size_t)(semicolon - text) : len;
	size_t body_len = semicolon ? len - head_len - 1 : 0;
	buf_init(&head, KITTY_HEAD_MAX);
	if (!take_kitty_head(text, head_len, &head) || body_len > KITTY_CHUNK_MAX ||
		(semicolon && !is_base64(semicolon + 1, body_len)))
		return false;
	if (buf_printf(reader->out, "\033_G%s;%.*s\033\\", buf_text(&head), (int)body_len,
		    semicolon ? semicolon + 1 : "") < 0)
		return false;
	reader->at += 3 + len + 2;
	return true;
}

static bool take_next(struct reader *reader, enum term_pictures pictures)
{
	if (begins(reader, "\033[?25l") || begins(reader, "\033[?25h")) {
		reader->at += strlen("\033[?25l");
		return true;
	}
	if (begins(reader, "\033["))
		return take_colour(reader);
	if (begins(reader, "\033P"))
		return pictures == PICTURES_SIXEL && take_sixel(reader);
	if (begins(reader, "\033_G"))
		return pictures == PICTURES_KITTY && take_kitty(reader);
	return take_symbol(reader);
}

bool picture_filter(const char *data, size_t len, enum term_pictures pictures, struct buf *out)
{
	struct reader reader = { .data = data, .len = len, .out = out };
	while (left(&reader) > 0) {
		if (!take_next(&reader, pictures))
			return false;
	}
	return true;
}
