/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of sessions: a LOAN_SESSION text, checked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keeper/keeper.h"

struct json_object;

enum session_verb {
	VERB_NONE = 0,
	VERB_NEW,
	VERB_TURN,
	VERB_LIST,
	VERB_INFO,
	VERB_INTERRUPT,
	VERB_KILL,
	VERB_CHECKPOINT,
	VERB_ROLLBACK,
	VERB_UNDO,
	VERB_FORK,
	VERB_FILES,
	SESSION_VERB_COUNT,
};

extern const char *const session_verb_names[SESSION_VERB_COUNT + 1];

enum {
	SESSION_NAME_BYTES = 64,
	SESSION_LANGUAGE_BYTES = 31,
	SESSION_LIMITS_BYTES = 2048, /* what a session's limits are, as text */
	SESSION_GUARD_BYTES = 8192,  /* and what the guard goes by in it */
	SESSION_SECONDS_MAX = 30 * 86400,
	SESSION_UNDO_MAX = 64,
};

/* How a session's state can be gone back to, besides its files. */
enum session_memory {
	MEMORY_NONE = 0, /* not at all */
	MEMORY_COPY,     /* the process copies itself */
	MEMORY_OWN,      /* the runner has points of its own */
	SESSION_MEMORY_COUNT,
};

extern const char *const session_memory_names[SESSION_MEMORY_COUNT + 1];

struct session_request {
	enum session_verb verb;
	char tenant[SESSION_NAME_BYTES + 1];  /* whose sessions are meant; empty: our user's own */
	char session[SESSION_NAME_BYTES + 1]; /* empty: none was named */
	char name[SESSION_NAME_BYTES + 1];    /* of a new session */
	char point[SESSION_NAME_BYTES + 1];   /* empty: none was named */
	uint32_t point_id;                    /* 0: none */
	char language[SESSION_LANGUAGE_BYTES + 1];
	enum session_memory memory;
	char *policy; /* owned */
	size_t policy_len;
	char *limits;        /* owned; JSON text of an object, as it will be told */
	char *guard;         /* owned; the same of what the guard goes by; NULL: its defaults */
	struct strings argv; /* starts the runner */
	struct strings env;  /* "NAME=VALUE" */
	int64_t idle_s, lifetime_s, undo;
	int64_t after;                        /* of a list: where the page before ended */
	char checked[SESSION_NAME_BYTES + 1]; /* of a turn: for which session that was done */
	int64_t most; /* of something new: sessions that the tenant may have; 0: no bound */
	bool is_all;  /* of a list: of every tenant, where our user asks */
	bool waits, is_forced, wants_workspace, is_question;
	bool is_owned;    /* a new session ends with the connection that it was asked for over */
	bool is_told;     /* of a new session: its runner hears what the guard goes by */
	bool wants_check; /* of a new session: who takes a turn has to look at its code first */
};

/* The error is for the person who asked. Either way the caller ends it with _done(). */
int session_request_read(
	struct session_request *request, const char *text, size_t len, struct err *err);
void session_request_done(struct session_request *request);
