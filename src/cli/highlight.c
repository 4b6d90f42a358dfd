/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code in colours: one scanner for all languages, and a small table for each, in
 * runtimes/NAME/highlight.json:
 *
 *   keywords, constants    words
 *   comments               marks of a comment up to the end of the line
 *   comments_after_blank   true: such a mark counts only where a word could begin ("$#" of shells)
 *   blocks                 pairs of marks around a comment that may go over lines
 *   strings, long_strings  marks that begin and end a string; long ones may go over lines
 *   escapes                false: a backslash in a string is a backslash
 *   letters                what else belongs to a word, besides letters, digits and "_"
 *   ignore_case            true: SELECT is select
 *
 * It sees words and marks, no grammar: a wrong guess is a wrong colour and never more.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "base/own.h"
#include "cli/view.h"
#include "model/limits.h"
#include "runtime/runtime.h"

enum { HIGHLIGHT_DEPTH = 4, HIGHLIGHT_ITEMS = 512, HIGHLIGHT_TEXT = 64 };

struct highlight {
	struct strings keywords, constants;
	struct strings comments;
	struct strings block_begins, block_ends;
	struct strings strings, long_strings;
	char *letters; /* owned; NULL: none */
	bool has_blank_before_comments, has_no_escapes, ignores_case;
};

/* ---- the table ---------------------------------------------------------------------------------
 */

static int check_mark(struct json_object *item, struct err *err)
{
	if (!json_object_is_type(item, json_type_string))
		return err_set(err, ERR_INVALID, "a mark or a word must be a string, not %s",
			json_kind(item));
	int len = json_object_get_string_len(item);
	if (len == 0 || len > HIGHLIGHT_TEXT)
		return err_set(err, ERR_INVALID, "a mark or a word must have 1 to %d bytes",
			HIGHLIGHT_TEXT);
	return 0;
}

static int read_mark(struct strings *list, struct json_object *item, struct err *err)
{
	TRY(check_mark(item, err));
	strings_add(list, json_object_get_string(item));
	return 0;
}

static int read_list(
	struct json_object *json, const char *name, struct strings *list, struct err *err)
{
	struct json_object *items;
	if (!json_object_object_get_ex(json, name, &items))
		return 0;
	if (!json_object_is_type(items, json_type_array) ||
		json_object_array_length(items) > HIGHLIGHT_ITEMS)
		return err_set(err, ERR_INVALID, "field '%s' must be an array of at most %d", name,
			HIGHLIGHT_ITEMS);
	for (size_t i = 0; i < json_object_array_length(items); i++)
		TRY(read_mark(list, json_object_array_get_idx(items, i), err));
	return 0;
}

static int read_blocks(struct json_object *json, struct highlight *highlight, struct err *err)
{
	struct json_object *pairs;
	if (!json_object_object_get_ex(json, "blocks", &pairs))
		return 0;
	if (!json_object_is_type(pairs, json_type_array) ||
		json_object_array_length(pairs) > HIGHLIGHT_ITEMS)
		return err_set(err, ERR_INVALID, "field 'blocks' must be an array of pairs");
	for (size_t i = 0; i < json_object_array_length(pairs); i++) {
		struct json_object *pair = json_object_array_get_idx(pairs, i);
		if (!json_object_is_type(pair, json_type_array) ||
			json_object_array_length(pair) != 2)
			return err_set(err, ERR_INVALID, "field 'blocks' must hold pairs");
		TRY(read_mark(&highlight->block_begins, json_object_array_get_idx(pair, 0), err));
		TRY(read_mark(&highlight->block_ends, json_object_array_get_idx(pair, 1), err));
	}
	return 0;
}

static bool read_flag(struct json_object *json, const char *name, bool otherwise)
{
	struct json_object *value;
	return json_object_object_get_ex(json, name, &value) ? json_object_get_boolean(value)
							     : otherwise;
}

