/* SPDX-License-Identifier: Apache-2.0 */
/* Text under a cursor: what an editor does to it, without a terminal. Any number of lines, always
 * UTF-8, the cursor always between two characters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { EDIT_BYTES_MAX = 1 << 20, EDIT_STEPS_MAX = 100 };

enum edit_move {
	MOVE_NONE = 0,
	MOVE_LEFT,
	MOVE_RIGHT,
	MOVE_WORD_LEFT,
	MOVE_WORD_RIGHT,
	MOVE_LINE_START,
	MOVE_LINE_END,
	MOVE_UP,
	MOVE_DOWN,
	MOVE_START,
	MOVE_END,
	MOVE_COUNT,
};

/* How it was before a change. */
struct edit_step {
	char *text; /* owned */
	size_t cursor;
};

struct edit {
	struct buf text;
	size_t cursor;
	char *killed; /* owned; what edit_kill() took last, or NULL */
	struct edit_step steps[EDIT_STEPS_MAX];
	size_t step_count;
	bool is_typing; /* the last change was a letter of a word: the next one joins it */
};

void edit_init(struct edit *edit);
void edit_done(struct edit *edit);

/* Replaces all of it; the cursor goes to the end. What was killed stays. */
void edit_set(struct edit *edit, const char *text, size_t len);

/* At the cursor. What is not UTF-8 is repaired, control characters but tab and newline are left
 * out, and what does not fit is refused: false. */
bool edit_insert(struct edit *edit, const char *text, size_t len);

/* False when it is there already. */
bool edit_move(struct edit *edit, enum edit_move move);

/* Removes what lies between the cursor and where the move would lead. A kill is kept for
 * edit_yank(). */
bool edit_delete(struct edit *edit, enum edit_move move);
bool edit_kill(struct edit *edit, enum edit_move move);
void edit_yank(struct edit *edit);

/* Puts `text` in the place of the bytes from `start` to `end`. */
void edit_replace(struct edit *edit, size_t start, size_t end, const char *text);

/* Exchanges the two characters around the cursor. */
void edit_swap(struct edit *edit);

/* Takes the last change back. */
bool edit_undo(struct edit *edit);

/* The line the cursor is in, and how much of it is before the cursor. */
const char *edit_line(const struct edit *edit, size_t *ret_before);
