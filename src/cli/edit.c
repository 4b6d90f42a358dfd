/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/edit.h"

#include <ctype.h>
#include <string.h>

#include "base/own.h"
#include "wire/utf8.h"

void edit_init(struct edit *edit)
{
	*edit = (struct edit){ 0 };
	buf_init(&edit->text, EDIT_BYTES_MAX);
}

static void forget_steps(struct edit *edit)
{
	for (size_t i = 0; i < edit->step_count; i++)
		free(edit->steps[i].text);
	edit->step_count = 0;
	edit->is_typing = false;
}

void edit_done(struct edit *edit)
{
	forget_steps(edit);
	buf_done(&edit->text);
	free(edit->killed);
	edit->killed = NULL;
}

/* Remembers how it is, for edit_undo(); past the bound the oldest is forgotten. */
static void keep_step(struct edit *edit)
{
	if (edit->step_count == EDIT_STEPS_MAX) {
		free(edit->steps[0].text);
		memmove(edit->steps, edit->steps + 1,
			(EDIT_STEPS_MAX - 1) * sizeof(edit->steps[0]));
		edit->step_count--;
	}
	edit->steps[edit->step_count++] =
		(struct edit_step){ .text = xstrndup(buf_text(&edit->text), edit->text.len),
			.cursor = edit->cursor };
}

static void put_text(struct edit *edit, const char *text, size_t len)
{
	edit->text.len = 0;
	(void)buf_append(&edit->text, text, len);
}

void edit_set(struct edit *edit, const char *text, size_t len)
{
	forget_steps(edit);
	put_text(edit, "", 0);
	edit->cursor = 0;
	(void)edit_insert(edit, text, len);
	forget_steps(edit);
}

/* Bytes `start` to `end` become `text`. False: it would be too long. */
static bool splice(struct edit *edit, size_t start, size_t end, const char *text, size_t len)
{
	auto_free char *tail = xstrndup(buf_text(&edit->text) + end, edit->text.len - end);
	size_t tail_len = edit->text.len - end;
	if (edit->text.len - (end - start) + len > EDIT_BYTES_MAX)
		return false;
	edit->text.len = start;
	(void)buf_append(&edit->text, text, len);
	(void)buf_append(&edit->text, tail, tail_len);
	return true;
}

/* Line ends of any kind become newlines; other controls are left out. In place; the new length. */
static size_t clean(char *text, size_t len)
{
	size_t kept = 0;
	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)text[i];
		if (byte == '\r') {
			if (i + 1 < len && text[i + 1] == '\n')
				continue;
			byte = '\n';
		}
		if ((byte >= ' ' && byte != 0x7f) || byte == '\t' || byte == '\n')
			text[kept++] = (char)byte;
	}
	return kept;
}

bool edit_insert(struct edit *edit, const char *text, size_t len)
{
	size_t clean_len = 0;
	auto_free char *repaired = utf8_repair(text, len, &clean_len);
	clean_len = clean(repaired, clean_len);
	bool is_letter = clean_len > 0 && clean_len <= 4 && !isspace((unsigned char)repaired[0]);
	if (clean_len == 0 || edit->text.len + clean_len > EDIT_BYTES_MAX)
		return false;
	if (!is_letter || !edit->is_typing)
		keep_step(edit);
	(void)splice(edit, edit->cursor, edit->cursor, repaired, clean_len);
	edit->cursor += clean_len;
	edit->is_typing = is_letter;
	return true;
}

/* ---- moving -------------------------------------------------------------------------------------
 */

static size_t before(const char *text, size_t at)
{
	while (at > 0 && ((unsigned char)text[--at] & 0xc0) == 0x80)
		;
	return at;
}

