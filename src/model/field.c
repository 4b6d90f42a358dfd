/* SPDX-License-Identifier: Apache-2.0 */
/* One setter for each type of field; what a field takes is data (fields.c), how is here. */
#include "model/field.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "model/limits.h"
#include "model/units.h"
#include "wire/utf8.h"

enum { QUOTE_SIZE = 64 }; /* of the asker's text in an error */

struct change {
	struct spec *spec;
	const struct field *field;
	const char *text;
	enum field_voice voice;
	struct err *err;
};

static bool is_list(enum field_type type)
{
	return type == FIELD_STRINGS || type == FIELD_NAMES || type == FIELD_PAIRS;
}

static bool is_number(enum field_type type)
{
	return type == FIELD_SECONDS || type == FIELD_SIZE || type == FIELD_COUNT ||
	       type == FIELD_CPUS;
}

/* The field's example without a shell's quotes. */
static const char *bare_example(const struct field *field, size_t *ret_len)
{
	const char *value = field->example;
	bool has_quotes = value[0] == '\'';
	*ret_len = strlen(value) - (has_quotes ? 2 : 0);
	return value + (has_quotes ? 1 : 0);
}

/* `"memory": "512M"`: an example as it stands in JSON. */
static void json_example(const struct field *field, char *text, size_t size)
{
	size_t len = 0;
	const char *value = bare_example(field, &len);
	bool is_bare = field->type == FIELD_BOOL ||
		       (is_number(field->type) && strspn(value, "0123456789.") == len);
	const char *quote = is_bare ? "" : "\"";
	bool has_brackets = is_list(field->type);
	(void)snprintf(text, size, "\"%s\": %s%s%.*s%s%s", field->name, has_brackets ? "[" : "",
		quote, (int)len, value, quote, has_brackets ? "]" : "");
}

int field_refuse(const struct field *field, enum field_voice voice, enum err_code code,
	struct err *err, const char *fmt, ...)
{
	char what[320], example[128];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (voice == VOICE_VALUE) {
		size_t len = 0;
		const char *value = bare_example(field, &len);
		return err_set(err, code, "%s, for example %.*s", what, (int)len, value);
	}
	if (voice == VOICE_JSON) {
		json_example(field, example, sizeof(example));
		return err_set(err, code, "%s: %s, for example %s", field->name, what, example);
	}
	if (field->has_no_flag)
		return err_set(
			err, code, "%s: %s, for example %s", field->metavar, what, field->example);
	if (field->type == FIELD_BOOL)
		return err_set(
			err, code, "--%s: %s, for example --%s", field->flag, what, field->flag);
	return err_set(err, code, "--%s: %s, for example --%s %s", field->flag, what, field->flag,
		field->example);
}

static int refuse(const struct change *change, const char *what)
{
	char quote[QUOTE_SIZE];
	return field_refuse(change->field, change->voice, ERR_INVALID, change->err, "'%s' %s",
		utf8_line(change->text, quote, sizeof(quote)), what);
}

static int refuse_choice(const struct change *change)
{
	const char *const *choices = change->field->choices;
	char list[160] = "", nearest[64] = "";
	size_t used = 0, count = 0;
	for (; choices[count] && used < sizeof(list); count++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
			count ? ", " : "", choices[count]);
	const char *near = units_nearest(change->text, choices, count);
	if (near)
		(void)snprintf(nearest, sizeof(nearest), "; did you mean '%s'?", near);
	char what[256];
	(void)snprintf(what, sizeof(what), "is not known (valid: %s%s)", list, nearest);
	return refuse(change, what);
}

static int find_choice(const struct change *change, int *ret_index)
{
	const char *const *choices = change->field->choices;
	for (int i = 0; choices[i]; i++) {
		if (strcmp(choices[i], change->text) == 0) {
			*ret_index = i;
			return 0;
		}
	}
	return refuse_choice(change);
}

/* How numbers of each type are read, written and named. */
struct number_kind {
	int (*parse)(const char *text, int64_t *ret_value);
	void (*format)(int64_t value, char *text, size_t size);
	const char *noun;
	const char *unit;
};

/* clang-format off */
static const struct number_kind number_kinds[FIELD_TYPE_COUNT] = {
	[FIELD_SECONDS] = { units_parse_milli, units_format_milli, "a number of seconds", " seconds" },
	[FIELD_SIZE]    = { units_parse_size,  units_format_size,  "a size", " bytes" },
	[FIELD_COUNT]   = { units_parse_count, units_format_count, "a whole number", "" },
	[FIELD_CPUS]    = { units_parse_milli, units_format_milli, "a number of CPUs", " CPUs" },
};
/* clang-format on */

static int read_number(const struct change *change, int64_t *ret_value)
{
	const struct field *field = change->field;
	const struct number_kind *kind = &number_kinds[field->type];
	int64_t value = 0;
	if (field->fallback && strcmp(change->text, field->fallback) == 0 &&
		(*field->fallback < '0' || *field->fallback > '9')) {
		*ret_value = 0; /* "none", "host": the default that is no number */
		return 0;
	}
	int r = kind->parse(change->text, &value);
	if (r == 0 && value >= field->min && value <= field->max) {
		*ret_value = value;
		return 0;
	}
	char low[32], high[32], what[160];
	kind->format(field->min, low, sizeof(low));
	kind->format(field->max, high, sizeof(high));
	if (r == -EINVAL)
		(void)snprintf(what, sizeof(what), "is not %s (%s to %s%s)", kind->noun, low, high,
			kind->unit);
	else
		(void)snprintf(
			what, sizeof(what), "is out of range (%s to %s%s)", low, high, kind->unit);
	return refuse(change, what);
}

