/* SPDX-License-Identifier: Apache-2.0 */
/* What compilers made, kept for the next run of the same code. */
#pragma once

#include "base/buf.h"
#include "engine/compile.h"

/* One build: what decided it, what the compiler said and what it made. */
struct build {
	struct buf key; /* empty: it is not to be kept */
	struct buf words;
	int fd; /* owned; a file or a directory, or -1 */
};

struct build *build_new(void);
void build_free(struct build *build); /* NULL is fine */

/* Writes down everything that decides what comes out of this compile. Nothing when there is more
 * to it than can be told here. */
void build_describe(const struct compiling *compiling, const struct strings *argv, struct buf *key);

/* The directory with all of them, or -1. */
int builds_open(struct err *err);

/* Finds the build with this key and fills in the rest. False: there is none that is whole, or its
 * words are longer than `words_max`. */
bool builds_find(int dir_fd, struct build *build, size_t words_max);

/* Keeps one. What was there under its key is replaced. */
int builds_keep(int dir_fd, const struct build *build, struct err *err);

/* Removes those that were not used for longest until no more than this is left, and what a killed
 * one left. */
void builds_bound(int dir_fd, size_t count_max, int64_t bytes_max);
