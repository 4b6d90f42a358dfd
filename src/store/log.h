/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the audit log. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "store/chain.h"

#define LOG_CURRENT "log.jsonl"

enum { LOG_NAME_MAX = 48 };

extern const char *const log_place[]; /* below the state directory, for state_open() */

/* The older files, by the number of their last record, ascending. */
struct log_files {
	uint64_t *numbers; /* owned */
	size_t count;
};

/* 0 or -errno; nothing to free then. */
int log_files_load(int dir_fd, struct log_files *files);
void log_files_done(struct log_files *files);
void log_file_name(uint64_t number, char name[LOG_NAME_MAX]);

/* How a file ends. */
struct log_tail {
	struct link last;   /* its last record */
	bool has_record;    /* false: it has none */
	bool lacks_newline; /* also of a whole record */
	uint64_t torn;      /* bytes after the last record */
};

/* 0 or -errno. */
int log_read_tail(int fd, off_t size, struct log_tail *tail);

/* Whether a crash can have left bytes that are no record at the end of a file of that size. */
bool log_is_crash(uint64_t size, bool lacks_newline);

/* How many bytes one file may have, when all of them have `total`. */
int64_t log_file_max(int64_t total);

/* The log as somebody saw it who had time to, and no lock. */
struct log_view {
	int dir_fd; /* owned */
	int fd;     /* owned; the current file, or -1 */
	dev_t dev;  /* which one it is */
	ino_t ino;
	off_t size; /* of which it ended like this; -1: that was not seen */
	struct log_tail tail;
	bool is_kept; /* and used again, once a record was added */
};
#define LOG_VIEW_NONE                              \
	{                                          \
		.dir_fd = -1, .fd = -1, .size = -1 \
	}

/* Looks at the log in `dir_fd`, which it takes. Whatever cannot be seen is looked for again by
 * log_append(), which says why it cannot. */
void log_view(int dir_fd, struct log_view *view);
void log_view_done(struct log_view *view);

/* The same for one that is kept, where others have added to it. False: that is not the file at
 * this path, and the view of no use. */
bool log_look_again(struct log_view *view, const char *path);

/* Adds a record with this body to the log that is seen here; the whole log stays below `total`
 * bytes. */
int log_append(
	struct log_view *view, const char *body, int64_t total, bool wants_sync, struct err *err);

/* Whether log_append() could write now, as far as can be told; room for a few records is reserved
 * where the file system can. */
int log_reserve(int dir_fd, struct err *err);
