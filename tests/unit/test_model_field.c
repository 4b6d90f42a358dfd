/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "model/field.h"

static struct err err;

static int set(const char *name, const char *text)
{
	struct spec spec;
	spec_init(&spec);
	int r = field_set(&spec, spec_field(name), text, VOICE_JSON, &err);
	spec_done(&spec);
	return r;
}

TEST(field_set_for_json_speaks_json)
{
	ASSERT_FAIL(set("timeout", "0"), ERR_INVALID);
	ASSERT_STR(err.text, "timeout: '0' is out of range (0.01 to 86400 seconds), for example "
			     "\"timeout\": 33");
	ASSERT_FAIL(set("memory", "x"), ERR_INVALID);
	ASSERT_HAS(err.text, ", for example \"memory\": \"512M\"");
	ASSERT_FAIL(set("outs", ":x"), ERR_INVALID);
	ASSERT_HAS(err.text, ", for example \"outs\": [\"*.png:pictures\"]");
	ASSERT_FAIL(set("cold", "x"), ERR_INVALID);
	ASSERT_HAS(err.text, ", for example \"cold\": true");
}

TEST(field_refuse_names_positional_fields_by_their_placeholder)
{
	(void)field_refuse(spec_field("exec"), VOICE_FLAG, ERR_LIMIT, &err, "is %s", "odd");
	ASSERT_STR(err.text, "PROG: is odd, for example ls");
	ASSERT_EQ(err.code, ERR_LIMIT);
}

TEST(field_add_takes_colons_literally)
{
	struct spec spec;
	spec_init(&spec);
	ASSERT_OK(field_add(&spec, spec_field("files"), "a:b", "c", VOICE_JSON, &err));
	ASSERT_STR(spec.files.items[0].from, "a:b");
	ASSERT_STR(spec.files.items[0].to, "c");
	ASSERT(spec_is_given(&spec, spec_field("files")));
	spec_done(&spec);
}

TEST(field_errors_stay_short_whatever_the_value)
{
	char longer[3000];
	memset(longer, 'y', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	ASSERT_FAIL(set("memory", longer), ERR_INVALID);
	ASSERT(strlen(err.text) < 200);
	ASSERT_HAS(err.text, "for example");
}
