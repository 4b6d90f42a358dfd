/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shell holds one database and runs scripts against it. Everything that outlives a statement
 * is in its struct: running another script later goes on where the last one ended.
 */
#pragma once

#include <sqlite3.h>

#include "sql/channel.h"
#include "sql/rows.h"
#include "sql/script.h"

enum shell_mode {
	SHELL_TABLE = 0,
	SHELL_CSV,
	SHELL_JSON,
	SHELL_LINE,
	SHELL_LIST,
	SHELL_MODE_COUNT,
};

extern const char *const shell_mode_names[SHELL_MODE_COUNT];

/* NAME=VALUE of the command line: what :NAME stands for. */
struct parameter {
	const char *name; /* borrowed, up to the '=' */
	size_t name_len;
	const char *value; /* borrowed */
};

struct shell {
	sqlite3 *db;
	struct channel channel;
	const struct parameter *parameters; /* borrowed */
	size_t parameter_count;

	enum shell_mode mode;
	bool has_headers;
	bool has_timer;
	bool is_bail; /* the first error ends the script */
	char null_text[64];
	struct cut cut;

	struct buf
		pending;   /* the bundle of the last result: only the end tells if it is the last */
	char message[512]; /* what a command or a function said when it failed */
	bool has_failed;
	bool is_leaving;     /* .quit */
	bool is_interrupted; /* in a session: the rest of the script does not run */
	int depth;           /* of .read */
};

/* Opens a database file, or one in memory for NULL. False: shell->message says why. */
bool shell_open(struct shell *shell, const char *database);
void shell_close(struct shell *shell);

/* Runs a script to its end, or to its first error. False when that ended it. */
bool shell_run(struct shell *shell, struct script *script);

/* The same for a file. False also when it cannot be read: then shell->message says why. */
bool shell_run_file(struct shell *shell, const char *path);

/* Sends the result that waits to know whether it is the last. */
void shell_flush(struct shell *shell);

/* The last result becomes the result of all. */
void shell_finish(struct shell *shell);

/* ---- for the commands ---- */

/* Runs a statement of our own and shows its rows; `arg` (may be NULL) is bound to ?1. */
bool shell_show(struct shell *shell, const char *sql, const char *arg);

/* The same, each row given to `take`. */
bool shell_each(struct shell *shell, const char *sql, const char *arg,
	void (*take)(struct shell *shell, const struct value *values, void *context),
	void *context);

/* Sets the message a command fails with. Always false. */
bool shell_fail(struct shell *shell, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads the current row. */
void shell_read_row(sqlite3_stmt *statement, struct value *values, size_t count);

/* command.c: runs one line ".name args". False: shell->message says why. */
bool command_run(struct shell *shell, const char *line, size_t len);

/* The names commands have, one by one; NULL behind the last. */
const char *command_name(size_t i);

/* dump.c */
bool dump(struct shell *shell, const char *table);

/* import.c */
bool import_csv(struct shell *shell, const char *path, const char *table);

/* functions.c: what SQLite lacks. */
int functions_add(sqlite3 *db);
