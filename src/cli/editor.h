/* SPDX-License-Identifier: Apache-2.0 */
/* The line editor of the prompt: any number of lines, in colours while they are typed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "cli/edit.h"
#include "cli/frame.h"
#include "cli/history.h"

enum { INDENT_MAX = 64 };

/* What could stand in the place of some bytes of the text. */
struct completion {
	struct strings matches;
	size_t start, end;
};

struct editor_hooks {
	/* Whether Enter ends the text; if not, it goes on with *indent on the next line. */
	bool (*ends)(void *context, const char *text, size_t len, char indent[INDENT_MAX]);
	/* False: nothing is known. The matches are the editor's. */
	bool (*complete)(void *context, const char *text, size_t len, size_t cursor,
		struct completion *ret_completion);
	void *context;
};

enum editor_answer {
	EDITOR_NONE = 0,
	EDITOR_TEXT,   /* there it is */
	EDITOR_CANCEL, /* Ctrl-C */
	EDITOR_END,    /* Ctrl-D, or the input has ended */
	EDITOR_QUIT,   /* a signal says that it is time to go */
};

struct editor {
	/* set by whoever opens it; all borrowed */
	struct term *term;
	const struct highlight *highlight; /* NULL: one colour */
	struct history *history;           /* NULL: none */
	struct editor_hooks hooks;         /* each may be NULL */
	int interrupt_fd;                  /* -1: none */

	/* its own */
	struct termios before; /* how the terminal was */
	bool has_terminal;     /* else it reads lines as they come */
	int resize_fd;
	struct buf typed; /* and not taken yet: typed ahead, or the rest of a line */
	bool has_ended;
	struct edit edit;
	const struct frame_prompt *prompt;
	size_t cursor_row; /* on the screen, from the first row drawn */
	struct completion completion;
	size_t chosen; /* SIZE_MAX: none of them */
	size_t history_at;
	char *written; /* owned; what was there before the way into the history; NULL: not there */
	struct buf search; /* what is looked for in the history */
	bool is_searching;
};

/* Looks at the terminal and makes it quiet: nothing typed is echoed, and what is typed ahead waits.
 * Where there is none, lines are read as they come. */
void editor_open(struct editor *editor);

/* Leaves the terminal as it was. */
void editor_close(struct editor *editor);

/* Has a text written by a person. *ret_text is the caller's; NULL unless EDITOR_TEXT. */
enum editor_answer editor_read(
	struct editor *editor, const struct frame_prompt *prompt, char **ret_text);

/* A line that is not kept in the history; `is_secret`: not shown either. */
enum editor_answer editor_ask(
	struct editor *editor, const char *question, bool is_secret, char **ret_text);
