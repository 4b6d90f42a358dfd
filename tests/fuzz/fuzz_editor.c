/* SPDX-License-Identifier: Apache-2.0 */
/* What a terminal sends: keys are read from it, a text is changed by them, and rows are made for a
 * screen whose width is the first byte. */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "cli/edit.h"
#include "cli/frame.h"
#include "cli/keys.h"
#include "cli/magic.h"
#include "wire/utf8.h"

enum { KEYS_MAX = 2000, TEXT_MAX = 20000 };

static bool is_boundary(const struct edit *edit)
{
	return edit->cursor == edit->text.len ||
	       ((unsigned char)edit->text.data[edit->cursor] & 0xc0) != 0x80;
}

static void press(struct edit *edit, const struct key_press *press)
{
	if ((press->key == KEY_TEXT || press->key == KEY_PASTE) && edit->text.len < TEXT_MAX)
		(void)edit_insert(edit, press->text, press->len);
	else if (press->key == KEY_YANK && edit->text.len < TEXT_MAX)
		edit_yank(edit);
	else if (press->key == KEY_ENTER || press->key == KEY_NEWLINE)
		(void)edit_insert(edit, "\n", 1);
	else if (press->key == KEY_SWAP)
		edit_swap(edit);
	else if (press->key == KEY_UNDO)
		(void)edit_undo(edit);
	else if (press->key == KEY_TAB)
		edit_replace(edit, edit->cursor, edit->cursor, "ñ日");
	else if (press->key % 3 == 0)
		(void)edit_move(edit, (enum edit_move)(press->key % MOVE_COUNT));
	else if (press->key % 3 == 1)
		(void)edit_kill(edit, (enum edit_move)(press->key % MOVE_COUNT));
	else
		(void)edit_delete(edit, (enum edit_move)(press->key % MOVE_COUNT));
}

/* Every row fits, and the cursor is in one of them. */
static void check_frame(const struct edit *edit, int columns)
{
	struct frame frame;
	struct term term = { .columns = columns, .rows = 24 };
	struct frame_input input = { .term = &term,
		.prompt = { .first = "In [1]: ", .more = "   ...: " },
		.text = buf_text(&edit->text),
		.len = edit->text.len,
		.cursor = edit->cursor,
		.menu.chosen = SIZE_MAX };
	size_t first = 0, count = 0;
	frame_make(&frame, &input);
	MUST(frame.cursor_row < frame.row_count && frame.cursor_column < columns);
	for (size_t i = 0; i < frame.row_count; i++) {
		const char *row = frame.bytes.data + frame.starts[i];
		MUST(text_put(NULL, row, frame.starts[i + 1] - frame.starts[i], 1 << 20) < columns);
	}
	frame_window(&frame, 10, &first, &count);
	MUST(count > 0 && frame.cursor_row >= first && frame.cursor_row < first + count);
	frame_done(&frame);
}

static void check_words(const char *text)
{
	struct magic magic = { 0 };
	auto_free char *name = NULL;
	int detail = 0;
	(void)magic_is_question(text, &name, &detail);
	if (magic_parse(text, &magic))
		MUST(magic.name[0] != '\0');
	magic_done(&magic);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct edit edit;
	if (size < 2)
		return 0;
	int columns = 20 + data[0] % 200;
	const char *bytes = (const char *)data + 1;
	size_t len = size - 1;
	edit_init(&edit);
	for (int i = 0; len > 0 && i < KEYS_MAX; i++) {
		struct key_press key;
		size_t used = key_next(bytes, len, true, &key);
		MUST(used > 0 && used <= len && key.key < KEY_COUNT);
		press(&edit, &key);
		MUST(edit.cursor <= edit.text.len && is_boundary(&edit));
		bytes += used;
		len -= used;
	}
	MUST(utf8_is_valid(buf_text(&edit.text), edit.text.len, NULL));
	check_frame(&edit, columns);
	check_words(buf_text(&edit.text));
	edit_done(&edit);
	return 0;
}
