/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller of the library may say, and what becomes of it. */
#include <hotcell.h>

#include "lib/parts.h"
#include "test.h"

static struct hotcell_error error;

static struct spec built(const struct hotcell_spec *asked)
{
	struct err err = { 0 };
	struct spec spec;
	ASSERT_OK(spec_build(asked, NULL, &spec, &err));
	return spec;
}

TEST(fields_have_the_names_of_options_and_of_json)
{
	struct hotcell_spec *asked = hotcell_spec_new();
	ASSERT_EQ(hotcell_spec_set(asked, "max-output", "4K", &error), 0);
	ASSERT_EQ(hotcell_spec_set(asked, "block_imports", "true", &error), 0);
	ASSERT_EQ(hotcell_spec_set(asked, "timeout", "1.5", &error), 0);
	struct spec spec = built(asked);
	ASSERT_EQ(spec.max_output, 4096);
	ASSERT(spec.block_imports);
	ASSERT_EQ(spec.timeout_ms, 1500);
	spec_done(&spec);
	hotcell_spec_free(asked);
}

TEST(a_list_takes_one_more_item_with_each_call)
{
	struct hotcell_spec *asked = hotcell_spec_new();
	ASSERT_EQ(hotcell_spec_set(asked, "args", "a", &error), 0);
	ASSERT_EQ(hotcell_spec_set(asked, "args", "b c", &error), 0);
	struct spec spec = built(asked);
	ASSERT_EQ(spec.args.count, 2);
	ASSERT_STR(spec.args.items[1], "b c");
	spec_done(&spec);
	hotcell_spec_free(asked);
}

TEST(one_spec_serves_many_runs_and_none_of_them_changes_it)
{
	struct hotcell_spec *asked = hotcell_spec_new();
	ASSERT_EQ(hotcell_spec_set_json(asked, "{\"code\":\"1\",\"memory\":\"64M\"}", &error), 0);
	struct spec first = built(asked);
	first.memory = 1;
	spec_done(&first);
	struct spec second = built(asked);
	ASSERT_EQ(second.memory, 64 << 20);
	ASSERT_STR(second.code, "1");
	spec_done(&second);
	hotcell_spec_free(asked);
}

TEST(what_was_refused_leaves_the_spec_as_it_was)
{
	struct hotcell_spec *asked = hotcell_spec_new();
	ASSERT_EQ(hotcell_spec_set(asked, "timeout", "2", &error), 0);
	ASSERT_EQ(hotcell_spec_set(asked, "timeout", "-2", &error), -1);
	ASSERT_EQ(hotcell_spec_set(asked, "tmeout", "3", &error), -1);
	ASSERT_HAS(error.text, "did you mean 'timeout'?");
	ASSERT_EQ(hotcell_spec_set_json(asked, "{\"timeout\": 4, \"memry\": 1}", &error), -1);
	struct spec spec = built(asked);
	ASSERT_EQ(spec.timeout_ms, 2000);
	spec_done(&spec);
	hotcell_spec_free(asked);
}
