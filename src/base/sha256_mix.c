/* SPDX-License-Identifier: Apache-2.0 */
/* One block of SHA-256, with the instructions that many processors have for it and without. */
#include "base/sha256.h"

#include <stdbool.h>

#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <immintrin.h>
#include <sys/platform/x86.h>
#endif

enum { ROUNDS = 64 };

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

void sha256_mix_plain(uint32_t state[8], const unsigned char *block)
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

#ifdef CPU_FEATURE_ACTIVE

/* Four rounds at a time. The state is held as the processor wants it: a, b, e, f and c, d, g, h. */
__attribute__((target("sha,sse4.1"))) static void mix_fast(
	uint32_t state[8], const unsigned char *block)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i words[4];
	__m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
	__m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
	__m128i abef = _mm_alignr_epi8(low, high, 8);
	__m128i cdgh = _mm_blend_epi16(high, low, 0xf0);
	const __m128i abef_before = abef;
	const __m128i cdgh_before = cdgh;
	for (int i = 0; i < 4; i++)
		words[i] =
			_mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(block + 16 * i)), swap);
	for (int i = 0; i < ROUNDS / 4; i++) {
		__m128i *now = &words[i % 4];
		__m128i last = words[(i + 3) % 4];
		__m128i sum =
			_mm_add_epi32(*now, _mm_loadu_si128((const __m128i *)(constants + 4 * i)));
		cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
		abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
		/* the words of sixteen rounds later */
		*now = _mm_add_epi32(_mm_sha256msg1_epu32(*now, words[(i + 1) % 4]),
			_mm_alignr_epi8(last, words[(i + 2) % 4], 4));
		*now = _mm_sha256msg2_epu32(*now, last);
	}
	low = _mm_shuffle_epi32(_mm_add_epi32(abef, abef_before), 0x1b);
	high = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh_before), 0xb1);
	_mm_storeu_si128((__m128i *)state, _mm_blend_epi16(low, high, 0xf0));
	_mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

/* The C library has asked the processor already: each such question is trapped in a virtual
 * machine, and takes longer than a hash. */
sha256_mixer sha256_mix(void)
{
	bool is_fast = CPU_FEATURE_ACTIVE(SHA) && CPU_FEATURE_ACTIVE(SSE4_1);
	return is_fast ? mix_fast : sha256_mix_plain;
}

#else

sha256_mixer sha256_mix(void)
{
	return sha256_mix_plain;
}

#endif
