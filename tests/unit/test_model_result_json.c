/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <signal.h>

#include "model/result.h"
#include "wire/json.h"

static struct err err;

static struct json_object *parse(const char *text)
{
	struct json_object *json = NULL;
	ASSERT_OK(json_read(text, strlen(text), 1 << 20, 16, &json, &err));
	return json;
}

static void fill(struct result *result)
{
	result_init(result);
	result->status = STATUS_SIGNAL;
	result->signal = SIGSEGV;
	result->runtime = "local";
	result->out = (struct captured){ .text = xstrdup("a\xff\n"), .len = 3, .total_bytes = 900 };
	result->out.is_truncated = true;
	result->out.spilled_to = xstrdup("/srv/spill/stdout");
	result->usage = (struct usage){ .wall_us = 2100, .cpu_us = 1400, .max_memory_kb = 9120 };
	result_set_error(result, "runtime", "Execution failed: %s", "x");
	(void)snprintf(result->language, sizeof(result->language), "python");
	result->files = xcalloc(1, sizeof(*result->files));
	result->files[0] = (struct out_file){ .path = xstrdup("p.png"), .size = 7 };
	result->files[0].refused = xstrdup("a symbolic link");
	result->file_count = 1;
	result_warn(result, "careful");
	result->isolation[0] = (struct isolation_item){ .key = "seccomp", .number = 1 };
	result->isolation[1] =
		(struct isolation_item){ .key = "landlock", ISOLATION_NUMBER, 7, "" };
	result->isolation[2] = (struct isolation_item){ .key = "cgroup", ISOLATION_TEXT, 0, "v1" };
	result->isolation_count = 3;
	struct denial denial = { .layer = "network", .operation = "socket", .evidence = "kernel" };
	result_add_denial(result, &denial);
}

TEST(result_to_json_has_exactly_the_documented_shape)
{
	struct spec spec;
	struct result result;
	spec_init(&spec);
	fill(&result);
	(void)snprintf(result.id, sizeof(result.id), "ID");
	auto_free char *text = result_to_json(&result, &spec, false);
	ASSERT_STR(text,
		"{\"id\":\"ID\",\"status\":\"signal\",\"stdout\":\"a\xef\xbf\xbd\\n\",\"stderr\":"
		"\"\","
		"\"exit_code\":139,\"signal\":11,\"duration\":0.0021,\"outputs\":[],"
		"\"error\":{\"kind\":\"runtime\",\"message\":\"Execution failed: x\",\"name\":null,"
		"\"value\":null,\"traceback\":[],\"line\":null,\"column\":null,\"context\":[],"
		"\"documentation\":null},"
		"\"hint\":null,"
		"\"denials\":[{\"layer\":\"network\",\"operation\":\"socket\",\"target\":null,"
		"\"option\":null,\"evidence\":\"kernel\",\"count\":1}],"
		"\"usage\":{\"wall_ms\":2.1,\"cpu_ms\":1.4,\"max_memory_kb\":9120,\"processes\":0,"
		"\"read_bytes\":0,\"write_bytes\":0},"
		"\"files\":[{\"path\":\"p.png\",\"size\":7,\"saved_to\":null,"
		"\"refused\":\"a symbolic link\"}],"
		"\"meta\":{\"runtime\":\"local\",\"language\":\"python\",\"language_version\":null,"
		"\"compile\":null,"
		"\"warm\":false,\"truncated\":true,\"stdout_bytes\":900,\"stderr_bytes\":0,"
		"\"stdout_file\":\"/srv/spill/"
		"stdout\",\"guard\":{\"profile\":\"standard\",\"verdict\":null},\"blocked_"
		"imports\":[],"
		"\"warnings\":[\"careful\"],"
		"\"resource_limits\":{\"timeout\":33,\"cpu_time\":null,\"memory\":536870912,"
		"\"pids\":128,\"disk\":268435456,\"inodes\":16384,\"cpus\":null,"
		"\"max_output\":10240,\"output_limit\":67108864},"
		"\"isolation\":{\"seccomp\":true,\"landlock\":7,\"cgroup\":\"v1\"},"
		"\"execution_mode\":\"direct\"}}");
	result_done(&result);
	spec_done(&spec);
}

TEST(result_to_json_says_whether_the_code_was_compiled_before)
{
	struct spec spec;
	struct result result;
	spec_init(&spec);
	result_init(&result);
	result.compiled.is_compiled = true;
	result.compiled.usage.wall_us = 1500;
	auto_free char *anew = result_to_json(&result, &spec, false);
	ASSERT_HAS(anew, "\"compile\":{\"cached\":false,\"duration\":0.0015,\"cpu_ms\":0,");
	result.compiled.is_cached = true;
	result.compiled.usage.wall_us = 0;
	auto_free char *cached = result_to_json(&result, &spec, false);
	ASSERT_HAS(cached, "\"compile\":{\"cached\":true,\"duration\":0,\"cpu_ms\":0,");
	result_done(&result);
	spec_done(&spec);
}

TEST(result_to_json_of_an_empty_result_is_whole)
{
	struct spec spec;
	struct result result;
	spec_init(&spec);
	result_init(&result);
	auto_free char *text = result_to_json(&result, &spec, true);
	auto_json struct json_object *json = parse(text);
	ASSERT_EQ(json_object_object_length(json), 14);
	ASSERT(!json_object_object_get(json, "error"));
	ASSERT(!json_object_object_get(json, "signal"));
	ASSERT(json_object_object_get_ex(json, "signal", NULL));
	ASSERT(strchr(text, '\n'));
	result_done(&result);
	spec_done(&spec);
}

TEST(result_to_json_shows_a_limit_of_zero_bytes)
{
	struct spec spec;
	struct result result;
	spec_init(&spec);
	result_init(&result);
	ASSERT_OK(spec_set(&spec, spec_field("max_output"), "0", &err));
	ASSERT_OK(spec_set(&spec, spec_field("cpus"), "0.5", &err));
	ASSERT_OK(spec_set(&spec, spec_field("cpu_time"), "1.5", &err));
	auto_free char *text = result_to_json(&result, &spec, false);
	ASSERT_HAS(text, "\"max_output\":0,");
	ASSERT_HAS(text, "\"cpus\":0.5,");
	ASSERT_HAS(text, "\"cpu_time\":1.5,");
	result_done(&result);
	spec_done(&spec);
}

TEST(event_to_json_is_one_valid_line)
{
	auto_free char *line = event_to_json("ID", 4, "stdout", "a\n\xff", 3);
	ASSERT_STR(line,
		"{\"event\":\"stdout\",\"data\":\"a\\n\xef\xbf\xbd\",\"execution_id\":\"ID\","
		"\"seq\":4}\n");
}

TEST(event_done_embeds_the_result_on_one_line)
{
	const char pretty[] = "{\n  \"a\": \"x\\ny\"\n}TAIL";
	auto_free char *line = event_to_json("ID", 5, "done", pretty, strlen(pretty) - 4);
	ASSERT_EQ(strcspn(line, "\n"), strlen(line) - 1);
	auto_json struct json_object *json = parse(line);
	struct json_object *data = json_object_object_get(json, "data");
	ASSERT_STR(json_object_get_string(json_object_object_get(data, "a")), "x\ny");
	ASSERT_EQ(json_object_get_int(json_object_object_get(json, "seq")), 5);
	ASSERT_STR(json_object_get_string(json_object_object_get(json, "event")), "done");
}
