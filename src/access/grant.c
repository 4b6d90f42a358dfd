/* SPDX-License-Identifier: Apache-2.0 */
/* What is given with a token: scopes and limits, as people write them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "access/access.h"
#include "base/own.h"
#include "model/units.h"
#include "wire/utf8.h"

/* clang-format off */
const char *const scope_names[SCOPE_COUNT] = {
	[SCOPE_NONE]     = "none",
	[SCOPE_EXECUTE]  = "execute",
	[SCOPE_SESSIONS] = "sessions",
	[SCOPE_ADMIN]    = "admin",
};

const struct token_limit_row token_limit_rows[TOKEN_LIMIT_COUNT] = {
	[TOKEN_CONCURRENCY] = { "concurrency", "N",    "most executions at once",                   1, 100000 },
	[TOKEN_RATE]        = { "rate",        "N",    "most requests a minute",                    1, 1000000 },
	[TOKEN_MEMORY]      = { "memory",      "SIZE", "most memory of a single execution",         4 << 20, INT64_MAX },
	[TOKEN_CPU]         = { "cpu",         "SEC",  "most seconds of CPU time a day (UTC)",      1, 1000000000 },
	[TOKEN_SESSIONS]    = { "sessions",    "N",    "most sessions at once",                     1, 100000 },
};
/* clang-format on */

static int find_scope(const char *name, size_t len)
{
	for (int i = SCOPE_NONE + 1; i < SCOPE_COUNT; i++)
		if (strlen(scope_names[i]) == len && strncmp(scope_names[i], name, len) == 0)
			return i;
	return SCOPE_NONE;
}

int scopes_parse(const char *list, unsigned int *ret_scopes, struct err *err)
{
	unsigned int scopes = 0;
	char quote[64];
	for (const char *at = list;;) {
		size_t len = strcspn(at, ",");
		int scope = find_scope(at, len);
		if (scope == SCOPE_NONE)
			return err_set(err, ERR_INVALID,
				"--scope: '%s' is not a list of execute, sessions and admin, for "
				"example --scope execute,sessions",
				utf8_line(list, quote, sizeof(quote)));
		scopes |= 1U << scope;
		if (at[len] == '\0')
			break;
		at += len + 1;
	}
	*ret_scopes = scopes;
	return 0;
}

void scopes_format(unsigned int scopes, char text[SCOPES_TEXT])
{
	size_t len = 0;
	text[0] = '\0';
	for (int i = SCOPE_NONE + 1; i < SCOPE_COUNT; i++)
		if (scopes & 1U << i)
			len += (size_t)snprintf(text + len, SCOPES_TEXT - len, "%s%s",
				len > 0 ? "," : "", scope_names[i]);
}

int token_limit_parse(enum token_limit limit, const char *text, int64_t *ret_value, struct err *err)
{
	const struct token_limit_row *row = &token_limit_rows[limit];
	char quote[64];
	int64_t value = 0;
	if (strcmp(text, "none") == 0) {
		*ret_value = 0;
		return 0;
	}
	int r = limit == TOKEN_MEMORY ? units_parse_size(text, &value)
				      : units_parse_count(text, &value);
	if (r == 0 && value >= row->min && value <= row->max) {
		*ret_value = value;
		return 0;
	}
	(void)utf8_line(text, quote, sizeof(quote));
	if (limit == TOKEN_MEMORY)
		return err_set(err, ERR_INVALID,
			"--memory: '%s' is not a size of 4M and more, nor none, for example "
			"--memory 512M",
			quote);
	return err_set(err, ERR_INVALID,
		"--%s: '%s' is not a whole number from %" PRId64 " to %" PRId64
		", nor none, for example --%s 60",
		row->name, quote, row->min, row->max, row->name);
}

void token_limit_format(enum token_limit limit, int64_t value, char *text, size_t size)
{
	if (value == 0)
		(void)snprintf(text, size, "none");
	else if (limit == TOKEN_MEMORY)
		units_format_size(value, text, size);
	else
		(void)snprintf(text, size, "%" PRId64, value);
}
