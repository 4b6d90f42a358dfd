/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most programs end with a statement that has no value, or with a call on a line of its own. Both
 * can be told from the text of the last lines, without an interpreter that would copy its memory to
 * find it out. Whatever is not one of these two is left to core.py, which knows all others; in
 * doubt, so is this one.
 */
#include "interpreter/tail.h"

#include <stdbool.h>
#include <string.h>

enum { LINES_MAX = 8 }; /* as many as core.py looks at for a constant */

struct line {
	const char *start, *end; /* without the newline */
};

/* The line before this one; false: there is none. */
static bool go_up(const char *source, struct line *line)
{
	if (line->start == source)
		return false;
	const char *end = line->start - 1;
	const char *newline = memrchr(source, '\n', (size_t)(end - source));
	*line = (struct line){ newline ? newline + 1 : source, end };
	return true;
}

static bool is_one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

static bool is_continued(const char *source, const struct line *line)
{
	return line->start - source >= 2 && line->start[-2] == '\\';
}

/* Whether a statement of the module can begin here. */
static bool is_start(const char *source, const struct line *line)
{
	return line->start < line->end && !is_one_of(*line->start, " \t#)]}") &&
	       !is_continued(source, line);
}

static bool has_prefix(const struct line *line, const char *word)
{
	size_t len = strlen(word);
	return (size_t)(line->end - line->start) >= len && memcmp(line->start, word, len) == 0;
}

/* Whether a constant may begin here: a number, a text with its letters, a bracket, a name. */
static bool may_be_constant(const struct line *line)
{
	const char *at = line->start;
	while (at < line->end && at < line->start + 3 && is_one_of(*at, "bruBRU"))
		at++;
	return (at < line->end && is_one_of(*at, "0123456789.-+~('\"")) ||
	       has_prefix(line, "True") || has_prefix(line, "Fals");
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.';
}

/* Words that can stand before a bracket and begin a statement, or part of one. */
static bool is_keyword(const char *word, size_t len)
{
	static const char *const words[] = { "if", "elif", "else", "for", "while", "with", "try",
		"except", "finally", "def", "class", "async", "match", "case", "from", "type",
		"assert", "del", "return", "raise", "yield", "await", "import", "global",
		"nonlocal", "pass", "break", "continue", "lambda", "not" };
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0)
			return true;
	return false;
}

/* The end of a text that begins here, within the line; NULL when it is not a simple one. */
static const char *pass_text(const char *at, const char *end)
{
	if (end - at >= 3 && at[1] == at[0] && at[2] == at[0])
		return NULL;
	return memchr(at + 1, *at, (size_t)(end - at - 1));
}

/* `name.name(…)` from one end of the line to the other, with all brackets closed. */
static bool is_call(const struct line *line)
{
	const char *at = line->start;
	int depth = 0;
	while (at < line->end && is_name_char(*at))
		at++;
	size_t len = (size_t)(at - line->start);
	if (len == 0 || at == line->end || *at != '(' || line->end[-1] != ')' ||
		is_one_of(*line->start, "0123456789.") || is_keyword(line->start, len))
		return false;
	for (; at < line->end; at++) {
		if (is_one_of(*at, "#;\\"))
			return false;
		if (is_one_of(*at, "'\"") && !(at = pass_text(at, line->end)))
			return false;
		depth += is_one_of(*at, "([{") - is_one_of(*at, ")]}");
		if (depth < 0)
			return false;
	}
	return depth == 0;
}

/* Whether the last line that is more than a comment may end with a semicolon, which says that a
 * value is not to be shown, or have more than one statement. */
static bool has_semicolon(const char *source, struct line line)
{
	do {
		const char *at = line.start;
		while (at < line.end && is_one_of(*at, " \t"))
			at++;
		if (memchr(line.start, ';', (size_t)(line.end - line.start)))
			return true;
		if (at < line.end && *at != '#')
			return false;
	} while (go_up(source, &line));
	return false;
}

enum tail tail_read(const char *source, size_t size)
{
	/* other line ends, bytes that are no text, and those that only mark one */
	if ((size >= 3 && memcmp(source, "\xef\xbb\xbf", 3) == 0) || memchr(source, '\r', size) ||
		memchr(source, '\f', size) || memchr(source, '\0', size))
		return TAIL_UNCLEAR;
	while (size > 0 && is_one_of(source[size - 1], " \t\n"))
		size--;
	if (size == 0)
		return TAIL_STATEMENT;
	const char *newline = memrchr(source, '\n', size);
	struct line last = { newline ? newline + 1 : source, source + size };
	if (has_semicolon(source, last))
		return TAIL_UNCLEAR;
	if (is_start(source, &last) && is_call(&last))
		return TAIL_CALL;
	struct line line = last;
	for (int starts = 0; starts < LINES_MAX;) {
		if (is_start(source, &line)) {
			starts++;
			if (may_be_constant(&line))
				return TAIL_UNCLEAR;
		}
		if (!go_up(source, &line))
			break;
	}
	return TAIL_STATEMENT;
}
