/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row is made for the screen, never left to the terminal to wrap: so it is known where the cursor
 * is, whatever the widths of characters and the terminal's habits at its right edge. Rows leave the
 * last column free, where terminals differ most.
 */
#include "cli/frame.h"

#include <stdint.h>
#include <string.h>

#include "base/own.h"
#include "wire/utf8.h"

enum {
	FRAME_BYTES_MAX = 16 << 20,
	WIDTH_MAX = 1 << 24, /* of a line before it is cut into rows */
	MENU_ROWS = 6,
	MENU_GAP = 2,
	MENU_WIDTH_MAX = 40,
	COLOUR_MAX = 16,
};

static void begin_row(struct frame *frame)
{
	frame->starts = xrealloc(frame->starts, frame->row_count + 2, sizeof(*frame->starts));
	frame->starts[frame->row_count++] = frame->bytes.len;
	frame->starts[frame->row_count] = frame->bytes.len;
}

static void end_row(struct frame *frame)
{
	frame->starts[frame->row_count] = frame->bytes.len;
}

/* A pen that writes a styled line into rows. */
struct pen {
	struct frame *frame;
	int column, right;
	int indent;              /* columns of the prompt, blank on rows that go on */
	char colour[COLOUR_MAX]; /* the sequence that is in force; empty: none */
};

static void wrap(struct pen *pen)
{
	if (pen->colour[0])
		(void)buf_printf(&pen->frame->bytes, "\033[0m");
	end_row(pen->frame);
	begin_row(pen->frame);
	text_pad(&pen->frame->bytes, pen->indent);
	(void)buf_printf(&pen->frame->bytes, "%s", pen->colour);
	pen->column = pen->indent;
}

/* Our own colour sequences are the only controls in a styled line. */
static size_t take_colour(struct pen *pen, const char *text, size_t len)
{
	const char *end = memchr(text, 'm', len);
	size_t used = end ? (size_t)(end - text) + 1 : len;
	bool is_reset = used == 4 && memcmp(text, "\033[0m", 4) == 0;
	if (used < sizeof(pen->colour)) {
		memcpy(pen->colour, text, used);
		pen->colour[is_reset ? 0 : used] = '\0';
	}
	(void)buf_append(&pen->frame->bytes, text, used);
	return used;
}

static void place_cursor(struct pen *pen)
{
	pen->frame->cursor_row = pen->frame->row_count - 1;
	pen->frame->cursor_column = pen->column;
}

/* Writes a styled line. `cursor` is the column of the text before which the cursor stands; -1: it
 * is not in this line. */
static void write_line(struct pen *pen, const char *text, size_t len, int cursor)
{
	int column = 0;
	for (size_t at = 0; at < len;) {
		int width = 0;
		if (text[at] == '\033') {
			at += take_colour(pen, text + at, len - at);
			continue;
		}
		int step = utf8_step(text + at, len - at);
		size_t used = step > 0 ? (size_t)step : 1;
		(void)text_fit(text + at, used, 2, &width);
		if (pen->column + width > pen->right && pen->column > pen->indent)
			wrap(pen);
		if (column == cursor && width > 0)
			place_cursor(pen);
		(void)buf_append(&pen->frame->bytes, text + at, used);
		pen->column += width;
		column += width;
		at += used;
	}
	if (column == cursor) {
		if (pen->column + 1 > pen->right && pen->column > pen->indent)
			wrap(pen);
		place_cursor(pen);
	}
}

static void put_prompt(struct pen *pen, const struct frame_input *input, bool is_first)
{
	const char *prompt = is_first ? input->prompt.first : input->prompt.more;
	enum style style = is_first ? input->prompt.style : STYLE_DIM;
	begin_row(pen->frame);
	style_begin(&pen->frame->bytes, input->term, style);
	pen->column = text_put(&pen->frame->bytes, prompt, strlen(prompt), pen->right / 2);
	style_end(&pen->frame->bytes, input->term, style);
	pen->indent = pen->column;
	pen->colour[0] = '\0';
}

