/* SPDX-License-Identifier: Apache-2.0 */
/* What a person sees of a result besides the program's own output. */
#pragma once

#include "cli/term.h"
#include "model/result.h"

struct show {
	struct term out, err;
	size_t max_rows;  /* of a table */
	bool is_snippet;  /* code typed in, whose last value somebody waits for; not a file */
	bool is_midline;  /* the last output on the terminal left its line open */
	int interrupt_fd; /* -1: none */
	int64_t number;   /* of the execution, where many are shown one after the other; 0: none */
};

/* The rich values, on stdout, when somebody looks at it. */
void show_values(struct show *show, const struct result *result);

/* What went wrong and what to do, what was stopped, warnings: on stderr. */
void show_words(struct show *show, const struct result *result);

/* Warns of output that is not in the result, with the option that would keep it. */
void show_note_cuts(struct result *result);
