/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes from a cell made safe: valid UTF-8 for JSON, harmless text for a terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What starts at `data`: n > 0, a whole character of n bytes; 0, the beginning of one that needs
 * more bytes; n < 0, -n bytes that can never become a character. `len` is at least 1. */
int utf8_step(const char *data, size_t len);

/* Whether all of it is UTF-8; *ret_bad (may be NULL) is the offset of the first byte that is not.
 */
bool utf8_is_valid(const char *data, size_t len, size_t *ret_bad);

/* A copy with U+FFFD for what is not UTF-8. Owned by the caller, NUL-terminated. */
char *utf8_repair(const char *data, size_t len, size_t *ret_len);

/* The same for a stream that arrives in pieces: a character split over two pieces stays whole.
 * Starts as { 0 }. What push and end return is owned by the caller. */
struct utf8_stream {
	char carry[4];
	size_t carry_len;
};

char *utf8_stream_push(struct utf8_stream *stream, const char *data, size_t len, size_t *ret_len);
char *utf8_stream_end(struct utf8_stream *stream, size_t *ret_len);

enum { UTF8_SGR_MAX = 48 }; /* bytes of one colour sequence; longer ones are shown, not obeyed */

/* The same for a terminal: printable text, tab, newline, carriage return and colours pass; any
 * other control becomes visible (^[ for ESC, <U+009B> for C1 and for characters that reorder
 * text). Starts as { 0 }. The end switches colours off when the text left them on. */
struct utf8_visible {
	char carry[UTF8_SGR_MAX];
	size_t carry_len;
	bool is_coloured;
};

char *utf8_visible_push(struct utf8_visible *view, const char *data, size_t len, size_t *ret_len);
char *utf8_visible_end(struct utf8_visible *view, size_t *ret_len);

/* One line for an error message: controls shown, cut with "…" when `size` is too small (at least
 * 8). Returns `line`. */
const char *utf8_line(const char *text, char *line, size_t size);

/* Positions as people count them, in characters: where the one after so many begins, at most the
 * end of the text; and how many there are in so many bytes. */
size_t utf8_byte_at(const char *text, int64_t characters);
int64_t utf8_count(const char *text, size_t len);