static void put_text(struct frame *frame, const struct frame_input *input)
{
	struct highlight_state state = { 0 };
	struct pen pen = { .frame = frame, .right = input->term->columns - 1 };
	for (size_t at = 0; at <= input->len;) {
		auto_buf struct buf styled = { 0 };
		const char *line = input->text + at;
		const char *end = memchr(line, '\n', input->len - at);
		size_t len = end ? (size_t)(end - line) : input->len - at;
		bool has_cursor = input->cursor >= at && input->cursor <= at + len;
		int cursor = -1;
		buf_init(&styled, FRAME_BYTES_MAX);
		put_prompt(&pen, input, at == 0);
		if (has_cursor)
			cursor = text_put(NULL, line, input->cursor - at, WIDTH_MAX);
		(void)highlight_put(
			&styled, input->highlight, &state, line, len, input->term, WIDTH_MAX);
		write_line(&pen, buf_text(&styled), styled.len, cursor);
		end_row(frame);
		at += len + 1;
	}
	frame->text_rows = frame->row_count;
}

/* ---- the menu -----------------------------------------------------------------------------------
 */

static const char *shown_part(const struct frame_menu *menu, size_t i)
{
	const char *match = menu->matches->items[i];
	return strlen(match) > menu->skipped ? match + menu->skipped : match;
}

static int widest(const struct frame_menu *menu)
{
	int most = 1;
	for (size_t i = 0; i < menu->matches->count; i++) {
		const char *part = shown_part(menu, i);
		int width = text_put(NULL, part, strlen(part), MENU_WIDTH_MAX);
		most = width > most ? width : most;
	}
	return most;
}

static void put_match(struct frame *frame, const struct frame_input *input, size_t i, int width)
{
	const char *part = shown_part(&input->menu, i);
	enum style style = i == input->menu.chosen ? STYLE_CHOSEN : STYLE_DIM;
	style_begin(&frame->bytes, input->term, style);
	int used = text_put(&frame->bytes, part, strlen(part), width);
	style_end(&frame->bytes, input->term, style);
	text_pad(&frame->bytes, width - used + MENU_GAP);
}

/* Rows of matches, down each column first; only the page that has the chosen one. */
static void put_menu(struct frame *frame, const struct frame_input *input)
{
	const struct frame_menu *menu = &input->menu;
	size_t count = menu->matches->count;
	int right = input->term->columns - 1;
	int width = widest(menu) < right - MENU_GAP ? widest(menu) : right - MENU_GAP;
	size_t across = (size_t)((right + MENU_GAP) / (width + MENU_GAP));
	across = across > 0 ? across : 1;
	size_t page_len = across * MENU_ROWS;
	size_t first = menu->chosen < count ? menu->chosen / page_len * page_len : 0;
	size_t page = count - first < page_len ? count - first : page_len;
	size_t down = (page + across - 1) / across;
	for (size_t row = 0; row < down; row++) {
		begin_row(frame);
		for (size_t i = row; i < page; i += down)
			put_match(frame, input, first + i, width);
		end_row(frame);
	}
	if (page == count)
		return;
	begin_row(frame);
	style_begin(&frame->bytes, input->term, STYLE_DIM);
	auto_free char *note = xasprintf("%zu to %zu of %zu", first + 1, first + page, count);
	(void)text_put(&frame->bytes, note, strlen(note), right);
	style_end(&frame->bytes, input->term, STYLE_DIM);
	end_row(frame);
}

void frame_make(struct frame *frame, const struct frame_input *input)
{
	*frame = (struct frame){ 0 };
	buf_init(&frame->bytes, FRAME_BYTES_MAX);
	put_text(frame, input);
	if (input->menu.matches && input->menu.matches->count > 0)
		put_menu(frame, input);
}

void frame_done(struct frame *frame)
{
	buf_done(&frame->bytes);
	free(frame->starts);
	frame->starts = NULL;
}

void frame_window(const struct frame *frame, int rows, size_t *ret_first, size_t *ret_count)
{
	size_t room = rows > 1 ? (size_t)rows : 1;
	*ret_first = 0;
	*ret_count = frame->row_count;
	if (frame->row_count <= room)
		return;
	/* the end, unless the cursor is above it */
	*ret_first = frame->row_count - room;
	if (frame->cursor_row < *ret_first)
		*ret_first = frame->cursor_row;
	*ret_count = room;
}

void frame_put(struct buf *out, const struct frame *frame, size_t first, size_t count)
{
	for (size_t i = first; i < first + count && i < frame->row_count; i++) {
		(void)buf_append(out, frame->bytes.data + frame->starts[i],
			frame->starts[i + 1] - frame->starts[i]);
		(void)buf_printf(out, "\033[K%s", i + 1 < first + count ? "\r\n" : "");
	}
}
