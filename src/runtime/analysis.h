/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the error analysis. What is known about a language's errors is data: `books`, the
 * errors.json of the language, of those it is like, and of `common`, in the order of their say.
 *
 *   analysis.c  opens the books, asks the parts below in turn
 *   book.c      reads and checks one errors.json
 *   trace.c     error text -> name, value and frames, by the rules under "lines"
 *   hint.c      failure -> hint and documentation, by the rules under "rules"
 *   near.c      the name somebody meant
 *   context.c   the user's line with its neighbours and a caret
 *
 * Everything but the books comes from inside a cell: it is read in bounded pieces, lines over
 * ANALYSIS_LINE_BYTES are cut, and what gets into a hint is one printable line.
 */
#pragma once

#include <regex.h>

#include "base/buf.h"
#include "model/result.h"
#include "runtime/runtime.h"
#include "wire/json.h"

enum {
	ANALYSIS_BOOKS = 4,
	ANALYSIS_LINES = 600,       /* of the error text: its first and last ones */
	ANALYSIS_LINE_BYTES = 1000, /* looked at, of each */
	ANALYSIS_CODE_BYTES = 256 << 10,
	ANALYSIS_NAMES = 4000, /* names taken from the code */
	ANALYSIS_WORD = 100,   /* bytes of one name, path or number in a hint */
	ANALYSIS_HINT = 700,   /* bytes of a hint */
	ANALYSIS_GROUPS = 10,
};

/* A piece of somebody else's text. */
struct span {
	const char *at;
	size_t len;
};

struct analysis {
	const struct analysis_input *input;
	struct result *result;
	struct json_object *books[ANALYSIS_BOOKS]; /* owned */
	size_t book_count;
	struct span lines[ANALYSIS_LINES]; /* of the error text, without line ends */
	size_t line_count;
};

/* Reads one errors.json: every field known, every value of the right type. */
int book_read(const char *text, size_t len, const char *origin, struct json_object **ret_book,
	struct err *err);

/* The first book's field of that name; NULL: none has it. */
struct json_object *analysis_field(const struct analysis *analysis, const char *name);

/* The list or table of that name, in the first book that has it. */
struct json_object *analysis_list(
	const struct analysis *analysis, const char *kind, const char *name);

bool field_is(struct json_object *object, const char *name, bool otherwise);
const char *field_text(struct json_object *object, const char *name);

/* A bounded match; groups may be NULL. A pattern that is none matches nothing. */
bool regex_open(regex_t *regex, const char *pattern, int flags);
bool span_matches(const regex_t *regex, struct span span, regmatch_t groups[ANALYSIS_GROUPS]);
bool span_matches_pattern(
	const char *pattern, struct span span, regmatch_t groups[ANALYSIS_GROUPS]);
struct span span_group(struct span span, const regmatch_t *group);

/* Valid UTF-8 without control characters or colours; owned by the caller. */
char *span_clean(struct span span, size_t max);

/* Line `number` (from 1) of the user's code; an empty span at NULL when there is none. */
struct span code_line(const struct analysis_input *input, int64_t number);

/* Whether a frame's file is the user's code. */
bool is_program(const struct analysis_input *input, const char *file);

/* The near one of `word` among the names of these lists; "code" stands for the names in the
 * user's code. NULL when nothing is near, or two are equally so. Owned by the caller. */
char *near_name(const struct analysis *analysis, const char *word, const struct strings *lists);

void trace_parse(struct analysis *analysis);
void hint_find(struct analysis *analysis);
void context_fill(const struct analysis_input *input, struct failure *failure);
