/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON for people: what fits stays in one line, the rest is broken up, items that are no
 * containers fill their lines. Text is written as JSON would be, with everything a terminal might
 * obey escaped.
 */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/view.h"
#include "wire/utf8.h"

enum { INDENT = 2, STRING_COLUMNS = 500 };

struct printer {
	struct buf *out; /* NULL: only measure */
	const struct term *term;
	int column, lines;
	int limit; /* measuring stops past this column */
	bool is_cut;
};

static void put(struct printer *printer, const char *text, size_t len, enum style style)
{
	int columns = 0;
	if (printer->is_cut)
		return;
	(void)text_fit(text, len, STRING_COLUMNS * 2, &columns);
	printer->column += columns;
	if (!printer->out) {
		printer->is_cut = printer->column > printer->limit;
		return;
	}
	style_begin(printer->out, printer->term, style);
	(void)buf_append(printer->out, text, len);
	style_end(printer->out, printer->term, style);
}

static void put_mark(struct printer *printer, const char *mark)
{
	put(printer, mark, strlen(mark), STYLE_NONE);
}

static void put_newline(struct printer *printer, int indent)
{
	if (printer->is_cut)
		return;
	printer->is_cut = ++printer->lines >= VIEW_LINES;
	(void)buf_append(printer->out, "\n", 1);
	printer->column = indent;
	if (!printer->is_cut)
		text_pad(printer->out, indent);
}

/* A string as JSON writes it; json_print() escapes what a terminal might obey. */
static void put_string(struct printer *printer, struct json_object *value, enum style style)
{
	auto_free char *text = json_print(value, false);
	int columns;
	size_t len = strlen(text);
	size_t fitting = text_fit(text, len, STRING_COLUMNS, &columns);
	if (fitting == len) {
		put(printer, text, len, style);
		return;
	}
	put(printer, text, fitting, style);
	char note[64];
	int n = snprintf(note, sizeof(note), "…\" (%d bytes)", json_object_get_string_len(value));
	put(printer, note, (size_t)n, STYLE_DIM);
}

static void put_key(struct printer *printer, const char *key)
{
	auto_json struct json_object *name = json_new_string(key);
	put_string(printer, name, STYLE_KEY);
	put_mark(printer, ": ");
}

static bool is_container(struct json_object *json)
{
	return json_object_is_type(json, json_type_array) ||
	       json_object_is_type(json, json_type_object);
}

static void put_scalar(struct printer *printer, struct json_object *json)
{
	if (json_object_is_type(json, json_type_string)) {
		put_string(printer, json, STYLE_STRING);
		return;
	}
	const char *text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN);
	bool is_number = json_object_is_type(json, json_type_int) ||
			 json_object_is_type(json, json_type_double);
	put(printer, text, strlen(text), is_number ? STYLE_NUMBER : STYLE_CONSTANT);
}

static void put_flat(struct printer *printer, struct json_object *json)
{
	if (!is_container(json)) {
		put_scalar(printer, json);
		return;
	}
	bool is_array = json_object_is_type(json, json_type_array);
	bool is_first = true;
	put_mark(printer, is_array ? "[" : "{");
	for (size_t i = 0; is_array && i < json_object_array_length(json) && !printer->is_cut;
		i++) {
		if (i > 0)
			put_mark(printer, ", ");
		put_flat(printer, json_object_array_get_idx(json, i));
	}
	if (!is_array) {
		json_object_object_foreach(json, key, value)
		{
			if (printer->is_cut)
				break;
			if (!is_first)
				put_mark(printer, ", ");
			is_first = false;
			put_key(printer, key);
			put_flat(printer, value);
		}
	}
	put_mark(printer, is_array ? "]" : "}");
}

/* Whether it fits into the rest of the line, with a comma or a bracket behind it. */
static bool does_fit(const struct printer *printer, struct json_object *json)
{
	struct printer measure = { .term = printer->term,
		.column = printer->column,
		.limit = printer->term->columns - 2 };
	put_flat(&measure, json);
	return !measure.is_cut;
}

static void put_broken(struct printer *printer, struct json_object *json, int indent);

static void put_value(struct printer *printer, struct json_object *json, int indent)
{
	if (!is_container(json) || does_fit(printer, json))
		put_flat(printer, json);
	else
		put_broken(printer, json, indent);
}

static void put_items(struct printer *printer, struct json_object *array, int indent)
{
	size_t count = json_object_array_length(array);
	bool was_plain = false;
	for (size_t i = 0; i < count && !printer->is_cut; i++) {
		struct json_object *item = json_object_array_get_idx(array, i);
		bool is_plain = !is_container(item);
		printer->column += 1; /* the blank between */
		bool goes_on = was_plain && is_plain && does_fit(printer, item);
		printer->column -= 1;
		if (goes_on)
			put_mark(printer, " ");
		else
			put_newline(printer, indent);
		put_value(printer, item, indent);
		if (i + 1 < count)
			put_mark(printer, ",");
		was_plain = is_plain;
	}
}

static void put_members(struct printer *printer, struct json_object *object, int indent)
{
	int left = json_object_object_length(object);
	json_object_object_foreach(object, key, value)
	{
		if (printer->is_cut)
			break;
		put_newline(printer, indent);
		put_key(printer, key);
		put_value(printer, value, indent);
		if (--left > 0)
			put_mark(printer, ",");
	}
}

static void put_broken(struct printer *printer, struct json_object *json, int indent)
{
	bool is_array = json_object_is_type(json, json_type_array);
	put_mark(printer, is_array ? "[" : "{");
	if (is_array)
		put_items(printer, json, indent + INDENT);
	else
		put_members(printer, json, indent + INDENT);
	put_newline(printer, indent);
	put_mark(printer, is_array ? "]" : "}");
}

bool json_view_put(struct buf *out, struct json_object *json, const struct term *term, int column)
{
	struct printer printer = { .out = out, .term = term, .column = column };
	put_value(&printer, json, 0);
	if (!printer.is_cut)
		(void)buf_append(out, "\n", 1);
	return !printer.is_cut;
}
