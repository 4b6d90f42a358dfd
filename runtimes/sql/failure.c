/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/failure.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"

enum { SOURCE_MAX = 160 }; /* bytes of a line that are shown */

/* clang-format off */
static const struct code_name {
	int code;
	const char *name;
} code_names[] = {
	{ SQLITE_CONSTRAINT_CHECK,      "SQLITE_CONSTRAINT_CHECK" },
	{ SQLITE_CONSTRAINT_FOREIGNKEY, "SQLITE_CONSTRAINT_FOREIGNKEY" },
	{ SQLITE_CONSTRAINT_NOTNULL,    "SQLITE_CONSTRAINT_NOTNULL" },
	{ SQLITE_CONSTRAINT_PRIMARYKEY, "SQLITE_CONSTRAINT_PRIMARYKEY" },
	{ SQLITE_CONSTRAINT_TRIGGER,    "SQLITE_CONSTRAINT_TRIGGER" },
	{ SQLITE_CONSTRAINT_UNIQUE,     "SQLITE_CONSTRAINT_UNIQUE" },
	{ SQLITE_CONSTRAINT_DATATYPE,   "SQLITE_CONSTRAINT_DATATYPE" },
	{ SQLITE_AUTH,       "SQLITE_AUTH" },
	{ SQLITE_BUSY,       "SQLITE_BUSY" },
	{ SQLITE_CANTOPEN,   "SQLITE_CANTOPEN" },
	{ SQLITE_CONSTRAINT, "SQLITE_CONSTRAINT" },
	{ SQLITE_CORRUPT,    "SQLITE_CORRUPT" },
	{ SQLITE_ERROR,      "SQLITE_ERROR" },
	{ SQLITE_FULL,       "SQLITE_FULL" },
	{ SQLITE_INTERRUPT,  "SQLITE_INTERRUPT" },
	{ SQLITE_IOERR,      "SQLITE_IOERR" },
	{ SQLITE_LOCKED,     "SQLITE_LOCKED" },
	{ SQLITE_MISMATCH,   "SQLITE_MISMATCH" },
	{ SQLITE_MISUSE,     "SQLITE_MISUSE" },
	{ SQLITE_NOMEM,      "SQLITE_NOMEM" },
	{ SQLITE_NOTADB,     "SQLITE_NOTADB" },
	{ SQLITE_PERM,       "SQLITE_PERM" },
	{ SQLITE_RANGE,      "SQLITE_RANGE" },
	{ SQLITE_READONLY,   "SQLITE_READONLY" },
	{ SQLITE_SCHEMA,     "SQLITE_SCHEMA" },
	{ SQLITE_TOOBIG,     "SQLITE_TOOBIG" },
};

/* How SQLite says that it does not understand the text, rather than what it means. */
static const char *const syntax_texts[] = {
	"syntax error",
	"incomplete input",
	"unrecognized token",
};

/* Where a message names a word of the statement that it gives no offset for. */
static const char *const naming_texts[] = {
	"no such table: ",
	"no such function: ",
	"no such column: ",
	"no such index: ",
	"no such view: ",
	"no such trigger: ",
	"no such collation sequence: ",
	"no such module: ",
	"has no column named ",
	"duplicate column name: ",
	"unknown database ",
	"wrong number of arguments to function ",
	"misuse of aggregate: ",
	"ambiguous column name: ",
};
/* clang-format on */

static const char *name_of(int code)
{
	for (size_t i = 0; i < COUNT_OF(code_names); i++)
		if (code_names[i].code == code)
			return code_names[i].name;
	return (code & 0xff) != code ? name_of(code & 0xff) : "SQLITE_ERROR";
}

static bool is_syntax(int code, const char *text)
{
	for (size_t i = 0; code == SQLITE_ERROR && i < COUNT_OF(syntax_texts); i++)
		if (strstr(text, syntax_texts[i]))
			return true;
	return false;
}

static bool is_same_word(const char *text, const struct token *token, const char *word, size_t len)
{
	const char *at = text + token->start;
	size_t token_len = token->len;
	if (token->kind == TOKEN_QUOTED && token_len >= 2) {
		at++;
		token_len -= 2;
	}
	return token_len == len && strncasecmp(at, word, len) == 0;
}

/* The first place of a word in a statement, or -1. */
static int64_t find_word(const char *text, size_t len, const char *word, size_t word_len)
{
	size_t at = 0;
	for (;;) {
		struct token token = token_next(text, len, &at);
		if (token.kind == TOKEN_NONE)
			return -1;
		if ((token.kind == TOKEN_WORD || token.kind == TOKEN_QUOTED) &&
			is_same_word(text, &token, word, word_len))
			return (int64_t)token.start;
	}
}

