/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "worker/worker.h"

static int64_t cpu_us(const char *result)
{
	return work_cpu_us(result, strlen(result));
}

TEST(the_cpu_time_is_that_of_the_program_and_its_compiler)
{
	ASSERT_EQ(
		cpu_us("{\"usage\":{\"wall_ms\":2.1,\"cpu_ms\":1.4,\"processes\":1},\"meta\":{}}"),
		1400);
	ASSERT_EQ(cpu_us("{\"usage\":{\"wall_ms\":2,\"cpu_ms\":0.442},\"meta\":{\"compile\":"
			 "{\"duration\":1,\"cpu_ms\":1000}}}"),
		1000442);
	ASSERT_EQ(cpu_us("{\"usage\":{\"wall_ms\":2,\"cpu_ms\":7"), 7000);
}

TEST(what_code_shows_is_not_taken_for_it)
{
	ASSERT_EQ(cpu_us("{\"outputs\":[{\"data\":{\"application/json\":{\"usage\":{\"wall_ms\":1,"
			 "\"cpu_ms\":99}}}}],\"usage\":{\"wall_ms\":2,\"cpu_ms\":5},\"meta\":{}}"),
		5000);
	ASSERT_EQ(cpu_us("{\"stdout\":\"\\\"usage\\\":{\\\"wall_ms\\\":1,\\\"cpu_ms\\\":9}\"}"), 0);
}

TEST(nonsense_is_nothing)
{
	static const char *const texts[] = { "", "{}", "{\"usage\":{\"wall_ms\":1}}",
		"{\"usage\":{\"wall_ms\":1,\"cpu_ms\":-5}}",
		"{\"usage\":{\"wall_ms\":1,\"cpu_ms\":",
		"{\"usage\":{\"wall_ms\":1,\"cpu_ms\":1e300}}", "{\"cpu_ms\":5}" };
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		ASSERT_EQ(cpu_us(texts[i]), 0);
}
