/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are read digit by digit in integers: no locale, no sign, no exponent, no rounding. */
#include "model/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"

enum { FRACTION_DIGITS = 9, FRACTION_ONE = 1000000000 };

struct decimal {
	int64_t whole;
	int64_t fraction; /* of FRACTION_ONE */
	bool has_point;
	const char *rest; /* the first byte after the number */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int parse_decimal(const char *text, struct decimal *ret)
{
	struct decimal number = { 0 };
	const char *at = text;
	if (!is_digit(*at))
		return -EINVAL;
	for (; is_digit(*at); at++) {
		if (__builtin_mul_overflow(number.whole, 10, &number.whole) ||
			__builtin_add_overflow(number.whole, *at - '0', &number.whole))
			return -ERANGE;
	}
	if (*at == '.') {
		number.has_point = true;
		at++;
		if (!is_digit(*at))
			return -EINVAL;
		int64_t weight = FRACTION_ONE;
		for (; is_digit(*at); at++) {
			weight /= 10;
			number.fraction += (*at - '0') * weight;
		}
	}
	number.rest = at;
	*ret = number;
	return 0;
}

/* whole and fraction times `scale`, which is at most 2^40. */
static int scale_decimal(const struct decimal *number, int64_t scale, int64_t *ret_value)
{
	int64_t value;
	int64_t part = (int64_t)((__int128)number->fraction * scale / FRACTION_ONE);
	if (__builtin_mul_overflow(number->whole, scale, &value) ||
		__builtin_add_overflow(value, part, &value))
		return -ERANGE;
	*ret_value = value;
	return 0;
}

static const char size_letters[] = "KMGT";

/* "", "B", "K", "KB", "KiB" … in any case; false when it is none of these. */
static bool parse_suffix(const char *text, int64_t *ret_scale)
{
	*ret_scale = 1;
	if (*text == '\0' || strcasecmp(text, "b") == 0)
		return true;
	char letter = (char)(*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text);
	const char *found = strchr(size_letters, letter);
	if (!found)
		return false;
	for (const char *step = size_letters; step <= found; step++)
		*ret_scale *= 1024;
	text++;
	return *text == '\0' || strcasecmp(text, "b") == 0 || strcasecmp(text, "ib") == 0;
}

int units_parse_size(const char *text, int64_t *ret_bytes)
{
	struct decimal number;
	int64_t scale;
	int r = parse_decimal(text, &number);
	if (r < 0)
		return r;
	if (!parse_suffix(number.rest, &scale) || (scale == 1 && number.has_point))
		return -EINVAL;
	return scale_decimal(&number, scale, ret_bytes);
}

int units_parse_milli(const char *text, int64_t *ret_milli)
{
	struct decimal number;
	int r = parse_decimal(text, &number);
	if (r < 0)
		return r;
	if (*number.rest != '\0')
		return -EINVAL;
	return scale_decimal(&number, 1000, ret_milli);
}

int units_parse_count(const char *text, int64_t *ret_count)
{
	struct decimal number;
	int r = parse_decimal(text, &number);
	if (r < 0)
		return r;
	if (*number.rest != '\0' || number.has_point)
		return -EINVAL;
	*ret_count = number.whole;
	return 0;
}

void units_format_size(int64_t bytes, char *text, size_t size)
{
	size_t steps = 0;
	while (bytes != 0 && bytes % 1024 == 0 && steps < strlen(size_letters)) {
		bytes /= 1024;
		steps++;
	}
	if (steps == 0)
		(void)snprintf(text, size, "%" PRId64, bytes);
	else
		(void)snprintf(text, size, "%" PRId64 "%c", bytes, size_letters[steps - 1]);
}

void units_format_milli(int64_t milli, char *text, size_t size)
{
	char number[32];
	int n = snprintf(
		number, sizeof(number), "%" PRId64 ".%03" PRId64, milli / 1000, milli % 1000);
	while (number[n - 1] == '0')
		n--;
	if (number[n - 1] == '.')
		n--;
	(void)snprintf(text, size, "%.*s", n, number);
}

void units_format_count(int64_t count, char *text, size_t size)
{
	(void)snprintf(text, size, "%" PRId64, count);
}

enum { NAME_MAX_LEN = 40 };

static size_t least(size_t a, size_t b, size_t c)
{
	size_t low = a < b ? a : b;
	return low < c ? low : c;
}

int units_parse_span(const char *text, int64_t *ret_seconds)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || digits > 6 || strlen(text) != digits + 1)
		return -EINVAL;
	for (size_t i = 0; i < COUNT_OF(units); i++) {
		if (text[digits] != units[i].unit)
			continue;
		*ret_seconds = strtoll(text, NULL, 10) * units[i].seconds;
		return 0;
	}
	return -EINVAL;
}

/* Levenshtein, one row at a time. Both are at most NAME_MAX_LEN long. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_LEN + 1];
	size_t a_len = strlen(a), b_len = strlen(b);
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t above = row[j];
			row[j] =
				least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_len];
}

const char *units_nearest(const char *text, const char *const *names, size_t count)
{
	const char *best = NULL;
	size_t best_distance = 0;
	size_t len = strnlen(text, NAME_MAX_LEN + 1);
	if (len > NAME_MAX_LEN)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (strlen(names[i]) > NAME_MAX_LEN)
			continue;
		size_t distance = edit_distance(text, names[i]);
		if (distance > 1 && len >= 3 && strncmp(names[i], text, len) == 0)
			distance = 1; /* the beginning of a name is as near as a slip */
		bool is_near = distance <= len / 3 + 1 && distance < len;
		bool is_better = !best || distance < best_distance ||
				 (distance == best_distance && strlen(names[i]) < strlen(best));
		if (is_near && is_better) {
			best = names[i];
			best_distance = distance;
		}
	}
	return best;
}