static int64_t find_named(const char *text, size_t len, const char *message)
{
	for (size_t i = 0; i < COUNT_OF(naming_texts); i++) {
		const char *at = strstr(message, naming_texts[i]);
		if (!at)
			continue;
		at += strlen(naming_texts[i]);
		size_t word_len = strcspn(at, "()\n");
		int64_t found = find_word(text, len, at, word_len);
		/* main.people: the part behind the point is the one that is wrong */
		const char *point = memrchr(at, '.', word_len);
		if (found < 0 && point)
			found = find_word(
				text, len, point + 1, word_len - (size_t)(point + 1 - at));
		return found;
	}
	return -1;
}

/* Of a long line only the part around the place, in whole characters, tabs as blanks. */
static void show_line(const char *line, size_t len, size_t mark, struct buf *text, size_t *ret_mark)
{
	size_t start = mark > SOURCE_MAX / 2 && len > SOURCE_MAX ? mark - SOURCE_MAX / 2 : 0;
	while (start > 0 && ((unsigned char)line[start] & 0xc0) == 0x80)
		start--;
	size_t shown = len - start > SOURCE_MAX ? SOURCE_MAX : len - start;
	while (start + shown < len && shown > 0 &&
		((unsigned char)line[start + shown] & 0xc0) == 0x80)
		shown--;
	const struct cut all = { 0 };
	const struct value part = { VALUE_TEXT, line + start, shown, 0 };
	const struct value before = { VALUE_TEXT, line + start, mark - start, 0 };
	auto_buf struct buf left;
	bool is_cut = false;
	buf_init(&left, TEXT_NO_CAP);
	value_write_cell(&left, &before, "", &all, &is_cut);
	*ret_mark = (start ? 3 : 0) + value_width(buf_text(&left), left.len);
	text_add(text, start ? "..." : "");
	value_write_cell(text, &part, "", &all, &is_cut);
	text_add(text, start + shown < len ? "..." : "");
}

static void print_place(struct shell *shell, const struct script *script, const struct place *place,
	size_t mark, bool has_mark)
{
	auto_buf struct buf line;
	char head[64];
	size_t width = 0;
	buf_init(&line, TEXT_NO_CAP);
	show_line(script->text + place->line_start, place->line_len, mark, &line, &width);
	int head_len = shell->depth > 1
			       ? snprintf(head, sizeof(head),
					 "LINE %" PRId64 " of %.30s: ", place->line, script->name)
			       : snprintf(head, sizeof(head), "LINE %" PRId64 ": ", place->line);
	(void)fprintf(stderr, "%s%s\n", head, buf_text(&line));
	if (has_mark)
		(void)fprintf(stderr, "%*s^\n", head_len + (int)width, "");
}

/* `offset` is one in the script, or -1 when only the statement as a whole is known. */
static void tell(struct shell *shell, const struct script *script, const struct piece *piece,
	int64_t offset, struct failing *failing)
{
	struct place place = { 0 };
	shell->has_failed = true;
	(void)fflush(stdout);
	(void)fprintf(stderr, "ERROR: %s\n", failing->value);
	failing->file = script ? script->name : "";
	failing->source = "";
	if (script) {
		size_t at = offset >= 0 ? (size_t)offset : piece->start;
		script_place(script, at, &place);
		size_t mark = at - place.line_start;
		print_place(shell, script, &place, mark < place.line_len ? mark : place.line_len,
			offset >= 0);
		failing->line = place.line;
		failing->column = offset >= 0 ? place.column : 0;
		failing->source = script->text + place.line_start;
		failing->source_len = place.line_len < 4096 ? place.line_len : 4096;
	}
	shell_flush(shell);
	channel_send_error(&shell->channel, failing);
}

/* SQLite's words, and the kernel's where it was the kernel that refused. */
static char *message_of(sqlite3 *db, int code)
{
	int primary = code & 0xff;
	int sys = sqlite3_system_errno(db);
	bool is_system =
		primary == SQLITE_IOERR || primary == SQLITE_FULL || primary == SQLITE_CANTOPEN;
	if (!is_system || sys == 0)
		return xstrdup(sqlite3_errmsg(db));
	return xasprintf("%s: %s", sqlite3_errmsg(db), strerror(sys));
}

void failure_of_statement(
	struct shell *shell, const struct script *script, const struct piece *piece, int code)
{
	const char *text = script->text + piece->start;
	auto_free char *message = message_of(shell->db, code);
	int64_t offset = sqlite3_error_offset(shell->db);
	bool is_incomplete = strcmp(message, "incomplete input") == 0;
	if (is_incomplete)
		offset = (int64_t)piece->len;
	if (offset < 0)
		offset = find_named(text, piece->len, message);
	struct failing failing = {
		.kind = is_syntax(code & 0xff, message) ? "syntax" : "runtime",
		.name = name_of(code),
		.value = message,
	};
	tell(shell, script, piece, offset < 0 ? -1 : (int64_t)piece->start + offset, &failing);
}

void failure_of_shell(struct shell *shell, const struct script *script, const struct piece *piece)
{
	struct failing failing = {
		.kind = "runtime", .name = "SQLITE_ERROR", .value = shell->message
	};
	tell(shell, script, piece, -1, &failing);
}