static size_t after(const char *text, size_t len, size_t at)
{
	if (at < len)
		at++;
	while (at < len && ((unsigned char)text[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static bool is_word(char c)
{
	unsigned char byte = (unsigned char)c;
	return isalnum(byte) || byte == '_' || byte >= 0x80;
}

static size_t line_start(const char *text, size_t at)
{
	while (at > 0 && text[at - 1] != '\n')
		at--;
	return at;
}

static size_t line_end(const char *text, size_t len, size_t at)
{
	while (at < len && text[at] != '\n')
		at++;
	return at;
}

/* As many characters into the line at `start` as the cursor is into its own. */
static size_t same_column(const struct edit *edit, size_t start)
{
	const char *text = buf_text(&edit->text);
	size_t end = line_end(text, edit->text.len, start);
	size_t at = line_start(text, edit->cursor);
	while (at < edit->cursor && start < end) {
		at = after(text, edit->text.len, at);
		start = after(text, edit->text.len, start);
	}
	return start;
}

static size_t line_above(const struct edit *edit)
{
	const char *text = buf_text(&edit->text);
	size_t start = line_start(text, edit->cursor);
	return start == 0 ? edit->cursor : same_column(edit, line_start(text, start - 1));
}

static size_t line_below(const struct edit *edit)
{
	size_t end = line_end(buf_text(&edit->text), edit->text.len, edit->cursor);
	return end == edit->text.len ? edit->cursor : same_column(edit, end + 1);
}

static size_t word_left(const char *text, size_t at)
{
	while (at > 0 && !is_word(text[at - 1]))
		at--;
	while (at > 0 && is_word(text[at - 1]))
		at--;
	return at;
}

static size_t word_right(const char *text, size_t len, size_t at)
{
	while (at < len && !is_word(text[at]))
		at++;
	while (at < len && is_word(text[at]))
		at++;
	return at;
}

static size_t target(const struct edit *edit, enum edit_move move)
{
	const char *text = buf_text(&edit->text);
	size_t len = edit->text.len;
	switch (move) {
	case MOVE_LEFT:
		return before(text, edit->cursor);
	case MOVE_RIGHT:
		return after(text, len, edit->cursor);
	case MOVE_WORD_LEFT:
		return word_left(text, edit->cursor);
	case MOVE_WORD_RIGHT:
		return word_right(text, len, edit->cursor);
	case MOVE_LINE_START:
		return line_start(text, edit->cursor);
	case MOVE_LINE_END:
		return line_end(text, len, edit->cursor);
	case MOVE_UP:
		return line_above(edit);
	case MOVE_DOWN:
		return line_below(edit);
	case MOVE_START:
		return 0;
	case MOVE_END:
		return len;
	default:
		return edit->cursor;
	}
}

bool edit_move(struct edit *edit, enum edit_move move)
{
	size_t at = target(edit, move);
	bool has_moved = at != edit->cursor;
	edit->cursor = at;
	edit->is_typing = false;
	return has_moved;
}

/* ---- changing -----------------------------------------------------------------------------------
 */

/* What lies between the cursor and the move's target. */
static void range_of(
	const struct edit *edit, enum edit_move move, size_t *ret_start, size_t *ret_end)
{
	size_t at = target(edit, move);
	/* at the end of a line, the newline is what is there to remove */
	if (move == MOVE_LINE_END && at == edit->cursor)
		at = after(buf_text(&edit->text), edit->text.len, at);
	*ret_start = at < edit->cursor ? at : edit->cursor;
	*ret_end = at < edit->cursor ? edit->cursor : at;
}

bool edit_delete(struct edit *edit, enum edit_move move)
{
	size_t start = 0, end = 0;
	range_of(edit, move, &start, &end);
	if (start == end)
		return false;
	keep_step(edit);
	(void)splice(edit, start, end, "", 0);
	edit->cursor = start;
	edit->is_typing = false;
	return true;
}

bool edit_kill(struct edit *edit, enum edit_move move)
{
	size_t start = 0, end = 0;
	range_of(edit, move, &start, &end);
	if (start == end)
		return false;
	free(edit->killed);
	edit->killed = xstrndup(buf_text(&edit->text) + start, end - start);
	return edit_delete(edit, move);
}

void edit_yank(struct edit *edit)
{
	if (edit->killed)
		(void)edit_insert(edit, edit->killed, strlen(edit->killed));
}

void edit_replace(struct edit *edit, size_t start, size_t end, const char *text)
{
	size_t len = 0;
	if (start > end || end > edit->text.len)
		return;
	auto_free char *repaired = utf8_repair(text, strlen(text), &len);
	len = clean(repaired, len);
	keep_step(edit);
	if (splice(edit, start, end, repaired, len))
		edit->cursor = start + len;
	edit->is_typing = false;
}

void edit_swap(struct edit *edit)
{
	const char *text = buf_text(&edit->text);
	size_t middle = edit->cursor < edit->text.len && text[edit->cursor] != '\n'
				? edit->cursor
				: before(text, edit->cursor);
	size_t start = before(text, middle);
	size_t end = after(text, edit->text.len, middle);
	if (start == middle || middle == end || text[start] == '\n' || text[middle] == '\n')
		return;
	auto_free char *swapped = xasprintf("%.*s%.*s", (int)(end - middle), text + middle,
		(int)(middle - start), text + start);
	keep_step(edit);
	(void)splice(edit, start, end, swapped, end - start);
	edit->cursor = end;
	edit->is_typing = false;
}

bool edit_undo(struct edit *edit)
{
	if (edit->step_count == 0)
		return false;
	struct edit_step *step = &edit->steps[--edit->step_count];
	put_text(edit, step->text, strlen(step->text));
	edit->cursor = step->cursor;
	edit->is_typing = false;
	free(step->text);
	return true;
}

const char *edit_line(const struct edit *edit, size_t *ret_before)
{
	const char *text = buf_text(&edit->text);
	size_t start = line_start(text, edit->cursor);
	*ret_before = edit->cursor - start;
	return text + start;
}
