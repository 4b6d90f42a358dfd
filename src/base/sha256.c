/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

enum { LENGTH_SIZE = 8 };

void sha256_init(struct sha256 *sha)
{
	*sha = (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 },
		.mix = sha256_mix() };
}

void sha256_add(struct sha256 *sha, const void *data, size_t len)
{
	const unsigned char *bytes = data;
	size_t used = sha->len % SHA256_BLOCK;
	sha->len += len;
	while (len > 0) {
		size_t part = SHA256_BLOCK - used < len ? SHA256_BLOCK - used : len;
		if (part == SHA256_BLOCK) {
			sha->mix(sha->state, bytes);
		} else {
			memcpy(sha->block + used, bytes, part);
			if (used + part == SHA256_BLOCK)
				sha->mix(sha->state, sha->block);
		}
		used = (used + part) % SHA256_BLOCK;
		bytes += part;
		len -= part;
	}
}

void sha256_hex(struct sha256 *sha, char hex[SHA256_HEX + 1])
{
	static const unsigned char padding[SHA256_BLOCK] = { 0x80 };
	unsigned char length[LENGTH_SIZE];
	uint64_t bits = sha->len * 8;
	for (int i = 0; i < LENGTH_SIZE; i++)
		length[i] = (unsigned char)(bits >> (56 - 8 * i));
	size_t used = sha->len % SHA256_BLOCK;
	size_t room = SHA256_BLOCK - LENGTH_SIZE;
	sha256_add(sha, padding, (used < room ? room : room + SHA256_BLOCK) - used);
	sha256_add(sha, length, sizeof(length));
	for (size_t i = 0; i < 8; i++)
		(void)snprintf(hex + i * 8, 9, "%08x", sha->state[i]);
}
