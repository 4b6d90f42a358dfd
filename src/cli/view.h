/* SPDX-License-Identifier: Apache-2.0 */
/* Views of one rich value: a table, JSON, code, a picture. All text in them is foreign. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/term.h"
#include "model/spec.h"
#include "wire/json.h"

enum { VIEW_ROWS = 20, VIEW_LINES = 60 }; /* shown without being asked for more */

/* Appends a table of the MIME type application/vnd.hotcell.table+json that fits the terminal,
 * with at most `max_rows` rows and a line that says what is missing. False: not of that shape. */
bool table_put(
	struct buf *out, struct json_object *table, const struct term *term, size_t max_rows);

/* Appends JSON, in one line where it fits, in at most VIEW_LINES lines. `column` is where the
 * cursor stands. False: some of it was left out. */
bool json_view_put(struct buf *out, struct json_object *json, const struct term *term, int column);

/* How one language looks, from runtimes/NAME/highlight.json. */
struct highlight;

/* By the name of the language. NULL where it has none. */
struct highlight *highlight_load(const char *name);
int highlight_from_json(
	const char *text, size_t len, struct highlight **ret_highlight, struct err *err);
void highlight_free(struct highlight *highlight);

/* What a line began within, for the next one. Starts as { 0 }. */
struct highlight_state {
	const char *end; /* of the string or comment that goes on; NULL: code */
	enum style style;
	bool has_escapes;
};

/* Appends one line of code in colours, cut to `max_columns`. `highlight` may be NULL. Returns the
 * columns used. */
int highlight_put(struct buf *out, const struct highlight *highlight, struct highlight_state *state,
	const char *line, size_t len, const struct term *term, int max_columns);

/* A picture's size in pixels, read from its first bytes. False: unknown. */
bool picture_size(const char *mime, const void *data, size_t len, int *ret_width, int *ret_height);

/* Copies to `out` what a picture needs of the words of a picture program, and nothing else. False:
 * there was something else, and `out` is of no use. */
bool picture_filter(const char *data, size_t len, enum term_pictures pictures, struct buf *out);

/* Appends the picture in the best form the terminal can show, or one line that tells of it. `text`
 * is base64, or the source of an SVG. */
void picture_put(struct buf *out, const char *mime, const char *text, size_t len, struct term *term,
	int interrupt_fd);
