/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, from the bytes a terminal sends for them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* clang-format off */
enum key {
	KEY_NONE = 0,	/* nothing we know: ignored */
	KEY_TEXT, KEY_PASTE,	/* with text */
	KEY_ENTER, KEY_NEWLINE, KEY_TAB, KEY_BACK_TAB, KEY_ESCAPE,
	KEY_LEFT, KEY_RIGHT, KEY_UP, KEY_DOWN, KEY_WORD_LEFT, KEY_WORD_RIGHT,
	KEY_LINE_START, KEY_LINE_END, KEY_START, KEY_END, KEY_PREVIOUS, KEY_NEXT,
	KEY_ERASE, KEY_DELETE, KEY_ERASE_WORD, KEY_KILL_WORD, KEY_KILL_START, KEY_KILL_END,
	KEY_YANK, KEY_SWAP, KEY_UNDO, KEY_SEARCH, KEY_CLEAR,
	KEY_CANCEL, KEY_LEAVE, KEY_SUSPEND,
	KEY_COUNT,
};
/* clang-format on */

struct key_press {
	enum key key;
	const char *text; /* of KEY_TEXT and KEY_PASTE: within the bytes given */
	size_t len;
};

/* The first key of the bytes. Returns how many it took; 0: more must come first. When nothing more
 * comes (`is_whole`) it takes at least one. `len` is at least 1. */
size_t key_next(const char *bytes, size_t len, bool is_whole, struct key_press *ret_press);
