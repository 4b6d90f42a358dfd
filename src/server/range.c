/* SPDX-License-Identifier: Apache-2.0 */
#include "server/range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Digits alone; what is too large for a number is larger than any file. False: there are none. */
static bool read_number(const char **at, uint64_t *ret_number)
{
	char *end = NULL;
	if (**at < '0' || **at > '9')
		return false;
	*ret_number = strtoull(*at, &end, 10);
	*at = end;
	return true;
}

/* "-N": the last N bytes. */
static bool read_suffix(const char *text, uint64_t size, struct range *range)
{
	uint64_t last = 0;
	if (!read_number(&text, &last) || *text != '\0')
		return true;
	range->len = last < size ? last : size;
	range->from = size - range->len;
	range->is_part = range->len > 0;
	return range->is_part;
}

bool range_read(const char *header, uint64_t size, struct range *ret_range)
{
	static const char unit[] = "bytes=";
	uint64_t first = 0;
	uint64_t last = UINT64_MAX;
	*ret_range = (struct range){ .len = size };
	if (!header || strncmp(header, unit, sizeof(unit) - 1) != 0)
		return true;
	const char *at = header + sizeof(unit) - 1;
	if (*at == '-')
		return read_suffix(at + 1, size, ret_range);
	if (!read_number(&at, &first) || *at++ != '-')
		return true;
	if (*at != '\0' && (!read_number(&at, &last) || *at != '\0' || last < first))
		return true;
	if (first >= size)
		return false;
	if (last >= size)
		last = size - 1;
	*ret_range = (struct range){ .from = first, .len = last - first + 1, .is_part = true };
	return true;
}
