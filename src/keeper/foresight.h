/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client gives its next cell is most likely what it gave the last one: the same job, and
 * code in a file of the same name. Both are made as soon as a cell is held, so that a run has only
 * to compare and to write its code. What turns out otherwise is taken away before anything runs.
 */
#pragma once

#include "base/buf.h"
#include "keeper/keeper.h"
#include "keeper/workspace.h"

struct foreseen {
	struct buf job;
	int job_fd;     /* owned; the same, sealed; or -1 */
	char *program;  /* owned; a file that may be in the cell, without content; NULL: none */
	int program_fd; /* owned; the file, when it is there as it should be; or -1 */
};

void foreseen_init(struct foreseen *foreseen);
void foreseen_done(struct foreseen *foreseen);

/* A job in a file that nobody can change any more. */
int job_seal(const struct buf *job, int *ret_fd, struct err *err);

/* Remembers what a task is given. */
void foresight_keep_job(struct ahead *ahead, const struct buf *job);
void foresight_keep_program(struct ahead *ahead, const char *program);

/* Makes it for a cell. What cannot be made now is made when it is needed. */
void foresee_job(const struct ahead *ahead, struct foreseen *foreseen);
void foresee_program(
	const struct ahead *ahead, const struct workspace *workspace, struct foreseen *foreseen);

/* The file of this job, to be closed by the caller; -1: another one was foreseen. */
int foreseen_take_job(struct foreseen *foreseen, const struct buf *job);

/* The file for a program of this name, NULL: for none at all. -1 in *ret_fd: it is not there, nor
 * is any other that was foreseen. */
int foreseen_take_program(struct foreseen *foreseen, const struct workspace *workspace,
	const char *program, int *ret_fd, struct err *err);
