/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte says where the rest is cut: the pieces must give what the whole gives. */
#include "fuzz/fuzz.h"

#include "base/buf.h"
#include "base/own.h"
#include "wire/utf8.h"

enum { OUT_MAX = 64 << 20 };

/* Appends and frees `text`. */
static void collect(struct buf *all, char *text, size_t len)
{
	MUST(text[len] == '\0');
	MUST(buf_append(all, text, len) == 0);
	free(text);
}

static void repair_in_pieces(const char *data, size_t size, size_t piece, struct buf *all)
{
	struct utf8_stream stream = { 0 };
	size_t len;
	for (size_t at = 0; at < size; at += piece) {
		size_t part = size - at < piece ? size - at : piece;
		char *text = utf8_stream_push(&stream, data + at, part, &len);
		MUST(utf8_is_valid(text, len, NULL));
		collect(all, text, len);
	}
	char *text = utf8_stream_end(&stream, &len);
	collect(all, text, len);
}

static void show_in_pieces(const char *data, size_t size, size_t piece, struct buf *all)
{
	struct utf8_visible view = { 0 };
	size_t len;
	for (size_t at = 0; at < size; at += piece) {
		size_t part = size - at < piece ? size - at : piece;
		char *text = utf8_visible_push(&view, data + at, part, &len);
		collect(all, text, len);
	}
	char *text = utf8_visible_end(&view, &len);
	collect(all, text, len);
}

/* Nothing reaches a terminal but text, blanks and whole colour sequences. */
static void check_shown(const struct buf *shown)
{
	const char *text = buf_text(shown);
	MUST(utf8_is_valid(text, shown->len, NULL));
	for (size_t i = 0; i < shown->len; i++) {
		unsigned char byte = (unsigned char)text[i];
		MUST(byte != 0x7f);
		MUST(byte >= 0x20 || strchr("\n\t\r\033", byte));
		MUST(!(byte == 0xc2 && (unsigned char)text[i + 1] < 0xa0));
		if (byte != '\033')
			continue;
		MUST(text[i + 1] == '[');
		i += 2 + strspn(text + i + 2, "0123456789;");
		MUST(text[i] == 'm');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size == 0)
		return 0;
	const char *data = (const char *)bytes + 1;
	size_t piece = bytes[0] ? bytes[0] : 1;
	size--;
	auto_buf struct buf pieces = { 0 }, shown = { 0 }, shown_pieces = { 0 };
	buf_init(&pieces, OUT_MAX);
	buf_init(&shown, OUT_MAX);
	buf_init(&shown_pieces, OUT_MAX);

	size_t len;
	auto_free char *whole = utf8_repair(data, size, &len);
	repair_in_pieces(data, size, piece, &pieces);
	MUST(utf8_is_valid(whole, len, NULL));
	MUST(len == pieces.len && memcmp(whole, buf_text(&pieces), len) == 0);

	show_in_pieces(data, size, size ? size : 1, &shown);
	show_in_pieces(data, size, piece, &shown_pieces);
	check_shown(&shown);
	MUST(shown.len == shown_pieces.len);
	MUST(memcmp(buf_text(&shown), buf_text(&shown_pieces), shown.len) == 0);

	char line[24];
	(void)utf8_line(whole, line, sizeof(line));
	MUST(strlen(line) < sizeof(line) && utf8_is_valid(line, strlen(line), NULL));
	return 0;
}
