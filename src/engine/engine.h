/* SPDX-License-Identifier: Apache-2.0 */
/* The one road from a spec to a result, whoever asks. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "config/config.h"
#include "guard/guard.h"
#include "keeper/keeper.h"
#include "model/result.h"
#include "model/spec.h"
#include "runtime/runtime.h"
#include "wire/utf8.h"

struct json_object;
struct audit_draft;

struct engine_wishes {
	struct outlet outlet;
	int interrupt_fd;             /* -1: none */
	bool wants_version;           /* fill meta.language_version: the first time costs a cell */
	const char *token;            /* the name of the token it was asked with; NULL: none */
	struct engine_memory *memory; /* of a caller that stays and asks again; or NULL */
};

/* What need not be read and parsed for every run. The caller's. */
struct engine_memory *engine_memory_new(void);
void engine_memory_free(struct engine_memory *memory);

/* Has a daemon hold a cell like the last run's for the next one, and waits for nothing. For when a
 * result has been told and more of the kind is to be expected: the next run saves a third of its
 * time. */
void engine_look_ahead(struct engine_memory *memory);

/* What to wait for besides the next run: readable, engine_hear_ahead(). -1: nothing. Borrowed. */
int engine_ahead_fd(const struct engine_memory *memory);

/* Takes the cell that was asked for, or lets go of one that others want: for when there is time.
 * Waits for nothing; the next run would take it first. */
void engine_hear_ahead(struct engine_memory *memory);

/* What is still to be cleaned up when the answer is out. Starts as { 0 }. */
struct engine_rest {
	const struct provider *provider;
	void *handle;
	struct build *fresh;   /* owned; what was compiled and is to be kept, or NULL */
	struct err unrecorded; /* why the run was not kept or not recorded; a warning, too */
};

/* Runs the spec, which may receive a language's defaults; `report` as keeper_run() takes it. -1: it
 * could not be run; then the result is a setup_error with the same words. Either way,
 * engine_clean() when the result has been told. */
int engine_run(struct spec *spec, const struct engine_wishes *wishes, struct result *result,
	struct report *report, struct engine_rest *rest, struct err *err);
void engine_clean(struct engine_rest *rest);

/* What was executed, for the record. */
struct engine_code {
	const char *text; /* NULL: it was not read, or it is a program of the cell */
	size_t len;
	const char *token;           /* as in engine_wishes */
	struct audit_draft *draft;   /* of its record; NULL: none was made */
	struct audit_memory *memory; /* of who records it; NULL: none */
};

/* Does of the record of an execution what can be done before it is over: for whoever waits for it.
 * The caller's; NULL: nothing could be done. */
struct audit_draft *engine_draft_record(
	const struct spec *spec, const struct engine_code *code, const struct result *result);
void engine_draft_free(struct audit_draft *draft);

/* Records that an execution begins, where the spec wants to know of it whatever happens then. */
int engine_record_beginning(const struct spec *spec, const struct engine_code *code,
	const struct result *result, struct err *err);

/* Keeps and records an execution that is over, before anybody is told of it; engine_run() does so
 * by itself. What cannot be is a warning in the result, and *ret_unrecorded says why. -1: it must
 * not be told without its record, and the result has lost all it said. */
int engine_record(const struct spec *spec, const struct engine_code *code, struct result *result,
	struct err *ret_unrecorded, struct err *err);

/* A run as JSON lines, one event each, while it runs: what --stream prints and a worker says. */
struct events {
	const char *id; /* of the run; borrowed */
	int fd;         /* where the lines go; borrowed */
	int interrupt_fd;
	int64_t seq;
	struct utf8_stream streams[STREAM_COUNT];
	bool has_begun;
	bool may_be_torn;  /* the run may have been cancelled within a line: the rest begins anew */
	int64_t queued_us; /* since when; 0: it was not */
};

/* Has the run's outlet write events. Starts from the id, fd and interrupt_fd that are set. */
void events_follow(struct events *events, struct outlet *outlet);

/* The last ones: what a stream held back, hoping for the rest of a character, and `result` as JSON
 * text. 0, or -errno when the result did not reach its reader. */
int events_finish(struct events *events, const char *result);

/* Fills what the asker left open from the configuration, for the language it will run in. */
int engine_configure(struct spec *spec, const struct config *config, struct err *err);

/* Name and aliases of that language, where the configuration has something to say for a single one;
 * else none. */
void engine_language_names(
	const struct spec *spec, const struct config *config, struct strings *ret_names);
/* What the guard says to the code, which is not run: *report is the caller's, also on failure. The
 * result tells the language and the isolation of the cell that looked at it. */
int engine_check(struct spec *spec, int interrupt_fd, struct guard_report *report,
	struct result *result, struct err *err);

/* The policy of the cell in which this spec would run, as text (owned by the caller): for whoever
 * has cells of it stand ready. */
int engine_policy(struct spec *spec, char **ret_text, struct err *err);

/* What a session for a spec is made with. */
struct engine_session {
	char *policy;        /* owned; of its cell, as text */
	struct strings argv; /* starts its runner where that does not stand ready */
	char language[32];
	char *points;     /* owned; as in the language's definition, or NULL */
	char *guard;      /* owned; what the guard goes by, as text */
	bool is_told;     /* its runner, which looks at code itself */
	bool wants_check; /* code has to be looked at before a turn: engine_check() */
};

/* The spec, which names no code, receives the language's defaults. */
int engine_session(struct spec *spec, struct engine_session *ret_session, struct err *err);
void engine_session_done(struct engine_session *session);

/* What a result of a session means for the person who asked, as engine_run() tells it of a run.
 * `name` is what the code's file is called in a trace. */
void engine_explain(const struct spec *spec, const char *name, const char *code, size_t code_len,
	struct result *result);

/* The version that `language` reports here, asked in a cell of `spec`'s root file system and
 * remembered. False when it cannot be had. */
bool engine_version(
	const struct language *language, const struct spec *spec, char *version, size_t size);

/* All languages as a JSON array (owned by the caller), with version, path and whether they can run
 * here; `is_lent`: whether cells are. The first time costs a cell for each. */
int engine_languages(bool is_lent, struct json_object **ret_list, struct err *err);

/* The first program of the language that is not in the root file system, NULL when all are. */
const char *engine_missing_program(const struct language *language, const struct spec *spec);
