/* SPDX-License-Identifier: Apache-2.0 */
/* A header holds a token only when it is nothing but one, and scopes and limits that were read are
 * written as they are read again. */
#include "fuzz/fuzz.h"

#include "access/access.h"
#include "base/own.h"

static void check_header(const char *value)
{
	char text[TOKEN_BYTES + 1] = "";
	if (!token_read_header(value, text))
		return;
	size_t len = strlen(value);
	MUST(strlen(text) == TOKEN_BYTES && strncmp(text, "hct_", 4) == 0);
	MUST(strspn(text + 4, "0123456789abcdef") == TOKEN_DIGITS);
	MUST(len > TOKEN_BYTES && strcmp(value + len - TOKEN_BYTES, text) == 0);
	MUST(strcspn(value, " ") == strlen("Bearer"));
}

static void check_scopes(const char *list)
{
	struct err err = { 0 };
	unsigned int scopes = 0;
	unsigned int again = 0;
	char text[SCOPES_TEXT];
	if (scopes_parse(list, &scopes, &err) < 0)
		return;
	MUST(scopes != 0 && (scopes & ~(unsigned int)SCOPES_ALL) == 0);
	scopes_format(scopes, text);
	MUST(scopes_parse(text, &again, &err) == 0 && again == scopes);
}

static void check_limits(const char *value)
{
	for (int i = 0; i < TOKEN_LIMIT_COUNT; i++) {
		struct err err = { 0 };
		int64_t limit = -1;
		int64_t again = -1;
		char text[64];
		if (token_limit_parse((enum token_limit)i, value, &limit, &err) < 0)
			continue;
		MUST(limit == 0 || limit >= token_limit_rows[i].min);
		token_limit_format((enum token_limit)i, limit, text, sizeof(text));
		MUST(token_limit_parse((enum token_limit)i, text, &again, &err) == 0);
		MUST(again == limit);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = xstrndup((const char *)data, size);
	check_header(text);
	check_scopes(text);
	check_limits(text);
	MUST(!token_is_name(text) || strlen(text) <= TOKEN_NAME_BYTES);
	return 0;
}
