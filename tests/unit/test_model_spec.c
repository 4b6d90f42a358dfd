/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "model/limits.h"
#include "model/spec.h"

static struct err err;

static int set(struct spec *spec, const char *flag, const char *text)
{
	return spec_set(spec, spec_flag(flag), text, &err);
}

TEST(lists_are_the_same_when_all_their_items_are)
{
	struct strings one = { 0 };
	struct strings other = { 0 };
	ASSERT(strings_are_same(&one, &other));
	strings_add(&one, "a");
	ASSERT(!strings_are_same(&one, &other));
	strings_add(&other, "a");
	ASSERT(strings_are_same(&one, &other));
	strings_add(&one, "b");
	strings_add(&other, "c");
	ASSERT(!strings_are_same(&one, &other));
	strings_done(&one);
	strings_done(&other);
}

TEST(spec_init_gives_the_documented_defaults)
{
	struct spec spec;
	spec_init(&spec);
	ASSERT_EQ(spec.timeout_ms, 33000);
	ASSERT_EQ(spec.cpu_time_ms, 0);
	ASSERT_EQ(spec.memory, 512 << 20);
	ASSERT_EQ(spec.pids, 128);
	ASSERT_EQ(spec.disk, 256 << 20);
	ASSERT_EQ(spec.inodes, 16384);
	ASSERT_EQ(spec.cpus_milli, 0);
	ASSERT_EQ(spec.max_output, 10240);
	ASSERT_EQ(spec.output_limit, 64 << 20);
	ASSERT_EQ(spec.net, NET_NONE);
	ASSERT_STR(spec.provider, "local");
	ASSERT_STR(spec.rootfs, "host");
	ASSERT(!spec.cold && !spec.language && !spec.code && !spec.stdin_path);
	ASSERT_EQ(spec.given, 0);
	spec_done(&spec);
}

TEST(spec_set_reads_every_type_and_marks_it_given)
{
	struct spec spec;
	spec_init(&spec);
	ASSERT_OK(set(&spec, "timeout", "1.5"));
	ASSERT_OK(set(&spec, "memory", "64M"));
	ASSERT_OK(set(&spec, "pids", "7"));
	ASSERT_OK(set(&spec, "cpus", "0.5"));
	ASSERT_OK(set(&spec, "net", "loopback"));
	ASSERT_OK(set(&spec, "cold", NULL));
	ASSERT_OK(set(&spec, "language", "sh"));
	ASSERT_OK(set(&spec, "language", "bash"));
	ASSERT_OK(set(&spec, "env", "A=1"));
	ASSERT_OK(set(&spec, "env", "B"));
	ASSERT_OK(set(&spec, "require", "seccomp,landlock"));
	ASSERT_OK(set(&spec, "file", "a:b"));
	ASSERT_EQ(spec.timeout_ms, 1500);
	ASSERT_EQ(spec.memory, 64 << 20);
	ASSERT_EQ(spec.pids, 7);
	ASSERT_EQ(spec.cpus_milli, 500);
	ASSERT_EQ(spec.net, NET_LOOPBACK);
	ASSERT(spec.cold);
	ASSERT_STR(spec.language, "bash");
	ASSERT_EQ(spec.env.count, 2);
	ASSERT_STR(spec.env.items[1], "B");
	ASSERT(!spec.env.items[2]);
	ASSERT_EQ(spec.require.count, 2);
	ASSERT_STR(spec.require.items[1], "landlock");
	ASSERT_STR(spec.files.items[0].to, "b");
	ASSERT(spec_is_given(&spec, spec_flag("timeout")));
	ASSERT(spec_is_given(&spec, spec_flag("file")));
	ASSERT(!spec_is_given(&spec, spec_flag("disk")));
	spec_done(&spec);
}

/* clang-format off */
static const struct { const char *flag, *text, *want; } refused[] = {
	{ "timeout", "0", "--timeout: '0' is out of range (0.01 to 86400 seconds), for example --timeout 33" },
	{ "timeout", "86400.001", "out of range" },
	{ "timeout", "-1", "--timeout: '-1' is not a number of seconds (0.01 to 86400 seconds)" },
	{ "timeout", "", "--timeout: '' is not a number of seconds" },
	{ "timeout", "nan", "is not a number of seconds" },
	{ "timeout", "inf", "is not a number of seconds" },
	{ "timeout", "3s", "is not a number of seconds" },
	{ "timeout", "99999999999999999999", "out of range" },
	{ "cpu-time", "0", "--cpu-time: '0' is out of range" },
	{ "memory", "3M", "--memory: '3M' is out of range (4M to 1T bytes), for example --memory 512M" },
	{ "memory", "2T", "out of range" },
	{ "memory", "12X", "--memory: '12X' is not a size (4M to 1T bytes)" },
	{ "memory", "12X\033[2J", "'12X^[[2J'" },
	{ "pids", "0", "--pids: '0' is out of range (1 to 32768), for example --pids 128" },
	{ "pids", "1.5", "is not a whole number" },
	{ "disk", "63K", "out of range (64K to 1T bytes)" },
	{ "inodes", "15", "out of range (16 to 16777216)" },
	{ "cpus", "0", "out of range (0.01 to 1024 CPUs)" },
	{ "max-output", "65M", "out of range (0 to 64M bytes)" },
	{ "output-limit", "1", "out of range (1K to 1T bytes)" },
	{ "net", "allow", "--net: 'allow' is not known (valid: none, loopback), for example --net loopback" },
	{ "net", "lopback", "did you mean 'loopback'?" },
	{ "provider", "locl", "--provider: 'locl' is not known (valid: local; did you mean 'local'?)" },
	{ "language", "", "--language: '' is empty" },
	{ "cold", "maybe", "--cold: 'maybe' is neither true nor false, for example --cold" },
	{ "require", "a,,b", "empty name" },
	{ "require", "", "empty name" },
	{ "require", "Sec comp", "not a list of names" },
	{ "file", "", "--file: '' has an empty part" },
	{ "file", "a:", "empty part" },
	{ "ro", ":/mnt/x", "empty part" },
	{ "timeout", NULL, "--timeout: needs a value" },
};
/* clang-format on */

