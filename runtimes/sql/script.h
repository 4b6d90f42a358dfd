/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A script is SQL statements and lines of commands, one after the other. SQLite itself finds the
 * end of a statement only when it understands it; here the end is found by the shape of the text
 * alone, so that a statement with an error can be shown, and passed over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct script {
	const char *name; /* as messages call it */
	const char *text;
	size_t len;
	size_t at; /* how far it was read */
};

enum piece_kind {
	PIECE_NONE = 0,
	PIECE_SQL,     /* one statement, without its final semicolon */
	PIECE_COMMAND, /* ".tables", "\dt": to the end of its line */
};

struct piece {
	enum piece_kind kind;
	size_t start;
	size_t len;
};

/* The next piece; false at the end. */
bool script_next(struct script *script, struct piece *ret_piece);

/* Where an offset is, as an editor counts: from 1, columns in characters. */
struct place {
	int64_t line;
	int64_t column;
	size_t line_start;
	size_t line_len;
};

void script_place(const struct script *script, size_t offset, struct place *ret_place);

enum token_kind {
	TOKEN_NONE = 0,
	TOKEN_SPACE, /* blanks and comments */
	TOKEN_WORD,  /* a keyword or a plain identifier */
	TOKEN_QUOTED,
	TOKEN_SEMICOLON,
	TOKEN_OTHER,
};

struct token {
	enum token_kind kind;
	size_t start;
	size_t len;
};

/* The token at `at`; its kind is TOKEN_NONE at the end of the text. */
struct token token_at(const char *text, size_t len, size_t at);

bool token_is(const char *text, const struct token *token, const char *word);

/* The next token at or after *at that is no space; moves *at behind it. */
struct token token_next(const char *text, size_t len, size_t *at);
