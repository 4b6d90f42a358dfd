/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "model/limits.h"
#include "model/spec.h"

static struct err err;

static int read_spec(struct spec *spec, const char *text)
{
	spec_init(spec);
	return spec_from_json(spec, text, strlen(text), &err);
}

TEST(spec_from_json_reads_natural_types)
{
	struct spec spec;
	ASSERT_OK(read_spec(&spec,
		"{\"code\": \"print(1)\\n\", \"language\": \"py\", \"timeout\": 1.5, \"cpu_time\": "
		"2,"
		" \"memory\": 67108864, \"disk\": \"1M\", \"pids\": 5, \"cpus\": \"0.5\","
		" \"net\": \"loopback\", \"cold\": true, \"args\": [\"a\", \"\"],"
		" \"require\": [\"seccomp\"], \"without\": \"cgroup,landlock\","
		" \"stdin\": \"in.txt\", \"max_output\": 1e3, \"inodes\": null}"));
	ASSERT_STR(spec.code, "print(1)\n");
	ASSERT_STR(spec.language, "py");
	ASSERT_EQ(spec.timeout_ms, 1500);
	ASSERT_EQ(spec.cpu_time_ms, 2000);
	ASSERT_EQ(spec.memory, 64 << 20);
	ASSERT_EQ(spec.disk, 1 << 20);
	ASSERT_EQ(spec.pids, 5);
	ASSERT_EQ(spec.cpus_milli, 500);
	ASSERT_EQ(spec.net, NET_LOOPBACK);
	ASSERT(spec.cold);
	ASSERT_EQ(spec.args.count, 2);
	ASSERT_STR(spec.args.items[1], "");
	ASSERT_STR(spec.require.items[0], "seccomp");
	ASSERT_STR(spec.without.items[1], "landlock");
	ASSERT_STR(spec.stdin_path, "in.txt");
	ASSERT_EQ(spec.max_output, 1000);
	ASSERT_EQ(spec.inodes, 16384);
	ASSERT(spec_is_given(&spec, spec_field("timeout")));
	ASSERT(!spec_is_given(&spec, spec_field("inodes")));
	spec_done(&spec);
}

TEST(spec_from_json_reads_pairs_as_text_or_objects)
{
	struct spec spec;
	ASSERT_OK(read_spec(&spec,
		"{\"files\": [\"a:b\", {\"from\": \"c:d\", \"to\": \"e\"}, {\"from\": \"f\"},"
		" {\"from\": \"g\", \"to\": null}]}"));
	ASSERT_EQ(spec.files.count, 4);
	ASSERT_STR(spec.files.items[0].to, "b");
	ASSERT_STR(spec.files.items[1].from, "c:d");
	ASSERT_STR(spec.files.items[1].to, "e");
	ASSERT(!spec.files.items[2].to);
	ASSERT(!spec.files.items[3].to);
	spec_done(&spec);
}

TEST(spec_from_json_reads_env_as_array_or_object)
{
	struct spec spec;
	ASSERT_OK(read_spec(&spec, "{\"env\": [\"A=1\", \"B\"]}"));
	ASSERT_STR(spec.env.items[1], "B");
	spec_done(&spec);
	ASSERT_OK(read_spec(&spec, "{\"env\": {\"A\": \"x=y\", \"B\": \"\"}}"));
	ASSERT_EQ(spec.env.count, 2);
	ASSERT_STR(spec.env.items[0], "A=x=y");
	ASSERT_STR(spec.env.items[1], "B=");
	spec_done(&spec);
}

/* clang-format off */
static const struct { const char *text, *want; } refused[] = {
	{ "{\"timout\": 3}", "unknown field 'timout', did you mean 'timeout'?" },
	{ "{\"cpu-time\": 3}", "unknown field 'cpu-time', did you mean 'cpu_time'?" },
	{ "{\"out\": []}", "unknown field 'out', did you mean 'outs'?" },
	{ "{\"zzzzzzzz\": 3}", "unknown field 'zzzzzzzz', see" },
	{ "{\"a\\u001b[2J\": 3}", "unknown field 'a^[[2J'" },
	{ "{\"timeout\": \"x\"}", "timeout: 'x' is not a number of seconds" },
	{ "{\"timeout\": -1}", "timeout: '-1' is not" },
	{ "{\"timeout\": 1e300}", "timeout: 1e+300 is not a number that can be used" },
	{ "{\"timeout\": 1e400}", "timeout: inf is not a number" },
	{ "{\"timeout\": true}", "timeout: must be a number or a string, not a boolean" },
	{ "{\"timeout\": [1]}", "must be a number or a string, not an array" },
	{ "{\"memory\": 67108864.5}", "memory: '67108864.5' is not a size" },
	{ "{\"memory\": 99999999999999999999}", "out of range" },
	{ "{\"pids\": 18446744073709551615}", "out of range" },
	{ "{\"code\": 3}", "code: must be a string, not a number" },
	{ "{\"cold\": \"true\"}", "cold: must be true or false, not a string" },
	{ "{\"net\": 1}", "net: must be a string" },
	{ "{\"net\": \"allow\"}", "valid: none, loopback" },
	{ "{\"exec\": \"ls\"}", "exec: must be an array, not a string" },
	{ "{\"args\": [1]}", "args: must be an array of strings, not a number" },
	{ "{\"args\": {}}", "args: must be an array, not an object" },
	{ "{\"env\": {\"A\": 1}}", "env: the value of 'A' must be a string, not a number" },
	{ "{\"env\": {\"A\": null}}", "must be a string, not null" },
	{ "{\"env\": {\"A=B\": \"1\"}}", "the name 'A=B' has a '='" },
	{ "{\"files\": [{\"from\": \"a\", \"dst\": \"b\"}]}", "unknown key 'dst' (valid: from, to)" },
	{ "{\"files\": [{\"to\": \"b\"}]}", "missing or empty" },
	{ "{\"files\": [{\"from\": \"\"}]}", "missing or empty" },
	{ "{\"files\": [{\"from\": 1}]}", "'from' must be a string" },
	{ "{\"files\": [null]}", "files: must be an array of strings or objects, not null" },
	{ "{\"code\": \"a\\u0000b\"}", "NUL" },
	{ "{} x", "line 1, column 4" },
};
/* clang-format on */

TEST(spec_from_json_refuses_what_it_does_not_understand)
{
	for (size_t i = 0; i < COUNT_OF(refused); i++) {
		struct spec spec;
		if (read_spec(&spec, refused[i].text) == 0)
			FAIL("%s was taken", refused[i].text);
		ASSERT_EQ(err.code, ERR_INVALID);
		ASSERT_HAS(err.text, refused[i].want);
		spec_done(&spec);
	}
}

TEST(spec_from_json_lets_the_last_of_two_win)
{
	struct spec spec;
	ASSERT_OK(read_spec(&spec, "{\"pids\": 5, \"pids\": 6}"));
	ASSERT_EQ(spec.pids, 6);
	spec_done(&spec);
}

TEST(spec_from_json_bounds_depth_and_size)
{
	struct spec spec;
	ASSERT_FAIL(read_spec(&spec, "{\"args\": [[[[[[[[[[1]]]]]]]]]]}"), ERR_LIMIT);
	spec_done(&spec);
	auto_free char *longer = xcalloc(LIMIT_SPEC_BYTES + 2, 1);
	memset(longer, '{', LIMIT_SPEC_BYTES + 1);
	ASSERT_FAIL(read_spec(&spec, longer), ERR_LIMIT);
	spec_done(&spec);
}
