/* SPDX-License-Identifier: Apache-2.0 */
/* What an edited text looks like: rows for the screen, in colours, no longer than it is wide. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cli/view.h"
#include "model/spec.h"

/* What stands before the first line and before each that follows; the same number of columns. */
struct frame_prompt {
	const char *first;
	const char *more;
	enum style style;
};

/* What could be put in at the cursor, shown below the text. */
struct frame_menu {
	const struct strings *matches; /* NULL: no menu */
	size_t chosen;                 /* SIZE_MAX: none */
	size_t skipped;                /* bytes all of them begin with, up to the last "." */
};

struct frame_input {
	const struct term *term;
	const struct highlight *highlight; /* NULL: one colour */
	struct frame_prompt prompt;
	const char *text;
	size_t len;
	size_t cursor;
	struct frame_menu menu;
};

struct frame {
	struct buf bytes;
	size_t *starts; /* owned; of each row in bytes, and the end of the last */
	size_t row_count;
	size_t cursor_row;
	int cursor_column;
	size_t text_rows; /* without those of the menu */
};

void frame_make(struct frame *frame, const struct frame_input *input);
void frame_done(struct frame *frame);

/* The rows of the frame that a screen of so many rows can show, the cursor's among them. */
void frame_window(const struct frame *frame, int rows, size_t *ret_first, size_t *ret_count);

/* What draws these rows where the cursor is at the beginning of the first of them. */
void frame_put(struct buf *out, const struct frame *frame, size_t first, size_t count);
