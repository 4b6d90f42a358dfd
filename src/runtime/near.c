/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name somebody meant. A wrong guess is worse than none: short names, names that differ by a
 * number only, and guesses with an equal rival are left alone.
 */
#include "runtime/analysis.h"

#include <ctype.h>
#include <string.h>

#include "base/own.h"

enum { NEAR_BYTES = 40, FAR = 99 };

struct search {
	const char *word;
	size_t len;
	char best[NEAR_BYTES + 1];
	size_t distance;
	bool is_tie;
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edits from a to b; two neighbours exchanged count once. */
static size_t edits(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][NEAR_BYTES + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2];
	for (size_t j = 0; j <= b_len; j++)
		last[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			row[j] = least(least(last[j] + 1, row[j - 1] + 1),
				last[j - 1] + (a[i - 1] != b[j - 1]));
			bool is_swap =
				i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
			if (is_swap)
				row[j] = least(row[j], before[j - 2] + 1);
		}
		size_t *spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[b_len];
}

static bool is_number_apart(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t i = 0, j = 0;
	for (;;) {
		while (i < a_len && isdigit((unsigned char)a[i]))
			i++;
		while (j < b_len && isdigit((unsigned char)b[j]))
			j++;
		if (i >= a_len || j >= b_len)
			return i >= a_len && j >= b_len;
		if (a[i++] != b[j++])
			return false;
	}
}

static size_t allowed(size_t len)
{
	if (len < 3)
		return 0;
	return len < 6 ? 1 : len < 10 ? 2 : 3;
}

static void consider(struct search *search, const char *name, size_t len)
{
	if (len < 2 || len > NEAR_BYTES || (len == search->len && !memcmp(name, search->word, len)))
		return;
	bool is_case = len == search->len && strncasecmp(name, search->word, len) == 0;
	size_t longer = len > search->len ? len - search->len : search->len - len;
	size_t most = allowed(search->len);
	if (!is_case &&
		(longer > most || len < 3 || is_number_apart(search->word, search->len, name, len)))
		return;
	size_t distance = is_case ? 0 : edits(search->word, search->len, name, len);
	if (distance > most || (distance > 1 && name[0] != search->word[0]))
		return;
	if (distance > search->distance)
		return;
	bool is_same = strlen(search->best) == len && memcmp(search->best, name, len) == 0;
	search->is_tie = distance == search->distance && (search->is_tie || !is_same);
	if (distance == search->distance && search->best[0] != '\0')
		return;
	memcpy(search->best, name, len);
	search->best[len] = '\0';
	search->distance = distance;
}

static bool is_in_list(struct json_object *list, const char *name, size_t len)
{
	size_t count = list ? json_object_array_length(list) : 0;
	for (size_t i = 0; i < count; i++) {
		const char *item = json_object_get_string(json_object_array_get_idx(list, i));
		if (strlen(item) == len && memcmp(item, name, len) == 0)
			return true;
	}
	return false;
}

static bool begins_comment(struct json_object *marks, const char *at, size_t len)
{
	size_t count = marks ? json_object_array_length(marks) : 0;
	for (size_t i = 0; i < count; i++) {
		const char *mark = json_object_get_string(json_object_array_get_idx(marks, i));
		if (strlen(mark) <= len && memcmp(mark, at, strlen(mark)) == 0)
			return true;
	}
	return false;
}

static bool is_letter(const char *more, char letter)
{
	return isalnum((unsigned char)letter) || letter == '_' ||
	       (letter != '\0' && more && strchr(more, letter));
}

/* Past a string that ends on its line; otherwise only past the quote. */
static size_t string_length(const char *at, size_t len)
{
	for (size_t i = 1; i < len && at[i] != '\n'; i++) {
		if (at[i] == '\\')
			i++;
		else if (at[i] == at[0])
			return i + 1;
	}
	return 1;
}

/* Names in the code that stand for themselves: not members, not in strings or comments. */
static void consider_code(const struct analysis *analysis, struct search *search)
{
	const char *code = analysis->input->code;
	size_t len = least(analysis->input->code_len, ANALYSIS_CODE_BYTES), count = 0;
	struct json_object *comments = analysis_field(analysis, "comments");
	struct json_object *letters = analysis_field(analysis, "letters");
	struct json_object *keywords = analysis_list(analysis, "lists", "keywords");
	const char *more = letters ? json_object_get_string(letters) : NULL;
	for (size_t i = 0; code && i < len && count < ANALYSIS_NAMES;) {
		if (code[i] == '"' || code[i] == '\'' || code[i] == '`') {
			i += string_length(code + i, len - i);
		} else if (begins_comment(comments, code + i, len - i)) {
			const char *end = memchr(code + i, '\n', len - i);
			i = end ? (size_t)(end - code) : len;
		} else if (is_letter(more, code[i])) {
			size_t start = i;
			while (i < len && is_letter(more, code[i]))
				i++;
			char before = start > 0 ? code[start - 1] : ' ';
			if (before == '.' || before == '>' || before == ':' ||
				isdigit((unsigned char)code[start]) ||
				is_in_list(keywords, code + start, i - start))
				continue;
			consider(search, code + start, i - start);
			count++;
		} else {
			i++;
		}
	}
}

char *near_name(const struct analysis *analysis, const char *word, const struct strings *lists)
{
	struct search search = { .word = word, .len = strlen(word), .distance = FAR };
	if (search.len == 0 || search.len > NEAR_BYTES)
		return NULL;
	for (size_t i = 0; i < lists->count; i++) {
		if (strcmp(lists->items[i], "code") == 0) {
			consider_code(analysis, &search);
			continue;
		}
		struct json_object *list = analysis_list(analysis, "lists", lists->items[i]);
		struct json_object *table = analysis_list(analysis, "tables", lists->items[i]);
		size_t count = list ? json_object_array_length(list) : 0;
		for (size_t k = 0; k < count; k++) {
			struct json_object *item = json_object_array_get_idx(list, k);
			consider(&search, json_object_get_string(item),
				(size_t)json_object_get_string_len(item));
		}
		if (!table)
			continue;
		json_object_object_foreach(table, key, value)
		{
			(void)value;
			consider(&search, key, strlen(key));
		}
	}
	return search.best[0] != '\0' && !search.is_tie ? xstrdup(search.best) : NULL;
}
