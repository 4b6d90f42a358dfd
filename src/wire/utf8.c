/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One decoder, utf8_step(), decides what is a character; repairing and showing are loops around
 * it. Ill-formed bytes are replaced by the Unicode rule of "maximal subparts", as Python and
 * browsers do, so that a repaired text has the same length everywhere. Both streams keep the
 * unfinished tail of a piece in `carry` and put it before the next piece.
 */
#include "wire/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"

static const char replacement[] = "\xef\xbf\xbd";

/* The bytes a lead byte promises, and the bounds of the byte after it (Unicode table 3-7). */
struct lead {
	uint8_t first, last; /* lead bytes of this row */
	uint8_t size;
	uint8_t low, high; /* second byte */
};

/* clang-format off */
static const struct lead leads[] = {
	{ 0xc2, 0xdf, 2, 0x80, 0xbf },
	{ 0xe0, 0xe0, 3, 0xa0, 0xbf },
	{ 0xe1, 0xec, 3, 0x80, 0xbf },
	{ 0xed, 0xed, 3, 0x80, 0x9f },	/* no surrogates */
	{ 0xee, 0xef, 3, 0x80, 0xbf },
	{ 0xf0, 0xf0, 4, 0x90, 0xbf },
	{ 0xf1, 0xf3, 4, 0x80, 0xbf },
	{ 0xf4, 0xf4, 4, 0x80, 0x8f },	/* nothing above U+10FFFF */
};
/* clang-format on */

int utf8_step(const char *data, size_t len)
{
	const uint8_t *byte = (const uint8_t *)data;
	if (byte[0] < 0x80)
		return 1;
	const struct lead *lead = NULL;
	for (size_t i = 0; i < COUNT_OF(leads) && !lead; i++) {
		if (byte[0] >= leads[i].first && byte[0] <= leads[i].last)
			lead = &leads[i];
	}
	if (!lead)
		return -1;
	for (int i = 1; i < lead->size; i++) {
		uint8_t low = i == 1 ? lead->low : 0x80;
		uint8_t high = i == 1 ? lead->high : 0xbf;
		if ((size_t)i >= len)
			return 0;
		if (byte[i] < low || byte[i] > high)
			return -i;
	}
	return lead->size;
}

/* Most text is ASCII, which eight bytes at once are seen to be. */
static size_t ascii_run(const char *data, size_t len)
{
	size_t at = 0;
	uint64_t bytes = 0;
	for (; len - at >= sizeof(bytes); at += sizeof(bytes)) {
		memcpy(&bytes, data + at, sizeof(bytes));
		if (bytes & UINT64_C(0x8080808080808080))
			break;
	}
	return at;
}

bool utf8_is_valid(const char *data, size_t len, size_t *ret_bad)
{
	size_t at = ascii_run(data, len);
	while (at < len) {
		int step = utf8_step(data + at, len - at);
		if (step <= 0) {
			if (ret_bad)
				*ret_bad = at;
			return false;
		}
		at += (size_t)step;
	}
	return true;
}

/* The length of the plain run at `data`: printable ASCII, tab and newline need no decision. */
static size_t plain_run(const char *data, size_t len)
{
	size_t at = 0;
	while (at < len) {
		uint8_t byte = (uint8_t)data[at];
		if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte >= 0x7f)
			break;
		at++;
	}
	return at;
}

static char *give(struct buf *out, size_t *ret_len)
{
	(void)buf_append(out, "", 0);
	if (ret_len)
		*ret_len = out->len;
	return take_ptr(&out->data);
}

/* Carry and new piece as one text, in `joined`. */
static void join(struct buf *joined, char *carry, size_t *carry_len, const char *data, size_t len)
{
	buf_init(joined, *carry_len + len);
	(void)buf_append(joined, carry, *carry_len);
	(void)buf_append(joined, data, len);
	*carry_len = 0;
}

char *utf8_stream_push(struct utf8_stream *stream, const char *data, size_t len, size_t *ret_len)
{
	auto_buf struct buf joined = { 0 };
	auto_buf struct buf out = { 0 };
	join(&joined, stream->carry, &stream->carry_len, data, len);
	buf_init(&out, joined.len * strlen(replacement));
	for (size_t at = 0; at < joined.len;) {
		const char *here = joined.data + at;
		size_t left = joined.len - at;
		size_t plain = plain_run(here, left);
		if (plain > 0) {
			(void)buf_append(&out, here, plain);
			at += plain;
			continue;
		}
		int step = utf8_step(here, left);
		if (step == 0) {
			memcpy(stream->carry, here, left);
			stream->carry_len = left;
			break;
		}
		if (step > 0)
			(void)buf_append(&out, here, (size_t)step);
		else
			(void)buf_append(&out, replacement, strlen(replacement));
		at += (size_t)(step > 0 ? step : -step);
	}
	return give(&out, ret_len);
}

char *utf8_stream_end(struct utf8_stream *stream, size_t *ret_len)
{
	auto_buf struct buf out = { 0 };
	buf_init(&out, strlen(replacement));
	if (stream->carry_len > 0)
		(void)buf_append(&out, replacement, strlen(replacement));
	stream->carry_len = 0;
	return give(&out, ret_len);
}

char *utf8_repair(const char *data, size_t len, size_t *ret_len)
{
	struct utf8_stream stream = { 0 };
	auto_buf struct buf out = { 0 };
	size_t body_len, tail_len;
	auto_free char *body = utf8_stream_push(&stream, data, len, &body_len);
	auto_free char *tail = utf8_stream_end(&stream, &tail_len);
	buf_init(&out, body_len + tail_len);
	(void)buf_append(&out, body, body_len);
	(void)buf_append(&out, tail, tail_len);
	return give(&out, ret_len);
}

