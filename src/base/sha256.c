/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include <stdbool.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#include <sys/platform/x86.h>
#endif

enum { ROUNDS = 64, LENGTH_SIZE = 8 };

/* clang-format off */
static const uint32_t constants[ROUNDS] = { /* of the cube roots of the first 64 primes */
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
/* clang-format on */

static uint32_t turn(uint32_t word, int bits)
{
	return word >> bits | word << (32 - bits);
}

static void spread(const unsigned char *block, uint32_t words[ROUNDS])
{
	for (int i = 0; i < 16; i++, block += 4)
		words[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
			   (uint32_t)block[2] << 8 | block[3];
	for (int i = 16; i < ROUNDS; i++) {
		uint32_t early = words[i - 15];
		uint32_t late = words[i - 2];
		words[i] = words[i - 16] + (turn(early, 7) ^ turn(early, 18) ^ early >> 3) +
			   words[i - 7] + (turn(late, 17) ^ turn(late, 19) ^ late >> 10);
	}
}

static void mix_in_steps(uint32_t state[8], const unsigned char *block)
{
	uint32_t words[ROUNDS];
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
	uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
	spread(block, words);
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t first = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
				 ((e & f) ^ (~e & g)) + constants[i] + words[i];
		uint32_t second =
			(turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
		h = g;
		g = f;
		f = e;
		e = d + first;
		d = c;
		c = b;
		b = a;
		a = first + second;
	}
	const uint32_t mixed[8] = { a, b, c, d, e, f, g, h };
	for (int i = 0; i < 8; i++)
		state[i] += mixed[i];
}

#ifdef __x86_64__
/* Four rounds at a time, where the processor has instructions for it: a quarter of the time. They
 * want the state as a, b, e, f and c, d, g, h, the highest first. */
__attribute__((target("sha,ssse3,sse4.1"))) static void mix_at_once(
	uint32_t state[8], const unsigned char *block)
{
	const __m128i turned = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	const __m128i abef =
		_mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
	const __m128i cdgh =
		_mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);
	__m128i one = abef;
	__m128i other = cdgh;
	__m128i words[4];
	for (int i = 0; i < 4; i++)
		words[i] = _mm_shuffle_epi8(
			_mm_loadu_si128((const __m128i *)(const void *)(block + (size_t)16 * i)),
			turned);
	for (int i = 0; i < ROUNDS / 4; i++) {
		__m128i *oldest = &words[i % 4];
		const __m128i *second = &words[(i + 1) % 4];
		const __m128i *third = &words[(i + 2) % 4];
		const __m128i *newest = &words[(i + 3) % 4];
		__m128i sum = _mm_add_epi32(*oldest,
			_mm_loadu_si128(
				(const __m128i *)(const void *)(constants + (size_t)4 * i)));
		other = _mm_sha256rnds2_epu32(other, one, sum);
		one = _mm_sha256rnds2_epu32(one, other, _mm_shuffle_epi32(sum, 0x0e));
		__m128i part = _mm_add_epi32(_mm_sha256msg1_epu32(*oldest, *second),
			_mm_alignr_epi8(*newest, *third, 4));
		*oldest = _mm_sha256msg2_epu32(part, *newest);
	}
	one = _mm_add_epi32(one, abef);
	other = _mm_add_epi32(other, cdgh);
	const uint32_t mixed[8] = { (uint32_t)_mm_extract_epi32(one, 3),
		(uint32_t)_mm_extract_epi32(one, 2), (uint32_t)_mm_extract_epi32(other, 3),
		(uint32_t)_mm_extract_epi32(other, 2), (uint32_t)_mm_extract_epi32(one, 1),
		(uint32_t)_mm_extract_epi32(one, 0), (uint32_t)_mm_extract_epi32(other, 1),
		(uint32_t)_mm_extract_epi32(other, 0) };
	memcpy(state, mixed, sizeof(mixed));
}

/* The C library has asked the processor when the program started; to ask again takes 5 µs in a
 * virtual machine. */
static bool is_fast(void)
{
	return CPU_FEATURE_ACTIVE(SHA) && CPU_FEATURE_ACTIVE(SSE4_1);
}
#endif

static void mix(uint32_t state[8], const unsigned char *block)
{
#ifdef __x86_64__
	if (is_fast()) {
		mix_at_once(state, block);
		return;
	}
#endif
	mix_in_steps(state, block);
}

void sha256_init(struct sha256 *sha)
{
	*sha = (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(struct sha256 *sha, const void *data, size_t len)
{
	const unsigned char *bytes = data;
	size_t used = sha->len % SHA256_BLOCK;
	sha->len += len;
	while (len > 0) {
		size_t part = SHA256_BLOCK - used < len ? SHA256_BLOCK - used : len;
		if (part == SHA256_BLOCK) {
			mix(sha->state, bytes);
		} else {
			memcpy(sha->block + used, bytes, part);
			if (used + part == SHA256_BLOCK)
				mix(sha->state, sha->block);
		}
		used = (used + part) % SHA256_BLOCK;
		bytes += part;
		len -= part;
	}
}

void sha256_hex(struct sha256 *sha, char hex[SHA256_HEX + 1])
{
	static const unsigned char padding[SHA256_BLOCK] = { 0x80 };
	static const char digits[] = "0123456789abcdef";
	unsigned char length[LENGTH_SIZE];
	uint64_t bits = sha->len * 8;
	for (int i = 0; i < LENGTH_SIZE; i++)
		length[i] = (unsigned char)(bits >> (56 - 8 * i));
	size_t used = sha->len % SHA256_BLOCK;
	size_t room = SHA256_BLOCK - LENGTH_SIZE;
	sha256_add(sha, padding, (used < room ? room : room + SHA256_BLOCK) - used);
	sha256_add(sha, length, sizeof(length));
	for (size_t i = 0; i < SHA256_HEX; i++)
		hex[i] = digits[sha->state[i / 8] >> (28 - 4 * (i % 8)) & 0xf];
	hex[SHA256_HEX] = '\0';
}