TEST(spec_set_refuses_in_one_sentence_with_range_and_example)
{
	struct spec spec;
	spec_init(&spec);
	for (size_t i = 0; i < COUNT_OF(refused); i++) {
		ASSERT_FAIL(set(&spec, refused[i].flag, refused[i].text), ERR_INVALID);
		ASSERT_HAS(err.text, refused[i].want);
		ASSERT_HAS(err.text, ", for example --");
		ASSERT(!strchr(err.text, '\n') && !strchr(err.text, '\033'));
	}
	ASSERT_EQ(spec.given, 0);
	ASSERT_EQ(spec.timeout_ms, 33000);
	spec_done(&spec);
}

TEST(spec_set_takes_both_ends_of_every_range)
{
	struct spec spec;
	spec_init(&spec);
	ASSERT_OK(set(&spec, "timeout", "0.01"));
	ASSERT_OK(set(&spec, "timeout", "86400"));
	ASSERT_OK(set(&spec, "memory", "4M"));
	ASSERT_OK(set(&spec, "memory", "1T"));
	ASSERT_OK(set(&spec, "max-output", "0"));
	ASSERT_OK(set(&spec, "cpu-time", "none"));
	ASSERT_OK(set(&spec, "cpus", "host"));
	ASSERT_EQ(spec.max_output, 0);
	spec_done(&spec);
}

TEST(spec_set_bounds_long_texts_and_long_lists)
{
	struct spec spec;
	auto_free char *longer = xcalloc(LIMIT_STRING + 2, 1);
	spec_init(&spec);
	memset(longer, 'x', LIMIT_STRING + 1);
	ASSERT_FAIL(set(&spec, "env", longer), ERR_LIMIT);
	ASSERT_FAIL(set(&spec, "language", longer), ERR_LIMIT);
	ASSERT_OK(set(&spec, "code", longer));
	for (int i = 0; i < LIMIT_ENV; i++)
		ASSERT_OK(set(&spec, "env", "A=1"));
	ASSERT_FAIL(set(&spec, "env", "A=1"), ERR_LIMIT);
	ASSERT_HAS(err.text, "--env: more than 1024 are given");
	spec_done(&spec);
}

TEST(spec_set_default_yields_to_the_asker)
{
	struct spec spec;
	spec_init(&spec);
	ASSERT_OK(set(&spec, "pids", "9"));
	ASSERT_OK(spec_set_default(&spec, spec_field("pids"), "50", &err));
	ASSERT_OK(spec_set_default(&spec, spec_field("memory"), "1G", &err));
	ASSERT_EQ(spec.pids, 9);
	ASSERT_EQ(spec.memory, 1 << 30);
	ASSERT(!spec_is_given(&spec, spec_field("memory")));
	ASSERT_FAIL(spec_set_default(&spec, spec_field("disk"), "x", &err), ERR_INVALID);
	spec_done(&spec);
}

TEST(spec_field_knows_names_and_flags)
{
	ASSERT_STR(spec_field("cpu-time")->name, "cpu_time");
	ASSERT_STR(spec_field("cpu_time")->name, "cpu_time");
	ASSERT_STR(spec_field("out")->name, "outs");
	ASSERT_STR(spec_field("file")->name, "file");
	ASSERT_STR(spec_flag("file")->name, "files");
	ASSERT(!spec_flag("exec"));
	ASSERT(!spec_field("time"));
	ASSERT(!spec_field(""));
}

TEST(pair_parse_splits_at_the_first_plain_colon)
{
	/* clang-format off */
	static const struct { const char *text, *from, *to; } samples[] = {
		{ "a", "a", NULL },
		{ "a:b", "a", "b" },
		{ "a:b:c", "a", "b:c" },
		{ "a\\:b", "a:b", NULL },
		{ "a\\:b:c\\:d", "a:b", "c\\:d" },
		{ "*\\?.txt:d", "*\\?.txt", "d" },
		{ "a\\", "a\\", NULL },
	};
	/* clang-format on */
	for (size_t i = 0; i < COUNT_OF(samples); i++) {
		struct pair pair = { 0 };
		ASSERT(pair_parse(samples[i].text, &pair));
		auto_free char *from = pair.from;
		auto_free char *to = pair.to;
		ASSERT_STR(from, samples[i].from);
		if (samples[i].to)
			ASSERT_STR(to, samples[i].to);
		ASSERT_EQ(!to, !samples[i].to);
	}
	struct pair pair = { 0 };
	ASSERT(!pair_parse("", &pair));
	ASSERT(!pair_parse(":b", &pair));
	ASSERT(!pair_parse("a:", &pair));
	ASSERT(!pair.from);
}

TEST(lists_stay_terminated_while_they_grow)
{
	struct strings list = { 0 };
	for (size_t i = 0; i < 100; i++) {
		strings_add(&list, "x");
		ASSERT_EQ(list.count, i + 1);
		ASSERT(!list.items[list.count]);
	}
	strings_done(&list);
	ASSERT(!list.items);
}
