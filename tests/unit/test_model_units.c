/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>

#include "model/units.h"

/* clang-format off */
static const struct { const char *text; int64_t want; } sizes[] = {
	{ "0", 0 }, { "512", 512 }, { "512B", 512 }, { "1k", 1024 }, { "64K", 65536 },
	{ "10MB", 10485760 }, { "1GiB", 1073741824 }, { "1gib", 1073741824 },
	{ "1.5G", 1610612736 }, { "0.5K", 512 }, { "1T", 1099511627776 }, { "007", 7 },
	{ "8388607.999999T", 9223372036853676296 },
};

static const char *const bad_sizes[] = {
	"", "K", "-1", "+1", " 1", "1 ", "1 K", "1.5", "1.", ".5", "1.K", "1KK", "1KX", "1P", "0x10",
	"1e3", "nan", "inf", "1,5G", "1Ki", "1iB", "B", "1BB",
};

static const char *const long_numbers[] = {
	"9223372036854775808", "99999999999999999999999", "8388608T", "9007199254740993K",
};

static const struct { const char *text; int64_t want; } millis[] = {
	{ "33", 33000 }, { "0.5", 500 }, { "1.250", 1250 }, { "0.01", 10 }, { "0.0019", 1 },
	{ "0.000000000000000001", 0 }, { "86400", 86400000 },
};
/* clang-format on */

TEST(units_parse_size_reads_what_people_write)
{
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		int64_t value = -1;
		ASSERT_EQ(units_parse_size(sizes[i].text, &value), 0);
		ASSERT_EQ(value, sizes[i].want);
	}
}

TEST(units_parse_size_refuses_garbage)
{
	for (size_t i = 0; i < COUNT_OF(bad_sizes); i++) {
		int64_t value = -1;
		if (units_parse_size(bad_sizes[i], &value) != -EINVAL)
			FAIL("'%s' was taken", bad_sizes[i]);
		ASSERT_EQ(value, -1);
	}
}

TEST(units_parse_refuses_overflow)
{
	for (size_t i = 0; i < COUNT_OF(long_numbers); i++) {
		int64_t value = -1;
		ASSERT_EQ(units_parse_size(long_numbers[i], &value), -ERANGE);
		ASSERT_EQ(value, -1);
	}
	int64_t value;
	ASSERT_EQ(units_parse_milli("9223372036854776", &value), -ERANGE);
	ASSERT_EQ(units_parse_count("9223372036854775808", &value), -ERANGE);
	ASSERT_EQ(units_parse_count("9223372036854775807", &value), 0);
	ASSERT_EQ(value, INT64_MAX);
}

TEST(units_parse_milli_reads_fractions)
{
	for (size_t i = 0; i < COUNT_OF(millis); i++) {
		int64_t value = -1;
		ASSERT_EQ(units_parse_milli(millis[i].text, &value), 0);
		ASSERT_EQ(value, millis[i].want);
	}
}

TEST(units_parse_milli_refuses_garbage)
{
	static const char *const bad[] = { "", "-1", "1s", "1.", ".5", "nan", "inf", "1e3", "1 " };
	int64_t value;
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		ASSERT_EQ(units_parse_milli(bad[i], &value), -EINVAL);
}

TEST(units_parse_count_takes_whole_numbers_only)
{
	int64_t value;
	ASSERT_EQ(units_parse_count("128", &value), 0);
	ASSERT_EQ(value, 128);
	ASSERT_EQ(units_parse_count("1.0", &value), -EINVAL);
	ASSERT_EQ(units_parse_count("1K", &value), -EINVAL);
	ASSERT_EQ(units_parse_count("-1", &value), -EINVAL);
}

TEST(units_format_size_is_short_and_exact)
{
	/* clang-format off */
	static const struct { int64_t bytes; const char *want; } samples[] = {
		{ 0, "0" }, { 1, "1" }, { 1023, "1023" }, { 1024, "1K" }, { 1536, "1536" },
		{ 10240, "10K" }, { 536870912, "512M" }, { (int64_t)1 << 40, "1T" },
		{ (int64_t)1 << 50, "1024T" },
	};
	/* clang-format on */
	for (size_t i = 0; i < COUNT_OF(samples); i++) {
		char text[32];
		int64_t back;
		units_format_size(samples[i].bytes, text, sizeof(text));
		ASSERT_STR(text, samples[i].want);
		ASSERT_EQ(units_parse_size(text, &back), 0);
		ASSERT_EQ(back, samples[i].bytes);
	}
}

TEST(units_format_milli_drops_zeros)
{
	char text[32];
	units_format_milli(33000, text, sizeof(text));
	ASSERT_STR(text, "33");
	units_format_milli(10, text, sizeof(text));
	ASSERT_STR(text, "0.01");
	units_format_milli(1250, text, sizeof(text));
	ASSERT_STR(text, "1.25");
	units_format_milli(0, text, sizeof(text));
	ASSERT_STR(text, "0");
	units_format_milli(100000, text, sizeof(text));
	ASSERT_STR(text, "100");
}

TEST(units_parse_span_takes_a_number_and_one_unit)
{
	int64_t seconds = 0;
	ASSERT_EQ(units_parse_span("90s", &seconds), 0);
	ASSERT_EQ(seconds, 90);
	ASSERT_EQ(units_parse_span("2h", &seconds), 0);
	ASSERT_EQ(seconds, 7200);
	ASSERT_EQ(units_parse_span("7d", &seconds), 0);
	ASSERT_EQ(seconds, 604800);
	const char *const wrong[] = { "", "7", "d", "7w", "-7d", "7dd", "1234567s", "1.5h" };
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ASSERT_EQ(units_parse_span(wrong[i], &seconds), -EINVAL);
}

TEST(units_nearest_finds_typing_mistakes_only)
{
	static const char *const names[] = { "timeout", "memory", "net", "env", "output_limit" };
	const size_t count = COUNT_OF(names);
	ASSERT_STR(units_nearest("timout", names, count), "timeout");
	ASSERT_STR(units_nearest("Timeout", names, count), "timeout");
	ASSERT_STR(units_nearest("mem", names, count), "memory");
	ASSERT_STR(units_nearest("nte", names, count), "net");
	ASSERT(!units_nearest("zzzzzz", names, count));
	ASSERT(!units_nearest("x", names, count));
	ASSERT(!units_nearest("", names, count));
	ASSERT(!units_nearest("net", names, 0));
	char longer[200];
	memset(longer, 't', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	ASSERT(!units_nearest(longer, names, count));
}
