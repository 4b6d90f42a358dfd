/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include "model/spec.h"

TEST(every_field_has_name_help_metavar_and_example)
{
	for (size_t i = 0; i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		ASSERT(field->name && field->help && field->metavar && field->example);
		ASSERT(field->type > FIELD_NONE && field->type < FIELD_TYPE_COUNT);
		ASSERT_EQ(field->has_no_flag, !field->flag);
		ASSERT(field->help[strlen(field->help) - 1] != '.');
	}
}

/* A shell takes the quotes off before we see the value. */
static char *unquoted(const char *example)
{
	size_t len = strlen(example);
	return *example == '\'' ? xstrndup(example + 1, len - 2) : xstrdup(example);
}

TEST(every_example_and_every_default_works)
{
	for (size_t i = 0; i < spec_field_count; i++) {
		struct err err = { 0 };
		struct spec spec;
		auto_free char *example = unquoted(spec_fields[i].example);
		spec_init(&spec);
		ASSERT_OK(spec_set(&spec, &spec_fields[i], example, &err));
		ASSERT_EQ(spec.given, UINT64_C(1) << i);
		spec_done(&spec);
	}
}

TEST(names_flags_and_letters_are_unique)
{
	for (size_t i = 0; i < spec_field_count; i++) {
		const struct field *a = &spec_fields[i];
		for (size_t k = 0; k < i; k++) {
			const struct field *b = &spec_fields[k];
			ASSERT(strcmp(a->name, b->name) != 0);
			ASSERT(!a->flag || !b->flag || strcmp(a->flag, b->flag) != 0);
			ASSERT(!a->short_flag || a->short_flag != b->short_flag);
			ASSERT(a->offset != b->offset);
		}
	}
}

TEST(numbers_and_lists_have_bounds)
{
	for (size_t i = 0; i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		bool is_unbounded = field->type == FIELD_BOOL || field->type == FIELD_TEXT ||
				    field->type == FIELD_CHOICE;
		ASSERT(is_unbounded || field->max > field->min);
		ASSERT(field->type != FIELD_CHOICE || field->choices);
	}
}

TEST(net_modes_end_with_null)
{
	for (int i = 0; i < NET_MODE_COUNT; i++)
		ASSERT(net_mode_names[i]);
	ASSERT(!net_mode_names[NET_MODE_COUNT]);
}
