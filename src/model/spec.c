/* SPDX-License-Identifier: Apache-2.0 */
#include "model/spec.h"

#include <string.h>

#include "base/own.h"
#include "model/field.h"

void strings_add(struct strings *list, const char *text)
{
	/* Room doubles whenever count + 1 (for the NULL) reaches a power of two. */
	size_t used = list->count + 1;
	if ((used & (used - 1)) == 0)
		list->items = xrealloc(list->items, used * 2, sizeof(*list->items));
	list->items[list->count++] = xstrdup(text);
	list->items[list->count] = NULL;
}

void strings_done(struct strings *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct strings){ 0 };
}

bool strings_are_same(const struct strings *one, const struct strings *other)
{
	if (one->count != other->count)
		return false;
	for (size_t i = 0; i < one->count; i++)
		if (strcmp(one->items[i], other->items[i]) != 0)
			return false;
	return true;
}

bool pair_parse(const char *text, struct pair *ret_pair)
{
	auto_free char *from = xstrdup(text);
	size_t len = 0;
	const char *at = text;
	for (; *at != '\0' && *at != ':'; at++) {
		if (at[0] == '\\' && at[1] == ':')
			at++;
		from[len++] = *at;
	}
	from[len] = '\0';
	if (len == 0 || (*at == ':' && at[1] == '\0'))
		return false;
	ret_pair->to = *at == ':' ? xstrdup(at + 1) : NULL;
	ret_pair->from = take_ptr(&from);
	return true;
}

void pairs_add(struct pairs *list, const char *from, const char *to)
{
	size_t used = list->count + 1;
	if ((used & (used - 1)) == 0)
		list->items = xrealloc(list->items, used * 2, sizeof(*list->items));
	list->items[list->count++] = (struct pair){
		.from = xstrdup(from),
		.to = to ? xstrdup(to) : NULL,
	};
}

void pairs_done(struct pairs *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].from);
		free(list->items[i].to);
	}
	free(list->items);
	*list = (struct pairs){ 0 };
}

void spec_init(struct spec *spec)
{
	struct err err = { 0 };
	*spec = (struct spec){ 0 };
	for (size_t i = 0; i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		if (!field->fallback)
			continue;
		if (field_set(spec, field, field->fallback, VOICE_FLAG, &err) < 0)
			abort(); /* the table contradicts itself */
	}
	spec->given = 0;
}

void spec_done(struct spec *spec)
{
	for (size_t i = 0; i < spec_field_count; i++) {
		void *slot = field_slot(spec, &spec_fields[i]);
		switch (spec_fields[i].type) {
		case FIELD_TEXT:
			free(*(char **)slot);
			break;
		case FIELD_STRINGS:
		case FIELD_NAMES:
			strings_done(slot);
			break;
		case FIELD_PAIRS:
			pairs_done(slot);
			break;
		default:
			break;
		}
	}
	*spec = (struct spec){ 0 };
}

static bool is_same_name(const char *a, const char *b)
{
	for (; *a != '\0' && *b != '\0'; a++, b++) {
		if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b))
			return false;
	}
	return *a == *b;
}

const struct field *spec_flag(const char *flag)
{
	for (size_t i = 0; i < spec_field_count; i++) {
		if (spec_fields[i].flag && is_same_name(spec_fields[i].flag, flag))
			return &spec_fields[i];
	}
	return NULL;
}

const struct field *spec_field(const char *name)
{
	for (size_t i = 0; i < spec_field_count; i++) {
		if (is_same_name(spec_fields[i].name, name))
			return &spec_fields[i];
	}
	return spec_flag(name);
}

int spec_set(struct spec *spec, const struct field *field, const char *text, struct err *err)
{
	return field_set(spec, field, text, VOICE_FLAG, err);
}

bool spec_is_given(const struct spec *spec, const struct field *field)
{
	return spec->given >> (field - spec_fields) & 1;
}

int spec_set_default(
	struct spec *spec, const struct field *field, const char *text, struct err *err)
{
	if (spec_is_given(spec, field))
		return 0;
	uint64_t given = spec->given;
	int r = field_set(spec, field, text, VOICE_FLAG, err);
	spec->given = given;
	return r;
}

void spec_take_record(struct spec *spec, const struct spec *other)
{
	spec->audit = other->audit;
	spec->audit_size = other->audit_size;
	spec->store = other->store;
	spec->store_size = other->store_size;
	spec->store_days = other->store_days;
	free(spec->traceparent);
	spec->traceparent = other->traceparent ? xstrdup(other->traceparent) : NULL;
}
