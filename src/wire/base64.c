/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/base64.h"

#include <stdint.h>
#include <string.h>

#include "base/own.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int sextet(char c)
{
	const char *at = c == '\0' ? NULL : strchr(digits, c);
	return at ? (int)(at - digits) : -1;
}

bool base64_decode(const char *text, size_t len, struct buf *out)
{
	uint32_t bits = 0;
	int bit_count = 0;
	for (size_t i = 0; i < len && text[i] != '='; i++) {
		if (strchr(" \t\r\n", text[i]))
			continue;
		int six = sextet(text[i]);
		if (six < 0)
			return false;
		bits = bits << 6 | (uint32_t)six;
		bit_count += 6;
		if (bit_count >= 8) {
			bit_count -= 8;
			char byte = (char)(bits >> bit_count & 0xff);
			if (buf_append(out, &byte, 1) < 0)
				return false;
		}
	}
	return out->len > 0;
}

char *base64_encode(const void *data, size_t len)
{
	const unsigned char *from = data;
	char *text = xcalloc(len / 3 + 1, 4 + 1);
	char *to = text;
	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t bits = (uint32_t)from[i] << 16;
		bits |= left > 1 ? (uint32_t)from[i + 1] << 8 : 0;
		bits |= left > 2 ? from[i + 2] : 0;
		*to++ = digits[bits >> 18 & 63];
		*to++ = digits[bits >> 12 & 63];
		*to++ = left > 1 ? digits[bits >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[bits & 63] : '=';
	}
	return text;
}
