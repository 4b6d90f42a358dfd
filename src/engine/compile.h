/* SPDX-License-Identifier: Apache-2.0 */
/* What happens before the code itself runs: preparing a language, looking at the code, compiling
 * it. */
#pragma once

#include "engine/engine.h"

/* The code to compile and who wants it. */
struct compiling {
	const struct spec *spec; /* of the run */
	const struct language *language;
	const char *runtime; /* directory to be shown at RUNTIME_DIR, or NULL */
	const char *program; /* file name of the code */
	const char *file;    /* the same as an argument that is no option */
	const char *code;
	size_t code_len;
	const struct engine_wishes *wishes;
};

/* Has the code analysed, in a cell of its own that has the walls of the run's, where the language
 * has an analysis. What that cell was is in `result`. -1: it could not be done. */
int check(const struct compiling *checking, struct guard_report *report, struct result *result,
	struct err *err);

struct build;

/* Compiles in a cell of its own, unless that was done for the same code before. What was made is
 * *ret_fd, or -1 when the compiler refused the code or met a limit: then the result is that of the
 * whole run. *ret_fresh, not NULL, is the caller's, for compile_keep(). -1: it could not be tried.
 */
int compile(const struct compiling *compiling, struct result *result, struct report *report,
	int *ret_fd, struct build **ret_fresh, struct err *err);

/* Takes what compile() gave, and keeps it for the next run of the same code. NULL is fine. */
void compile_keep(struct build *fresh);

/* The directory with what the language needs once for all, made when it is not there: owned by
 * the caller. */
int prepare(const struct language *language, const struct spec *spec, int interrupt_fd,
	char **ret_dir, struct err *err);

/* One build: the cell is gone on return. *ret_fd is what it made when the result says ok. */
int build_run(const struct task *task, const char *runtime, struct result *result,
	struct report *report, int *ret_fd, struct err *err);

/* Sets the limits that a definition brings where the asker said nothing. */
int set_defaults(struct spec *spec, const struct language *language, const struct strings *defaults,
	struct err *err);

/* What tells this language's program from another: from its file, and those of its definition. */
uint64_t language_key(const struct language *language, const struct spec *spec);