static int set_number(const struct change *change)
{
	return read_number(change, field_slot(change->spec, change->field));
}

/* clang-format off */
static const struct { const char *word; bool value; } bool_words[] = {
	{ "true", true }, { "yes", true }, { "on", true }, { "1", true },
	{ "false", false }, { "no", false }, { "off", false }, { "0", false },
};
/* clang-format on */

static int read_bool(const struct change *change, bool *ret_value)
{
	for (size_t i = 0; i < COUNT_OF(bool_words); i++) {
		if (strcmp(bool_words[i].word, change->text) == 0) {
			*ret_value = bool_words[i].value;
			return 0;
		}
	}
	return refuse(change, "is neither true nor false");
}

bool field_is_true(const char *text)
{
	for (size_t i = 0; i < COUNT_OF(bool_words); i++)
		if (bool_words[i].value && strcmp(bool_words[i].word, text) == 0)
			return true;
	return false;
}

static int set_bool(const struct change *change)
{
	return read_bool(change, field_slot(change->spec, change->field));
}

static int set_text(const struct change *change)
{
	const struct field *field = change->field;
	char **slot = field_slot(change->spec, field);
	bool is_code = field->offset == offsetof(struct spec, code);
	size_t max = is_code ? LIMIT_CODE_BYTES : LIMIT_STRING;
	int index;
	if (strlen(change->text) > max)
		return field_refuse(field, change->voice, ERR_LIMIT, change->err,
			"the text is longer than %zu bytes", max);
	if (*change->text == '\0' && !is_code)
		return refuse(change, "is empty");
	if (field->choices)
		TRY(find_choice(change, &index));
	free(*slot);
	*slot = xstrdup(change->text);
	return 0;
}

static int set_choice(const struct change *change)
{
	return find_choice(change, field_slot(change->spec, change->field));
}

static int add_string(const struct change *change)
{
	return field_add(
		change->spec, change->field, change->text, NULL, change->voice, change->err);
}

static int add_names(const struct change *change)
{
	const char *text = change->text;
	size_t len = strlen(text);
	if (strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.,[") <
		len)
		return refuse(change, "is not a list of names");
	if (len == 0 || text[0] == ',' || text[len - 1] == ',' || strstr(text, ",,"))
		return refuse(change, "has an empty name");
	for (const char *at = text; at <= text + len; at += strcspn(at, ",") + 1) {
		auto_free char *name = xstrndup(at, strcspn(at, ","));
		TRY(field_add(change->spec, change->field, name, NULL, change->voice, change->err));
	}
	return 0;
}

static int add_pair(const struct change *change)
{
	struct pair pair;
	if (!pair_parse(change->text, &pair))
		return refuse(change, "has an empty part");
	auto_free char *from = pair.from;
	auto_free char *to = pair.to;
	return field_add(change->spec, change->field, from, to, change->voice, change->err);
}

int field_add(struct spec *spec, const struct field *field, const char *from, const char *to,
	enum field_voice voice, struct err *err)
{
	void *slot = field_slot(spec, field);
	bool is_pair = field->type == FIELD_PAIRS;
	size_t count = is_pair ? ((struct pairs *)slot)->count : ((struct strings *)slot)->count;
	if (count >= (size_t)field->max)
		return field_refuse(
			field, voice, ERR_LIMIT, err, "more than %d are given", (int)field->max);
	if (strlen(from) > LIMIT_STRING || (to && strlen(to) > LIMIT_STRING))
		return field_refuse(field, voice, ERR_LIMIT, err,
			"the text is longer than %d bytes", LIMIT_STRING);
	if (is_pair)
		pairs_add(slot, from, to);
	else
		strings_add(slot, from);
	spec->given |= UINT64_C(1) << (field - spec_fields);
	return 0;
}

/* clang-format off */
static int (*const setters[FIELD_TYPE_COUNT])(const struct change *change) = {
	[FIELD_BOOL]    = set_bool,
	[FIELD_TEXT]    = set_text,
	[FIELD_SECONDS] = set_number,
	[FIELD_SIZE]    = set_number,
	[FIELD_COUNT]   = set_number,
	[FIELD_CPUS]    = set_number,
	[FIELD_CHOICE]  = set_choice,
	[FIELD_STRINGS] = add_string,
	[FIELD_NAMES]   = add_names,
	[FIELD_PAIRS]   = add_pair,
};
/* clang-format on */

int field_set(struct spec *spec, const struct field *field, const char *text,
	enum field_voice voice, struct err *err)
{
	struct change change = {
		.spec = spec, .field = field, .text = text, .voice = voice, .err = err
	};
	if (!text && field->type == FIELD_BOOL)
		change.text = "true";
	if (!change.text)
		return field_refuse(field, voice, ERR_INVALID, err, "needs a value");
	TRY(setters[field->type](&change));
	spec->given |= UINT64_C(1) << (field - spec_fields);
	return 0;
}

int field_check(
	const struct field *field, const char *text, enum field_voice voice, struct err *err)
{
	const struct change change = { .field = field, .text = text, .voice = voice, .err = err };
	int64_t number = 0;
	bool is_true = false;
	int index = 0;
	if (is_number(field->type))
		return read_number(&change, &number);
	if (field->type == FIELD_BOOL)
		return read_bool(&change, &is_true);
	if (field->choices)
		return find_choice(&change, &index);
	return *text != '\0' ? 0 : refuse(&change, "is empty");
}
