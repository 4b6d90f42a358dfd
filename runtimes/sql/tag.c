/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/tag.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "sql/script.h"

/* clang-format off */
static const struct verb {
	const char *word;
	const char *tag;     /* with a number of rows behind it when it ends in a blank */
	bool has_object;     /* the kind of thing belongs to it: CREATE TABLE */
} verbs[] = {
	{ "insert",    "INSERT 0 ", false },
	{ "replace",   "INSERT 0 ", false },
	{ "update",    "UPDATE ",   false },
	{ "delete",    "DELETE ",   false },
	{ "create",    "CREATE",    true },
	{ "drop",      "DROP",      true },
	{ "alter",     "ALTER",     true },
	{ "begin",     "BEGIN",     false },
	{ "commit",    "COMMIT",    false },
	{ "end",       "COMMIT",    false },
	{ "rollback",  "ROLLBACK",  false },
	{ "savepoint", "SAVEPOINT", false },
	{ "release",   "RELEASE",   false },
	{ "vacuum",    "VACUUM",    false },
	{ "analyze",   "ANALYZE",   false },
	{ "reindex",   "REINDEX",   false },
	{ "attach",    "ATTACH",    false },
	{ "detach",    "DETACH",    false },
};
/* clang-format on */

static const char *const objects[] = { "table", "view", "index", "trigger" };

static const struct verb *find_verb(const char *sql, const struct token *token)
{
	for (size_t i = 0; i < COUNT_OF(verbs); i++)
		if (token_is(sql, token, verbs[i].word))
			return &verbs[i];
	return NULL;
}

/* WITH has its tables in brackets; the verb stands outside of them. */
static struct token first_verb(const char *sql, size_t len, size_t *at)
{
	struct token token = token_next(sql, len, at);
	if (!token_is(sql, &token, "with"))
		return token;
	for (int depth = 0; token.kind != TOKEN_NONE; token = token_next(sql, len, at)) {
		if (token.kind == TOKEN_OTHER)
			depth += (sql[token.start] == '(') - (sql[token.start] == ')');
		if (depth == 0 && (find_verb(sql, &token) || token_is(sql, &token, "select") ||
					  token_is(sql, &token, "values")))
			return token;
	}
	return token;
}

/* " TABLE": the first word that is a kind of thing; what stands before it only qualifies it. */
static const char *find_object(const char *sql, size_t len, size_t at)
{
	for (;;) {
		struct token token = token_next(sql, len, &at);
		if (token.kind != TOKEN_WORD)
			return NULL;
		for (size_t i = 0; i < COUNT_OF(objects); i++)
			if (token_is(sql, &token, objects[i]))
				return objects[i];
	}
}

void tag_write(const char *sql, size_t len, int64_t changes, char *tag, size_t size)
{
	size_t at = 0;
	struct token token = first_verb(sql, len, &at);
	const struct verb *verb = find_verb(sql, &token);
	*tag = '\0';
	if (!verb)
		return;
	if (verb->tag[strlen(verb->tag) - 1] == ' ') {
		(void)snprintf(tag, size, "%s%" PRId64, verb->tag, changes);
		return;
	}
	const char *object = verb->has_object ? find_object(sql, len, at) : NULL;
	int used =
		snprintf(tag, size, "%s%s%s", verb->tag, object ? " " : "", object ? object : "");
	for (int i = 0; i < used; i++)
		tag[i] = (char)toupper((unsigned char)tag[i]);
}
