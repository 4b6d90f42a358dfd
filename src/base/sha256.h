/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4). Our own, because a library for it would be larger than all of hotcell. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SHA256_SIZE = 32, SHA256_HEX = 64, SHA256_BLOCK = 64 };

struct sha256 {
	uint32_t state[8];
	uint64_t len; /* bytes taken so far */
	unsigned char block[SHA256_BLOCK];
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *data, size_t len);

/* The digest in lower case hexadecimal digits. The state is of no use afterwards. */
void sha256_hex(struct sha256 *sha, char hex[SHA256_HEX + 1]);
