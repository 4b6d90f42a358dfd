/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/script.h"

#include <string.h>
#include <strings.h>

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/* Every byte of a character beyond ASCII counts as a letter, as it does for SQLite. */
static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool is_quote(char c)
{
	return c == '\'' || c == '"' || c == '`' || c == '[';
}

static size_t space_end(const char *text, size_t len, size_t at)
{
	while (at < len) {
		const char *end = NULL;
		if (is_space(text[at])) {
			at++;
		} else if (len - at >= 2 && memcmp(text + at, "--", 2) == 0) {
			end = memchr(text + at, '\n', len - at);
			at = end ? (size_t)(end - text) + 1 : len;
		} else if (len - at >= 2 && memcmp(text + at, "/*", 2) == 0) {
			end = memmem(text + at + 2, len - at - 2, "*/", 2);
			at = end ? (size_t)(end - text) + 2 : len;
		} else {
			break;
		}
	}
	return at;
}

/* Behind the closing mark; a doubled one stands for itself. An open end takes all the rest. */
static size_t quote_end(const char *text, size_t len, size_t at)
{
	char close = text[at] == '[' ? ']' : text[at];
	bool is_doubled = close != ']';
	for (at++; at < len; at++) {
		if (text[at] != close)
			continue;
		if (!is_doubled || at + 1 >= len || text[at + 1] != close)
			return at + 1;
		at++;
	}
	return len;
}

struct token token_at(const char *text, size_t len, size_t at)
{
	struct token token = { .start = at };
	if (at >= len)
		return token;
	size_t end = space_end(text, len, at);
	if (end > at) {
		token.kind = TOKEN_SPACE;
	} else if (text[at] == ';') {
		token.kind = TOKEN_SEMICOLON;
		end = at + 1;
	} else if (is_quote(text[at])) {
		token.kind = TOKEN_QUOTED;
		end = quote_end(text, len, at);
	} else if (is_word(text[at])) {
		token.kind = TOKEN_WORD;
		while (end < len && is_word(text[end]))
			end++;
	} else {
		token.kind = TOKEN_OTHER;
		end = at + 1;
	}
	token.len = end - at;
	return token;
}

struct token token_next(const char *text, size_t len, size_t *at)
{
	struct token token = token_at(text, len, *at);
	if (token.kind == TOKEN_SPACE)
		token = token_at(text, len, token.start + token.len);
	*at = token.start + token.len;
	return token;
}

bool token_is(const char *text, const struct token *token, const char *word)
{
	return token->kind == TOKEN_WORD && token->len == strlen(word) &&
	       strncasecmp(text + token->start, word, token->len) == 0;
}

/* The body of a trigger holds semicolons of its own: it ends with "; END ;". */
enum state {
	STATE_START = 0,
	STATE_NORMAL,
	STATE_EXPLAIN,
	STATE_CREATE,
	STATE_TRIGGER,
	STATE_TRIGGER_SEMICOLON,
	STATE_TRIGGER_END,
};

static enum state step_word(enum state state, const char *text, const struct token *token)
{
	bool is_trigger = state >= STATE_TRIGGER;
	if (state == STATE_TRIGGER_SEMICOLON && token_is(text, token, "end"))
		return STATE_TRIGGER_END;
	if (is_trigger)
		return STATE_TRIGGER;
	if (state <= STATE_EXPLAIN && state != STATE_NORMAL && token_is(text, token, "create"))
		return STATE_CREATE;
	if (state == STATE_START && token_is(text, token, "explain"))
		return STATE_EXPLAIN;
	if (state == STATE_EXPLAIN &&
		(token_is(text, token, "query") || token_is(text, token, "plan")))
		return STATE_EXPLAIN;
	if (state != STATE_CREATE)
		return STATE_NORMAL;
	if (token_is(text, token, "trigger"))
		return STATE_TRIGGER;
	bool is_temporary = token_is(text, token, "temp") || token_is(text, token, "temporary");
	return is_temporary ? STATE_CREATE : STATE_NORMAL;
}

/* The offset of the semicolon that ends the statement at `at`, or the end of the text. */
static size_t statement_end(const char *text, size_t len, size_t at)
{
	enum state state = STATE_START;
	for (;;) {
		struct token token = token_next(text, len, &at);
		if (token.kind == TOKEN_NONE)
			return len;
		if (token.kind != TOKEN_SEMICOLON)
			state = step_word(state, text, &token);
		else if (state == STATE_TRIGGER || state == STATE_TRIGGER_SEMICOLON)
			state = STATE_TRIGGER_SEMICOLON;
		else
			return token.start;
	}
}

static void trim(const char *text, struct piece *piece)
{
	while (piece->len > 0 && is_space(text[piece->start + piece->len - 1]))
		piece->len--;
}

static size_t line_end(const char *text, size_t len, size_t at)
{
	const char *end = memchr(text + at, '\n', len - at);
	return end ? (size_t)(end - text) : len;
}

bool script_next(struct script *script, struct piece *ret_piece)
{
	const char *text = script->text;
	size_t at = script->at;
	struct token token = token_at(text, script->len, at);
	while (token.kind == TOKEN_SPACE || token.kind == TOKEN_SEMICOLON) {
		at = token.start + token.len;
		token = token_at(text, script->len, at);
	}
	struct piece piece = { .start = at };
	if (token.kind == TOKEN_NONE) {
		script->at = script->len;
		return false;
	}
	bool is_command = text[at] == '.' || text[at] == '\\';
	piece.kind = is_command ? PIECE_COMMAND : PIECE_SQL;
	size_t end =
		is_command ? line_end(text, script->len, at) : statement_end(text, script->len, at);
	piece.len = end - at;
	trim(text, &piece);
	script->at = end < script->len ? end + 1 : end;
	*ret_piece = piece;
	return true;
}

void script_place(const struct script *script, size_t offset, struct place *ret_place)
{
	struct place place = { .line = 1, .column = 1 };
	if (offset > script->len)
		offset = script->len;
	for (size_t i = 0; i < offset; i++) {
		if (script->text[i] == '\n') {
			place.line++;
			place.line_start = i + 1;
		}
	}
	for (size_t i = place.line_start; i < offset; i++)
		place.column += ((unsigned char)script->text[i] & 0xc0) != 0x80;
	place.line_len = line_end(script->text, script->len, place.line_start) - place.line_start;
	if (place.line_len > 0 && script->text[place.line_start + place.line_len - 1] == '\r')
		place.line_len--;
	*ret_place = place;
}
