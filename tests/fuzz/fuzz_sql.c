/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A script falls into pieces that lie in it one behind the other; every number is read back as
 * itself; a cell of a table is whole UTF-8 without a control character, and no wider than asked.
 */
#include "fuzz/fuzz.h"

#include <math.h>

#include "base/own.h"
#include "sql/script.h"
#include "sql/tag.h"
#include "sql/value.h"
#include "wire/utf8.h"

static void check_piece(const struct script *script, const struct piece *piece)
{
	struct place place;
	char tag[64];
	MUST(piece->len > 0 && piece->kind != PIECE_NONE);
	MUST(script->text[piece->start] != ';');
	script_place(script, piece->start, &place);
	MUST(place.line >= 1 && place.column >= 1);
	MUST(place.line_start <= piece->start && place.line_start + place.line_len <= script->len);
	tag_write(script->text + piece->start, piece->len, 3, tag, sizeof(tag));
	MUST(strlen(tag) < 32);
}

static void check_script(const char *text, size_t len)
{
	struct script script = { .name = "fuzz", .text = text, .len = len };
	struct piece piece;
	size_t end = 0;
	while (script_next(&script, &piece)) {
		MUST(piece.start >= end && piece.start + piece.len <= len);
		MUST(script.at >= piece.start + piece.len && script.at <= len);
		check_piece(&script, &piece);
		end = script.at;
	}
	MUST(script.at == len);
}

static void check_real(const char *data, size_t len)
{
	double real = 0;
	char text[REAL_SIZE];
	if (len < sizeof(real))
		return;
	memcpy(&real, data, sizeof(real));
	value_format_real(real, text);
	MUST(strlen(text) < 32);
	if (!isnan(real))
		MUST(strtod(text, NULL) == real);
	if (isfinite(real))
		MUST(strpbrk(text, ".e") != NULL);
}

static void check_cell(const char *data, size_t len)
{
	const struct value value = { .kind = VALUE_TEXT, .data = data, .len = len };
	const struct cut cut = { .columns = 12, .lines = 3 };
	bool is_cut = false;
	size_t lines = 1;
	auto_buf struct buf cell;
	buf_init(&cell, TEXT_NO_CAP);
	value_write_cell(&cell, &value, "", &cut, &is_cut);
	MUST(utf8_is_valid(buf_text(&cell), cell.len, NULL));
	for (const char *at = buf_text(&cell); *at; at++) {
		MUST((unsigned char)*at >= 0x20 || *at == '\n');
		lines += *at == '\n';
	}
	MUST(lines <= cut.lines);
	const char *line = buf_text(&cell);
	for (size_t end = strcspn(line, "\n");; end = strcspn(line, "\n")) {
		MUST(value_width(line, end) <= cut.columns + 1);
		if (line[end] == '\0')
			break;
		line += end + 1;
	}
}

static void check_json(const char *data, size_t len)
{
	const struct value value = { .kind = VALUE_TEXT, .data = data, .len = len };
	auto_buf struct buf json, sql;
	buf_init(&json, TEXT_NO_CAP);
	buf_init(&sql, TEXT_NO_CAP);
	value_write_json(&json, &value);
	MUST(utf8_is_valid(buf_text(&json), json.len, NULL));
	MUST(strlen(buf_text(&json)) == json.len && json.len >= 2);
	value_write_sql(&sql, &value);
	/* a literal is one token, or a cast of one */
	struct token token = token_at(buf_text(&sql), sql.len, 0);
	MUST(token.kind == TOKEN_QUOTED ? token.len == sql.len
					: token_is(buf_text(&sql), &token, "cast"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = xcalloc(size + 1, 1);
	if (size > 0)
		memcpy(text, data, size);
	check_script(text, size);
	check_real(text, size);
	check_cell(text, size);
	check_json(text, size);
	return 0;
}
