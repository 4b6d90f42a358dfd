/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands about sessions share: asking, and words for what went wrong. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "cli/cli.h"
#include "cli/term.h"
#include "model/spec.h"
#include "session/session.h"
#include "wire/json.h"

/* {"verb":verb,"session":session}: the caller's. */
struct json_object *sessions_request(const char *verb, const char *session);

/* Asks, and takes the request. Where there is no such session, the error names the nearest. */
int sessions_ask(struct json_object *request, struct json_object **ret_answer, struct err *err);

/* Adds to the error of a session that is not there the name that was probably meant. */
void sessions_name_nearest(const char *session, struct err *err);

/* Whether anybody holds sessions here: else there are none. */
bool sessions_are_served(void);

/* One line on stderr when a daemon is about to be started. */
void sessions_tell_start(void);

/* What is carried only in part, and what had to go: lines on stderr. */
void sessions_tell_notes(struct json_object *answer);

/* Whether it can be a session's name; the error says what can. */
int sessions_check_name(const char *name, struct err *err);

/* On stdout, for people and programs. */
void sessions_print(struct json_object *json);

/* Options of those who make a session. */
struct session_options {
	int64_t idle_s, lifetime_s, undo;
	bool is_quiet;
};

/* Takes idle, lifetime, undo or quiet: 1; 0: it is another; -1: nonsense. */
int session_options_take(
	struct session_options *options, const char *flag, const char *value, struct err *err);

/* What they are called in a table of options. */
#define SESSION_OPTIONS                                                                       \
	{ .flag = "idle",                                                                     \
		.metavar = "SEC",                                                             \
		.help = "end the session after so long without a turn [3600]" },              \
		{ .flag = "lifetime",                                                         \
			.metavar = "SEC",                                                     \
			.help = "end it after so long in any case [86400]" },                 \
		{ .flag = "undo",                                                             \
			.metavar = "N",                                                       \
			.help = "keep the last N turns undoable [0, in a repl 10]" },         \
	{                                                                                     \
		.flag = "quiet", .short_flag = 'q', .help = "say nothing of a daemon's start" \
	}

/* The fields of the spec that a session has for all of its turns. */
bool session_takes(const struct field *field);

/* Two verbs of hotcell session that need more than a name. */
int session_run_new(const struct command *command, int argc, char **argv);
int session_run_exec(const struct command *command, int argc, char **argv);
bool session_exec_takes(const struct field *field);

/* And three about its files. */
int session_run_files(const struct command *command, int argc, char **argv);
int session_run_put(const struct command *command, int argc, char **argv);
int session_run_get(const struct command *command, int argc, char **argv);
