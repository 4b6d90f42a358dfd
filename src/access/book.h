/* SPDX-License-Identifier: Apache-2.0 */
/* What the gate needs of the book besides. */
#pragma once

#include <sys/stat.h>

#include "access/access.h"

/* A number that changes when somebody else has written to it. */
int book_version(struct book *book, int64_t *ret_version, struct err *err);

/* Adds to what the token of that name has used on that day (since 1970). */
int book_spend(struct book *book, const char *name, int64_t day, int64_t cpu_us, struct err *err);

/* The same as when it was opened. */
void book_set_patience(struct book *book, int ms);

/* The file as it was opened; and as it is there now: 0, or -errno. */
void book_stat(const struct book *book, struct stat *ret_st);
int book_look(struct stat *ret_st);

int64_t book_today(void);
