/* SPDX-License-Identifier: Apache-2.0 */
/* A number that was read is not negative, and what we write we read back as the same. */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "model/units.h"

static void check_size(const char *text)
{
	int64_t value = 0, back = -1;
	char again[64];
	if (units_parse_size(text, &value) < 0)
		return;
	MUST(value >= 0);
	units_format_size(value, again, sizeof(again));
	MUST(units_parse_size(again, &back) == 0 && back == value);
}

static void check_milli(const char *text)
{
	int64_t value = 0, back = -1;
	char again[64];
	if (units_parse_milli(text, &value) < 0)
		return;
	MUST(value >= 0);
	units_format_milli(value, again, sizeof(again));
	MUST(units_parse_milli(again, &back) == 0 && back == value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "timeout", "memory", "net", "x" };
	int64_t count = 0;
	auto_free char *text = xstrndup((const char *)data, size);
	check_size(text);
	check_milli(text);
	if (units_parse_count(text, &count) == 0)
		MUST(count >= 0 && strspn(text, "0123456789") == strlen(text));
	const char *near = units_nearest(text, names, COUNT_OF(names));
	MUST(!near || *near != '\0');
	return 0;
}
