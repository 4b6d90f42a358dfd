/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "access/access.h"
#include "base/own.h"

static const char mark[] = "hct_";

bool token_is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t len = strlen(name);
	return len > 0 && len <= TOKEN_NAME_BYTES && strspn(name, letters) == len &&
	       !strchr("._-", name[0]) && strcmp(name, TENANT_ANONYMOUS) != 0;
}

void token_hash(const char *text, char hash[SHA256_HEX + 1])
{
	struct sha256 sha;
	sha256_init(&sha);
	sha256_add(&sha, text, strlen(text));
	sha256_hex(&sha, hash);
}

int token_make(char text[TOKEN_BYTES + 1], char hash[SHA256_HEX + 1], struct err *err)
{
	unsigned char noise[TOKEN_DIGITS / 2];
	size_t at = sizeof(mark) - 1;
	if (getrandom(noise, sizeof(noise), 0) != sizeof(noise))
		return err_sys(err, errno, "get random bytes");
	(void)snprintf(text, TOKEN_BYTES + 1, "%s", mark);
	for (size_t i = 0; i < sizeof(noise); i++, at += 2)
		(void)snprintf(text + at, TOKEN_BYTES + 1 - at, "%02x", noise[i]);
	explicit_bzero(noise, sizeof(noise));
	token_hash(text, hash);
	return 0;
}

bool token_read_header(const char *value, char text[TOKEN_BYTES + 1])
{
	static const char scheme[] = "Bearer";
	size_t len = sizeof(scheme) - 1;
	if (strncasecmp(value, scheme, len) != 0 || value[len] != ' ')
		return false;
	const char *token = value + len + strspn(value + len, " ");
	if (strncmp(token, mark, sizeof(mark) - 1) != 0 ||
		strspn(token + sizeof(mark) - 1, "0123456789abcdef") != TOKEN_DIGITS ||
		token[TOKEN_BYTES] != '\0')
		return false;
	memcpy(text, token, TOKEN_BYTES + 1);
	return true;
}
