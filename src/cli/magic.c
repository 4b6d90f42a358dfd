/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/magic.h"

#include <ctype.h>
#include <string.h>

#include "base/own.h"

enum { MARKS_MAX = 2 };

static size_t skip_blanks(const char *text)
{
	return strspn(text, " \t\n");
}

/* Up to `len` bytes without the blanks around them. */
static char *trimmed(const char *text, size_t len)
{
	while (len > 0 && isspace((unsigned char)text[0])) {
		text++;
		len--;
	}
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		len--;
	return xstrndup(text, len);
}

bool magic_parse(const char *text, struct magic *ret_magic)
{
	text += skip_blanks(text);
	size_t marks = strspn(text, "%");
	if (marks == 0 || marks > MARKS_MAX || !isalpha((unsigned char)text[marks]))
		return false;
	text += marks;
	size_t name_len = 0;
	while (isalnum((unsigned char)text[name_len]) || text[name_len] == '_')
		name_len++;
	size_t line_len = strcspn(text, "\n");
	const char *below = text + line_len + (text[line_len] == '\n');
	*ret_magic = (struct magic){ .name = xstrndup(text, name_len),
		.words = trimmed(text + name_len, line_len - name_len),
		.body = xstrdup(below),
		.wants_body = marks == MARKS_MAX };
	return true;
}

void magic_done(struct magic *magic)
{
	free(magic->name);
	free(magic->words);
	free(magic->body);
	*magic = (struct magic){ 0 };
}

static bool is_name(const char *name)
{
	size_t len = 0;
	while (isalnum((unsigned char)name[len]) || (unsigned char)name[len] >= 0x80 ||
		(name[len] != '\0' && strchr("_.$", name[len])))
		len++;
	return len > 0 && name[len] == '\0' && !isdigit((unsigned char)name[0]);
}

bool magic_is_question(const char *text, char **ret_name, int *ret_detail)
{
	auto_free char *word = trimmed(text, strlen(text));
	size_t len = strlen(word);
	size_t before = strspn(word, "?");
	size_t after = 0;
	while (after < len - before && word[len - 1 - after] == '?')
		after++;
	if ((before == 0) == (after == 0) || before + after > MARKS_MAX)
		return false;
	auto_free char *name = trimmed(word + before, len - before - after);
	if (!is_name(name))
		return false;
	*ret_name = take_ptr(&name);
	*ret_detail = before + after == MARKS_MAX;
	return true;
}
