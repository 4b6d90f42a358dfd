/* SPDX-License-Identifier: Apache-2.0 */
#include "server/form.h"

#include <string.h>

#include "base/own.h"

/* What a job says, and the path of a request says for it. */
static bool is_of_path(const struct field *field)
{
	static const char *const names[] = { "verb", "session", "id" };
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (strcmp(names[i], field->name) == 0)
			return true;
	return false;
}

static const struct field *job_field(const struct form *form, size_t number)
{
	size_t count = 0;
	const struct field *own = asked_fields(form->kind, &count);
	for (size_t i = 0; i < count; i++)
		if (!is_of_path(&own[i]) && number-- == 0)
			return &own[i];
	for (size_t i = 0; i < spec_field_count; i++)
		if (asked_takes(form->kind, &spec_fields[i]) && number-- == 0)
			return &spec_fields[i];
	return NULL;
}

const struct field *form_field(const struct form *form, size_t number)
{
	const struct field *field = form->fields;
	for (; field && field->name; field++)
		if (number-- == 0)
			return field;
	return form->is_job ? job_field(form, number) : NULL;
}

const struct field *form_find(const struct form *form, const char *name)
{
	const struct field *field = NULL;
	for (size_t i = 0; (field = form_field(form, i)) != NULL; i++)
		if (strcmp(field->name, name) == 0)
			return field;
	return NULL;
}
