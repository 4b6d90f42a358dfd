/* SPDX-License-Identifier: Apache-2.0 */
/* Setting one field, for the voices that do: the command line, JSON, and the configuration. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "model/spec.h"

struct json_object;

/* How an error names the field and shows an example. */
enum field_voice {
	VOICE_FLAG = 0, /* --timeout 33 */
	VOICE_JSON,     /* "timeout": 33 */
	VOICE_VALUE,    /* 33; who asks puts the name before it */
};

/* Sets the field from text and marks it as given. List fields append. */
int field_set(struct spec *spec, const struct field *field, const char *text,
	enum field_voice voice, struct err *err);

/* Whether the text is a value of one item of the field, which need not be of spec_fields. */
int field_check(
	const struct field *field, const char *text, enum field_voice voice, struct err *err);

/* Whether it is one of the words for true. */
bool field_is_true(const char *text);

/* Appends one item to a list field, taken literally. `to` may be NULL, as for FIELD_STRINGS. */
int field_add(struct spec *spec, const struct field *field, const char *from, const char *to,
	enum field_voice voice, struct err *err);

/* "unknown field 'timeot', did you mean 'timeout'?" Returns -1. */
int field_refuse_unknown(const char *name, struct err *err);

/* "--timeout: " + what + ", for example --timeout 33". Returns -1. */
int field_refuse(const struct field *field, enum field_voice voice, enum err_code code,
	struct err *err, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The JSON schema of its value (owned by the caller). A settings file may write a list in more ways
 * than a spec. */
struct json_object *field_schema(const struct field *field, bool is_file);

static inline void *field_slot(const struct spec *spec, const struct field *field)
{
	return (char *)spec + field->offset;
}
