/* SPDX-License-Identifier: Apache-2.0 */
/* An execution as it is told while it runs and when it is over: for people, or as JSON. */
#pragma once

#include "cli/progress.h"
#include "cli/show.h"
#include "engine/engine.h"

/* How whoever asked wants to be told. */
struct manner {
	bool is_json, is_stream, is_compact;
	enum colour_wish colour;
	int64_t rows;         /* of a table; 0: as many as fit the eye */
	bool has_typed_input; /* the program's input is typed: the line is that person's */
};

/* Takes one of the options json, stream, compact, color and rows: 1; 0: it is another; -1:
 * nonsense. */
int manner_take(struct manner *manner, const char *flag, const char *value, struct err *err);

/* Output on its way to the terminal, a pipe, or the event stream. */
struct rendering {
	const struct manner *manner;
	struct events events; /* of --stream */
	bool is_terminal[STREAM_COUNT];
	struct utf8_visible views[STREAM_COUNT];
	struct show show;
	struct progress progress;
	int interrupt_fd;
	bool was_queued;
};

/* Prepares to tell of the result's execution; *ret_outlet leads here. */
void render_begin(struct rendering *rendering, const struct manner *manner,
	const struct result *result, int interrupt_fd, struct outlet *ret_outlet);

/* The execution is over: what a stream held back comes out, and the line of progress goes. */
void render_end(struct rendering *rendering);

/* Tells the result. `spec` as for result_to_json(); `is_snippet` as in struct show. Returns the
 * exit status. */
int render_result(struct rendering *rendering, struct result *result, const struct spec *spec,
	bool is_snippet);

/* Whoever asked for JSON, or a short text, gets it, also when the options could not be read: then
 * it is looked for among all words. Returns EXIT_COULD_NOT_RUN. */
int render_refusal(struct manner *manner, int argc, char **argv, const struct spec *spec,
	const struct err *err);
