/* SPDX-License-Identifier: Apache-2.0 */
/* What the terminal can do, and text that is measured and made safe for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum colour_wish { COLOUR_AUTO = 0, COLOUR_ALWAYS, COLOUR_NEVER, COLOUR_WISH_COUNT };

extern const char *const colour_wish_names[COLOUR_WISH_COUNT];

enum term_depth { DEPTH_NONE = 0, DEPTH_16, DEPTH_256, DEPTH_FULL };

enum term_pictures { PICTURES_NONE = 0, PICTURES_SYMBOLS, PICTURES_SIXEL, PICTURES_KITTY };

struct term {
	int fd;
	bool is_rich;          /* tables, values and context are shown at all */
	bool is_terminal;      /* and somebody really looks at it */
	bool is_dumb;          /* its cursor cannot be moved */
	enum term_depth depth; /* DEPTH_NONE: no escape sequence of ours */
	int columns, rows;
	int cell_width, cell_height; /* pixels of one character, or a guess */
	bool has_asked;              /* `pictures` is known */
	enum term_pictures pictures;
};

/* Looks at `fd` and the environment. --color always makes any descriptor rich. */
void term_look(struct term *term, int fd, enum colour_wish wish);

/* Its size, which may have changed. */
void term_measure(struct term *term);

/* How pictures can be shown: from the environment or, when that does not tell, by asking the
 * terminal once and waiting a moment for its answer. */
enum term_pictures term_pictures(struct term *term);

/* Whether this answer to the questions "can you kitty?" and "what are you?" is whole, and what it
 * says. */
bool term_read_answer(const char *text, size_t len, enum term_pictures *ret_pictures);

/* clang-format off */
enum style {
	STYLE_NONE = 0,
	STYLE_BOLD, STYLE_DIM, STYLE_ERROR, STYLE_HINT, STYLE_LINK, STYLE_OUT,	/* our own words */
	STYLE_KEYWORD, STYLE_CONSTANT, STYLE_STRING, STYLE_NUMBER, STYLE_COMMENT, /* code and JSON */
	STYLE_KEY,
	STYLE_CHOSEN,	/* of several */
	STYLE_COUNT,
};
/* clang-format on */

/* Begins and ends a style; nothing on a terminal without colours. */
void style_begin(struct buf *out, const struct term *term, enum style style);
void style_end(struct buf *out, const struct term *term, enum style style);

/* Columns that one character takes: 0, 1 or 2. */
int width_of(uint32_t character);

/* Foreign text for one line: controls, newlines among them, become visible, broken UTF-8 becomes
 * U+FFFD, what is past `max_columns` becomes "…". Returns the columns used. `out` may be NULL, to
 * measure. */
int text_put(struct buf *out, const char *text, size_t len, int max_columns);

/* The same without "…": how many bytes of `text` fit into the columns. */
size_t text_fit(const char *text, size_t len, int max_columns, int *ret_columns);

/* "412 bytes", "12 KiB", "3.4 MiB". Returns `text`. */
const char *text_bytes(int64_t bytes, char *text, size_t size);

/* `count` blanks. */
void text_pad(struct buf *out, int count);
