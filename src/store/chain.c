/* SPDX-License-Identifier: Apache-2.0 */
#include "store/chain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HASH_KEY ",\"hash\":\""

enum { TAIL_LEN = sizeof(HASH_KEY) - 1 + SHA256_HEX + 2, DIGITS_MAX = 15 };

/* Where reading has come to; NULL at its end. */
struct reader {
	const char *at;
	const char *end;
};

static bool skip(struct reader *reader, const char *text)
{
	size_t len = strlen(text);
	if ((size_t)(reader->end - reader->at) < len || memcmp(reader->at, text, len) != 0)
		return false;
	reader->at += len;
	return true;
}

/* A number as we write them: no sign, no leading zero. */
static bool take_number(struct reader *reader, uint64_t *ret_number)
{
	uint64_t number = 0;
	int digits = 0;
	for (; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9'; digits++) {
		if (digits == DIGITS_MAX || (digits == 1 && number == 0))
			return false;
		number = number * 10 + (uint64_t)(*reader->at++ - '0');
	}
	*ret_number = number;
	return digits > 0;
}

static bool take_hash(struct reader *reader, char hash[SHA256_HEX + 1])
{
	if (reader->end - reader->at < SHA256_HEX)
		return false;
	memcpy(hash, reader->at, SHA256_HEX);
	hash[SHA256_HEX] = '\0';
	reader->at += SHA256_HEX;
	return strspn(hash, "0123456789abcdef") == SHA256_HEX;
}

void link_init(struct link *link)
{
	*link = (struct link){ 0 };
	memset(link->hash, '0', SHA256_HEX);
}

bool link_parse(const char *line, size_t len, struct link *link)
{
	*link = (struct link){ 0 };
	if (len < TAIL_LEN)
		return false;
	link->covered = len - TAIL_LEN;
	struct reader head = { .at = line, .end = line + link->covered };
	struct reader tail = { .at = head.end, .end = line + len };
	if (!skip(&tail, HASH_KEY) || !take_hash(&tail, link->hash) || !skip(&tail, "\"}"))
		return false;
	if (!skip(&head, "{\"seq\":") || !take_number(&head, &link->seq) || link->seq == 0 ||
		!skip(&head, ",\"prev\":\"") || !take_hash(&head, link->prev) || !skip(&head, "\""))
		return false;
	bool is_torn = skip(&head, ",\"torn\":");
	return (!is_torn || (take_number(&head, &link->torn) && link->torn > 0)) &&
	       head.at < head.end && *head.at == ',';
}

static void hash_of(const char *line, size_t covered, char hash[SHA256_HEX + 1])
{
	struct sha256 sha;
	sha256_init(&sha);
	sha256_add(&sha, line, covered);
	sha256_hex(&sha, hash);
}

bool link_holds(const char *line, const struct link *link)
{
	char hash[SHA256_HEX + 1];
	hash_of(line, link->covered, hash);
	return strcmp(hash, link->hash) == 0;
}

int link_forge(const struct link *last, uint64_t torn, const char *body, struct buf *out)
{
	char torn_key[48] = "";
	char hash[SHA256_HEX + 1];
	size_t start = out->len;
	if (torn > 0)
		(void)snprintf(torn_key, sizeof(torn_key), ",\"torn\":%" PRIu64, torn);
	int r = buf_printf(out, "{\"seq\":%" PRIu64 ",\"prev\":\"%s\"%s,", last->seq + 1,
		last->hash, torn_key);
	if (r == 0) /* the members of the body, and more to come */
		r = buf_append(out, body + 1, strlen(body) - 2);
	if (r < 0)
		return r;
	hash_of(out->data + start, out->len - start, hash);
	return buf_printf(out, HASH_KEY "%s\"}\n", hash);
}
