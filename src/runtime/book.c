/* SPDX-License-Identifier: Apache-2.0 */
/*
 * errors.json, checked field by field against two tables. Patterns are compiled where they are
 * used, since a failed run needs few of them; the tests compile them all.
 */
#include "runtime/analysis.h"

#include <string.h>

#include "base/own.h"
#include "model/limits.h"
#include "wire/utf8.h"

enum { BOOK_DEPTH = 8 };

enum shape {
	SHAPE_NONE = 0,
	SHAPE_TEXT,
	SHAPE_BOOL,
	SHAPE_NUMBER,
	SHAPE_TEXTS,         /* an array of strings */
	SHAPE_TEXT_OR_TEXTS, /* one string, or an array of them */
	SHAPE_TABLE,         /* an object of strings */
	SHAPE_LISTS,         /* an object of arrays of strings */
	SHAPE_TABLES,        /* an object of objects of strings */
	SHAPE_LINES,         /* an array of objects as in `line_members` */
	SHAPE_RULES,         /* an array of objects as in `rule_members` */
};

struct member {
	const char *name;
	enum shape shape;
};

/* clang-format off */
static const struct member book_members[] = {
	{ "like",         SHAPE_TEXT },    /* the language whose book comes after this one */
	{ "first_counts", SHAPE_BOOL },    /* of several errors; else the last */
	{ "inner_first",  SHAPE_BOOL },    /* the order of frames in a trace */
	{ "columns",      SHAPE_TEXT },    /* count "bytes" or "cells"; else characters */
	{ "comments",     SHAPE_TEXTS },   /* what begins a comment, for names in the code */
	{ "letters",      SHAPE_TEXT },    /* of names, beside letters, digits and _ */
	{ "kinds",        SHAPE_TABLE },   /* name of an error -> kind */
	{ "messages",     SHAPE_TABLE },   /* kind -> message */
	{ "lines",        SHAPE_LINES },
	{ "rules",        SHAPE_RULES },
	{ "lists",        SHAPE_LISTS },
	{ "tables",       SHAPE_TABLES },
};

static const struct member line_members[] = {
	{ "match",  SHAPE_TEXT },
	{ "roles",  SHAPE_TEXTS },         /* what each group of the match is */
	{ "begins", SHAPE_BOOL },          /* a new error: what was read before is forgotten */
	{ "ends",   SHAPE_BOOL },          /* nothing more is read */
	{ "top",    SHAPE_BOOL },          /* a frame apart: the place, where the trace has none */
	{ "when",   SHAPE_TEXT },          /* only in this state */
	{ "then",   SHAPE_TEXT },          /* the state from here on */
	{ "kind",   SHAPE_TEXT },
	{ "name",   SHAPE_TEXT },
	{ "value",  SHAPE_TEXT },
};

static const struct member rule_members[] = {
	/* conditions */
	{ "kind",    SHAPE_TEXT },
	{ "name",    SHAPE_TEXT_OR_TEXTS },
	{ "value",   SHAPE_TEXT },         /* pattern; its groups are {1} … {9} */
	{ "source",  SHAPE_TEXT },         /* pattern for the user's line: {s1} … */
	{ "text",    SHAPE_TEXT },         /* pattern for a line of the error text: {t1} … */
	{ "code",    SHAPE_TEXT },         /* pattern that is in the code */
	{ "without", SHAPE_TEXT },         /* pattern that is not in the code */
	{ "status",  SHAPE_TEXT },
	{ "signal",  SHAPE_NUMBER },
	{ "exit",    SHAPE_NUMBER },
	{ "net",     SHAPE_TEXT },
	{ "denied",  SHAPE_BOOL },         /* whether the cell stopped something */
	{ "shows",   SHAPE_TEXT },         /* words that are in the user's line */
	{ "in",      SHAPE_TEXTS },        /* word, lists: it is in one of them */
	{ "outside", SHAPE_TEXTS },        /* word, lists: it is in none of them */
	{ "near",    SHAPE_TEXTS },        /* word, lists: {near} */
	{ "found",   SHAPE_TEXTS },        /* word, tables: {found} */
	/* what it gives */
	{ "hint",    SHAPE_TEXT },
	{ "link",    SHAPE_TEXT },
};
/* clang-format on */

static int check_object(struct json_object *object, const struct member *members, size_t count,
	const char *what, struct err *err);

static int refuse(const char *name, const char *wanted, struct json_object *value, struct err *err)
{
	return err_set(err, ERR_INVALID, "'%s' must be %s, not %s", name, wanted, json_kind(value));
}

