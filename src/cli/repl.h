/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of hotcell repl. */
#pragma once

#include "cli/editor.h"
#include "cli/magic.h"
#include "cli/render.h"
#include "cli/sessions.h"

enum { REPL_UNDO = 10 }; /* turns that can be taken back, where nobody says how many */

struct repl {
	struct manner manner;
	struct spec spec;
	struct session_options options;
	struct config_wish wish;
	bool has_language;  /* it was asked for, not only configured */
	const char *wanted; /* borrowed; the session that was asked for by name, or NULL */

	char *session;  /* owned; its name */
	char *language; /* owned */
	char *own;      /* owned; the one that ends when we leave, or NULL */
	int owner_fd;   /* owned; it ends when this is closed, even if we are killed; -1: none */
	char *made;     /* owned; the one that was made here, and can be made again, or NULL */
	int64_t number; /* of the next execution */
	bool is_leaving;
	bool has_ended;  /* the session: there is nothing to come back to */
	bool has_failed; /* some execution */
	int interrupt_fd;

	struct term term;
	struct editor editor;
	struct history history;
	struct highlight *highlight; /* owned */
	struct rendering *rendering; /* of the execution that runs, or NULL */
	char *last_code;             /* owned; NULL: nothing was executed yet */
	enum run_status last_status; /* of it */
	int64_t last_wall_us;
};

extern const struct command repl_command;

/* A member that is a text; NULL: there is none. */
const char *repl_text(struct json_object *json, const char *key);

/* Makes the session, or finds the one that was asked for. */
int repl_begin(struct repl *repl, struct err *err);

/* Ends the session that is to end with us. */
void repl_end(struct repl *repl);

/* Kills the session and makes another like it. */
int repl_begin_anew(struct repl *repl, struct err *err);

/* Goes over to another session. */
int repl_switch(struct repl *repl, const char *session, struct err *err);

/* Whether the session ends when we leave. */
bool repl_is_own(const struct repl *repl);

/* What a session that went back to a point answered: the next execution has another number. */
void repl_go_back(struct repl *repl, struct json_object *answer);

/* Executes code and tells of it. Returns its status; STATUS_SETUP_ERROR when it was not executed,
 * which has been said. */
enum run_status repl_execute(struct repl *repl, const char *code, size_t len);

/* Asks the session's runner. False: it does not answer. */
bool repl_question(struct repl *repl, const char *kind, struct json_object *request,
	struct json_object **ret_answer);

/* What a magic does. */
void repl_magic(struct repl *repl, const struct magic *magic);

/* Names of magics that begin with `prefix`. */
void repl_magic_names(const char *prefix, struct strings *ret_names);

/* Whether this magic takes code in the lines below it. */
bool repl_magic_has_body(const char *name);

/* Tells about a name. */
void repl_inspect(struct repl *repl, const char *name, int detail);

/* The line protocol for programs: hotcell repl --json. Returns the exit status. */
int repl_json(struct repl *repl);