static int read_highlight(struct json_object *json, struct highlight *highlight, struct err *err)
{
	struct json_object *letters;
	TRY(read_list(json, "keywords", &highlight->keywords, err));
	TRY(read_list(json, "constants", &highlight->constants, err));
	TRY(read_list(json, "comments", &highlight->comments, err));
	TRY(read_list(json, "strings", &highlight->strings, err));
	TRY(read_list(json, "long_strings", &highlight->long_strings, err));
	TRY(read_blocks(json, highlight, err));
	highlight->has_blank_before_comments = read_flag(json, "comments_after_blank", false);
	highlight->has_no_escapes = !read_flag(json, "escapes", true);
	highlight->ignores_case = read_flag(json, "ignore_case", false);
	if (!json_object_object_get_ex(json, "letters", &letters))
		return 0;
	TRY(check_mark(letters, err));
	highlight->letters = xstrdup(json_object_get_string(letters));
	return 0;
}

int highlight_from_json(
	const char *text, size_t len, struct highlight **ret_highlight, struct err *err)
{
	auto_json struct json_object *json = NULL;
	TRY(json_read(text, len, LIMIT_LANGUAGE_BYTES, HIGHLIGHT_DEPTH, &json, err));
	struct highlight *highlight = xcalloc(1, sizeof(*highlight));
	if (read_highlight(json, highlight, err) < 0) {
		highlight_free(highlight);
		return -1;
	}
	*ret_highlight = highlight;
	return 0;
}

void highlight_free(struct highlight *highlight)
{
	if (!highlight)
		return;
	strings_done(&highlight->keywords);
	strings_done(&highlight->constants);
	strings_done(&highlight->comments);
	strings_done(&highlight->block_begins);
	strings_done(&highlight->block_ends);
	strings_done(&highlight->strings);
	strings_done(&highlight->long_strings);
	free(highlight->letters);
	free(highlight);
}

/* A table that cannot be read costs the colours and nothing else. */
struct highlight *highlight_load(const char *name)
{
	struct err err = { 0 };
	struct language language;
	struct highlight *highlight = NULL;
	auto_buf struct buf text = { 0 };
	if (name[0] == '\0' || language_load_one(name, &language, &err) < 0)
		return NULL;
	auto_free char *path = xasprintf("%s/highlight.json", language.dir ? language.dir : "");
	language_done(&language);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	buf_init(&text, LIMIT_LANGUAGE_BYTES);
	if (fd < 0 || buf_read(&text, fd) < 0 ||
		highlight_from_json(buf_text(&text), text.len, &highlight, &err) < 0)
		return NULL;
	return highlight;
}

/* ---- the scanner -------------------------------------------------------------------------------
 */

/* The length of the mark of the list that stands at `text`, the longest one; 0: none. */
static size_t mark_at(const struct strings *marks, const char *text, size_t len, size_t *ret_index)
{
	size_t longest = 0;
	for (size_t i = 0; i < marks->count; i++) {
		size_t mark_len = strlen(marks->items[i]);
		if (mark_len > longest && mark_len <= len &&
			memcmp(text, marks->items[i], mark_len) == 0) {
			longest = mark_len;
			*ret_index = i;
		}
	}
	return longest;
}

static bool is_letter(const struct highlight *highlight, char c)
{
	unsigned char byte = (unsigned char)c;
	return isalnum(byte) || byte == '_' || byte >= 0x80 ||
	       (c != '\0' && highlight->letters && strchr(highlight->letters, c));
}

static bool has_word(const struct highlight *highlight, const struct strings *words,
	const char *text, size_t len)
{
	for (size_t i = 0; i < words->count; i++) {
		const char *word = words->items[i];
		if (strlen(word) == len &&
			(highlight->ignores_case ? strncasecmp(word, text, len) == 0
						 : memcmp(word, text, len) == 0))
			return true;
	}
	return false;
}

/* The end of a string or comment that began before `text`; all of it when the end is not here. */
static size_t inside(struct highlight_state *state, const char *text, size_t len)
{
	size_t end_len = strlen(state->end);
	for (size_t at = 0; at < len; at++) {
		if (state->has_escapes && text[at] == '\\') {
			at++;
			continue;
		}
		if (end_len <= len - at && memcmp(text + at, state->end, end_len) == 0) {
			state->end = NULL;
			return at + end_len;
		}
	}
	return len;
}

