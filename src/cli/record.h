/* SPDX-License-Identifier: Apache-2.0 */
/* What hotcell audit and hotcell artifacts share: a word that says what to do, and what to look
 * for. */
#pragma once

#include "cli/cli.h"
#include "store/store.h"

/* What the command line asked for. */
struct record_line {
	bool is_json, is_code;
	struct store_filter filter;
	struct config_wish wish;
	const char *expected; /* a hash that must be in the audit log; NULL: none */
	struct spec limits;   /* store_size and store_days */
	char **names;         /* what stands behind the options, borrowed */
	int name_count;
};

/* A word that stands behind the command's name. */
struct record_verb {
	const char *name;
	bool has_name, has_names;                              /* takes one, or one and more */
	int (*run)(struct record_line *line, struct err *err); /* the exit status, or -1 */
};

/* A command of such words. */
struct record_command {
	const struct command *command;
	const struct record_verb *verbs; /* at most RECORD_VERBS */
	size_t verb_count;
	const struct cli_option *options;
	size_t option_count;
	const char *examples;
};

enum { RECORD_VERBS = 8 };

/* Reads the line and does what the verb says; without one, the first. */
int record_run(const struct record_command *record, int argc, char **argv);

/* "2026-11-15", "2026-11-15T18:44:55Z", "90s", "10m", "2h", "3d": as the ids of that time begin. */
int record_since(const char *text, char since[24], struct err *err);

/* Prints it as JSON text and releases it. */
void record_print_json(struct json_object *json);

/* A string or number of an object as text, "-" where there is none; for tables. */
const char *record_text(struct json_object *json, const char *key);