/* The length of the colour sequence (ESC [ digits and ; m) at `data`, 0 when it needs more bytes,
 * -1 when it is something else. */
static int colour_step(const char *data, size_t len)
{
	if (len > 1 && data[1] != '[')
		return -1;
	for (size_t at = 2; at < len; at++) {
		if (at >= UTF8_SGR_MAX)
			return -1;
		if (data[at] == 'm')
			return (int)at + 1;
		if (data[at] != ';' && (data[at] < '0' || data[at] > '9'))
			return -1;
	}
	return len < UTF8_SGR_MAX ? 0 : -1;
}

/* Whether the sequence ends with every colour off: "ESC [ m", or a last number of 0. */
static bool is_colour_reset(const char *sequence, size_t len)
{
	size_t at = len - 1;
	while (at > 2 && sequence[at - 1] == '0')
		at--;
	return at == 2 || sequence[at - 1] == ';';
}

static uint32_t decode(const char *data, int size)
{
	const uint8_t *byte = (const uint8_t *)data;
	if (size == 1)
		return byte[0];
	uint32_t code = byte[0] & (0x7fu >> size);
	for (int i = 1; i < size; i++)
		code = code << 6 | (byte[i] & 0x3f);
	return code;
}

/* Characters that move the cursor or reorder what is read. */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f) ||
	       (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

static void show(struct buf *out, const char *data, int size)
{
	uint32_t code = decode(data, size);
	if (!is_control(code) || code == '\r' || code == '\n' || code == '\t')
		(void)buf_append(out, data, (size_t)size);
	else if (code < 0x80)
		(void)buf_printf(out, "^%c", (char)(code ^ 0x40));
	else
		(void)buf_printf(out, "<U+%04X>", (unsigned)code);
}

/* Shows what starts at `data` and returns its length, 0 when more bytes must come first. */
static size_t show_next(struct utf8_visible *view, struct buf *out, const char *data, size_t len)
{
	size_t plain = plain_run(data, len);
	if (plain > 0) {
		(void)buf_append(out, data, plain);
		return plain;
	}
	if (data[0] == '\033') {
		int colour = colour_step(data, len);
		if (colour > 0) {
			(void)buf_append(out, data, (size_t)colour);
			view->is_coloured = !is_colour_reset(data, (size_t)colour);
			return (size_t)colour;
		}
		if (colour == 0)
			return 0;
	}
	int step = utf8_step(data, len);
	if (step > 0)
		show(out, data, step);
	else if (step < 0)
		(void)buf_append(out, replacement, strlen(replacement));
	return (size_t)(step < 0 ? -step : step);
}

enum { SHOWN_GROWTH = 4 }; /* two bytes of C1 become eight */

char *utf8_visible_push(struct utf8_visible *view, const char *data, size_t len, size_t *ret_len)
{
	auto_buf struct buf joined = { 0 };
	auto_buf struct buf out = { 0 };
	join(&joined, view->carry, &view->carry_len, data, len);
	buf_init(&out, joined.len * SHOWN_GROWTH);
	for (size_t at = 0; at < joined.len;) {
		size_t done = show_next(view, &out, joined.data + at, joined.len - at);
		if (done == 0) {
			view->carry_len = joined.len - at;
			memcpy(view->carry, joined.data + at, view->carry_len);
			break;
		}
		at += done;
	}
	return give(&out, ret_len);
}

char *utf8_visible_end(struct utf8_visible *view, size_t *ret_len)
{
	auto_buf struct buf out = { 0 };
	buf_init(&out, sizeof(view->carry) * SHOWN_GROWTH);
	if (view->carry_len > 0 && view->carry[0] == '\033') {
		(void)buf_append(&out, "^[", 2);
		(void)buf_append(&out, view->carry + 1, view->carry_len - 1);
	} else if (view->carry_len > 0) {
		(void)buf_append(&out, replacement, strlen(replacement));
	}
	if (view->is_coloured)
		(void)buf_append(&out, "\033[0m", 4);
	*view = (struct utf8_visible){ 0 };
	return give(&out, ret_len);
}

/* The next piece of an error message's line; returns the bytes it stands for. */
static size_t line_piece(const char *text, size_t len, struct buf *piece)
{
	int step = utf8_step(text, len);
	uint8_t byte = (uint8_t)text[0];
	if (step <= 0)
		(void)buf_append(piece, replacement, strlen(replacement));
	else if (byte < 0x20 || byte == 0x7f)
		(void)buf_printf(piece, "^%c", (char)(byte ^ 0x40));
	else
		show(piece, text, step);
	if (step == 0)
		return len;
	return (size_t)(step < 0 ? -step : step);
}

const char *utf8_line(const char *text, char *line, size_t size)
{
	static const char cut[] = "\xe2\x80\xa6";
	size_t len = strlen(text), used = 0, cut_at = 0;
	while (len > 0) {
		auto_buf struct buf piece = { 0 };
		buf_init(&piece, 16);
		size_t done = line_piece(text, len, &piece);
		if (used + piece.len + 1 > size) {
			memcpy(line + cut_at, cut, sizeof(cut));
			return line;
		}
		memcpy(line + used, piece.data, piece.len);
		used += piece.len;
		if (used + sizeof(cut) <= size)
			cut_at = used;
		text += done;
		len -= done;
	}
	line[used] = '\0';
	return line;
}

static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t utf8_byte_at(const char *text, int64_t characters)
{
	size_t at = 0;
	for (; text[at] != '\0'; at++)
		if (!is_continuation(text[at]) && characters-- <= 0)
			break;
	return at;
}

int64_t utf8_count(const char *text, size_t len)
{
	int64_t count = 0;
	for (size_t i = 0; i < len; i++)
		count += !is_continuation(text[i]);
	return count;
}