static int check_texts(const char *name, struct json_object *value, struct err *err)
{
	if (!json_object_is_type(value, json_type_array))
		return refuse(name, "an array of strings", value, err);
	for (size_t i = 0; i < json_object_array_length(value); i++)
		if (!json_object_is_type(json_object_array_get_idx(value, i), json_type_string))
			return refuse(name, "an array of strings",
				json_object_array_get_idx(value, i), err);
	return 0;
}

static int check_objects(const char *name, struct json_object *value, const struct member *members,
	size_t count, struct err *err)
{
	if (!json_object_is_type(value, json_type_array))
		return refuse(name, "an array of objects", value, err);
	for (size_t i = 0; i < json_object_array_length(value); i++)
		TRY(check_object(json_object_array_get_idx(value, i), members, count, name, err));
	return 0;
}

static int check_type(
	const char *name, struct json_object *value, enum shape shape, struct err *err)
{
	static const struct {
		enum json_type type;
		const char *words;
	} types[] = {
		[SHAPE_TEXT] = { json_type_string, "a string" },
		[SHAPE_BOOL] = { json_type_boolean, "true or false" },
		[SHAPE_NUMBER] = { json_type_int, "a whole number" },
	};
	return json_object_is_type(value, types[shape].type)
		       ? 0
		       : refuse(name, types[shape].words, value, err);
}

/* An object whose every value has this shape. */
static int check_each(
	const char *name, struct json_object *value, enum shape shape, struct err *err);

static int check_shape(
	const char *name, struct json_object *value, enum shape shape, struct err *err)
{
	switch (shape) {
	case SHAPE_TEXTS:
		return check_texts(name, value, err);
	case SHAPE_TEXT_OR_TEXTS:
		return json_object_is_type(value, json_type_string) ? 0
								    : check_texts(name, value, err);
	case SHAPE_TABLE:
		return check_each(name, value, SHAPE_TEXT, err);
	case SHAPE_LISTS:
		return check_each(name, value, SHAPE_TEXTS, err);
	case SHAPE_TABLES:
		return check_each(name, value, SHAPE_TABLE, err);
	case SHAPE_LINES:
		return check_objects(name, value, line_members, COUNT_OF(line_members), err);
	case SHAPE_RULES:
		return check_objects(name, value, rule_members, COUNT_OF(rule_members), err);
	default:
		return check_type(name, value, shape, err);
	}
}

static int check_each(
	const char *name, struct json_object *value, enum shape shape, struct err *err)
{
	if (!json_object_is_type(value, json_type_object))
		return refuse(name, "an object", value, err);
	json_object_object_foreach(value, key, item)
	{
		(void)key;
		TRY(check_shape(name, item, shape, err));
	}
	return 0;
}

static int check_object(struct json_object *object, const struct member *members, size_t count,
	const char *what, struct err *err)
{
	if (!json_object_is_type(object, json_type_object))
		return refuse(what, "an object", object, err);
	json_object_object_foreach(object, name, value)
	{
		char quote[48];
		size_t i = 0;
		while (i < count && strcmp(members[i].name, name) != 0)
			i++;
		if (i == count)
			return err_set(err, ERR_INVALID, "unknown field '%s' in %s",
				utf8_line(name, quote, sizeof(quote)), what);
		TRY(check_shape(name, value, members[i].shape, err));
	}
	return 0;
}

int book_read(const char *text, size_t len, const char *origin, struct json_object **ret_book,
	struct err *err)
{
	auto_json struct json_object *book = NULL;
	if (json_read(text, len, LIMIT_BOOK_BYTES, BOOK_DEPTH, &book, err) < 0 ||
		check_object(book, book_members, COUNT_OF(book_members), "the file", err) < 0)
		return err_wrap(err, "%s", origin);
	*ret_book = take_ptr(&book);
	return 0;
}

struct json_object *analysis_field(const struct analysis *analysis, const char *name)
{
	struct json_object *value = NULL;
	for (size_t i = 0; i < analysis->book_count && !value; i++)
		value = json_object_object_get(analysis->books[i], name);
	return value;
}

struct json_object *analysis_list(
	const struct analysis *analysis, const char *kind, const char *name)
{
	struct json_object *list = NULL;
	for (size_t i = 0; i < analysis->book_count && !list; i++) {
		struct json_object *lists = json_object_object_get(analysis->books[i], kind);
		list = lists ? json_object_object_get(lists, name) : NULL;
	}
	return list;
}

bool field_is(struct json_object *object, const char *name, bool otherwise)
{
	struct json_object *value = json_object_object_get(object, name);
	return value ? json_object_get_boolean(value) : otherwise;
}

const char *field_text(struct json_object *object, const char *name)
{
	return json_object_get_string(json_object_object_get(object, name));
}
