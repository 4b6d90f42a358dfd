/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client gives its next cell is most likely what it gave the last one: code in a file of
 * the same name, and what a compiler made of it. They are put there as soon as a cell is
 * held, so that a run has only to compare and to write its code. What turns out otherwise is taken
 * away before anything runs.
 */
#pragma once

#include <sys/stat.h>

#include "base/buf.h"
#include "keeper/keeper.h"
#include "keeper/workspace.h"

struct foreseen {
	char *program;     /* owned; a file that may be in the cell, without content; NULL: none */
	int program_fd;    /* owned; the file, when it is there as it should be; or -1 */
	bool has_build;    /* something may be at BUILD_PATH */
	struct stat build; /* what was copied there from; of nothing, when that went wrong */
};

void foreseen_init(struct foreseen *foreseen);
void foreseen_done(struct foreseen *foreseen);

/* Remembers what a task is given. */
void foresight_keep_program(struct ahead *ahead, const char *program);
void foresight_keep_build(struct ahead *ahead, const int *build_fd);

/* Forgets all of it. */
void foresight_done(struct ahead *ahead);

/* Makes it for a cell. What cannot be made now is made when it is needed. */
void foresee_program(
	const struct ahead *ahead, const struct workspace *workspace, struct foreseen *foreseen);
void foresee_build(
	const struct ahead *ahead, const struct workspace *workspace, struct foreseen *foreseen);

/* The file for a program of this name, NULL: for none at all. -1 in *ret_fd: it is not there, nor
 * is any other that was foreseen. */
int foreseen_take_program(struct foreseen *foreseen, const struct workspace *workspace,
	const char *program, int *ret_fd, struct err *err);

/* Whether this build is in the cell already, NULL: none. If not, nothing else is. */
int foreseen_take_build(struct foreseen *foreseen, const struct workspace *workspace,
	const int *build_fd, bool *ret_is_there, struct err *err);