static size_t scan_string(const struct highlight *highlight, struct highlight_state *state,
	const char *text, size_t len)
{
	size_t i = 0, k = 0;
	size_t long_len = mark_at(&highlight->long_strings, text, len, &i);
	size_t short_len = mark_at(&highlight->strings, text, len, &k);
	size_t mark_len = long_len > short_len ? long_len : short_len;
	if (mark_len == 0)
		return 0;
	*state = (struct highlight_state){
		.end = long_len > short_len ? highlight->long_strings.items[i]
					    : highlight->strings.items[k],
		.style = STYLE_STRING,
		.has_escapes = !highlight->has_no_escapes,
	};
	size_t used = mark_len + inside(state, text + mark_len, len - mark_len);
	if (long_len <= short_len)
		state->end = NULL; /* ends with its line, whether it was closed or not */
	return used;
}

static size_t scan_comment(const struct highlight *highlight, struct highlight_state *state,
	const char *text, size_t len, bool is_after_blank)
{
	size_t i = 0, k = 0;
	size_t block_len = mark_at(&highlight->block_begins, text, len, &i);
	size_t line_len = mark_at(&highlight->comments, text, len, &k);
	if (highlight->has_blank_before_comments && !is_after_blank)
		line_len = 0;
	if (block_len > line_len) {
		*state = (struct highlight_state){ .end = highlight->block_ends.items[i],
			.style = STYLE_COMMENT };
		return block_len + inside(state, text + block_len, len - block_len);
	}
	return line_len > 0 ? len : 0;
}

static size_t scan_word(
	const struct highlight *highlight, const char *text, size_t len, enum style *ret_style)
{
	size_t used = 0;
	bool is_number = isdigit((unsigned char)text[0]);
	while (used < len && (is_letter(highlight, text[used]) || (is_number && text[used] == '.')))
		used++;
	if (is_number)
		*ret_style = STYLE_NUMBER;
	else if (has_word(highlight, &highlight->keywords, text, used))
		*ret_style = STYLE_KEYWORD;
	else if (has_word(highlight, &highlight->constants, text, used))
		*ret_style = STYLE_CONSTANT;
	return used;
}

/* The token at `text`: its length, at least 1, and its style. */
static size_t scan(const struct highlight *highlight, struct highlight_state *state,
	const char *text, size_t len, bool is_after_blank, enum style *ret_style)
{
	*ret_style = STYLE_NONE;
	if (state->end) {
		*ret_style = state->style;
		return inside(state, text, len);
	}
	size_t used = scan_comment(highlight, state, text, len, is_after_blank);
	if (used > 0) {
		*ret_style = STYLE_COMMENT;
		return used;
	}
	used = scan_string(highlight, state, text, len);
	if (used > 0) {
		*ret_style = STYLE_STRING;
		return used;
	}
	used = scan_word(highlight, text, len, ret_style);
	return used > 0 ? used : 1;
}

int highlight_put(struct buf *out, const struct highlight *highlight, struct highlight_state *state,
	const char *line, size_t len, const struct term *term, int max_columns)
{
	int columns = 0, used = 0;
	size_t fitting = text_fit(line, len, max_columns, &columns);
	if (!highlight || term->depth == DEPTH_NONE)
		return text_put(out, line, len, max_columns);
	if (fitting < len)
		fitting = text_fit(line, len, max_columns - 1, &columns);
	bool is_after_blank = true;
	for (size_t at = 0; at < len;) {
		enum style style;
		size_t n = scan(highlight, state, line + at, len - at, is_after_blank, &style);
		size_t shown = at >= fitting ? 0 : n < fitting - at ? n : fitting - at;
		if (shown > 0) {
			style_begin(out, term, style);
			used += text_put(out, line + at, shown, max_columns);
			style_end(out, term, style);
		}
		at += n;
		is_after_blank = strchr(" \t;|&()", line[at - 1]) != NULL;
	}
	if (fitting < len && max_columns > 0) {
		(void)buf_printf(out, "…");
		used++;
	}
	return used;
}
