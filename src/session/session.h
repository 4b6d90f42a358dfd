/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions as a client sees them. A session is a cell that remembers; the keeper holds it, and it
 * outlives whoever uses it. A turn is one execution in it: the client brings the streams and the
 * channel, supervises by itself, and what it returns is an ExecutionResult like that of a run.
 *
 * A daemon that is not there is started, unless HOTCELL_ON_DEMAND is 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "keeper/keeper.h"
#include "model/result.h"
#include "model/spec.h"

struct json_object;

enum {
	SESSION_NAME_MAX = 64,
	SESSION_IDLE_S = 3600,      /* without a turn for so long, a session ends */
	SESSION_LIFETIME_S = 86400, /* and after so long in any case */
	SESSION_GRACE_MS = 2000,    /* what interrupted code has to come back before it is killed */
};

/* Whether it can be the name of a session or of a point: letters, digits, '.', '_' and '-', up to
 * 64 of them, and not '.' or '-' first. Only digits name a point by its id. */
bool session_is_name(const char *name);

/* What a session is to be, besides what its spec says. */
struct session_wish {
	const char *tenant; /* whose it is to be; NULL: our user's own */
	int64_t most;       /* sessions that the tenant may have; 0: no bound */
	const char *name;   /* NULL: it gets an id, which is its name */
	int64_t idle_s;     /* 0: SESSION_IDLE_S */
	int64_t lifetime_s; /* 0: SESSION_LIFETIME_S */
	int64_t undo;       /* so many of the last turns can be undone; 0: none */
	int interrupt_fd;   /* readable: no longer wanted; -1: none */
	int *ret_owner_fd;  /* the caller's: the session ends when this is closed, by whatever end
			     * the caller comes to; NULL: it does not */
};

/* Starts a session for the spec's language under its limits and mounts, with its env and files;
 * what only one execution has (code, file, args, stdin) must not be given. The spec receives the
 * language's defaults, as with engine_run(). *ret_info, what `info` answers, is the caller's. */
int session_new(struct spec *spec, const struct session_wish *wish, struct json_object **ret_info,
	struct err *err);

/* One of the control verbs: list, info, interrupt, kill, checkpoint, rollback, undo, fork. It never
 * waits for an execution. *ret_answer is the caller's. Errors: ERR_MISSING: there is no such
 * session or point, or it has ended (the text says why); ERR_BUSY: not while code runs in it.
 *   {"verb":"list"}                                   {"sessions":[INFO,…]}; with "all":true those
 *                                                     of every tenant, each with `tenant`
 *   {"verb":"info","session":"a"}                     INFO
 *   {"verb":"interrupt","session":"a"}                {"interrupted":bool}: false: nothing ran
 *   {"verb":"kill","session":"a"}                     {"killed":"a"}
 *   {"verb":"checkpoint","session":"a","point":"x"}   {"point":POINT,"notes":[…],"evicted":[…]}
 *   {"verb":"rollback","session":"a","point":"x" or 3,"force":bool}  {"point":POINT,"notes":[…]}
 *   {"verb":"undo","session":"a"}                     the same
 *   {"verb":"fork","session":"a","new":"b"}           {"session":INFO,"notes":[…]}
 * Each takes "tenant": whose sessions are meant, in place of our user's own.
 * INFO: name, id, language, status (idle, busy), created, last_used (seconds since 1970),
 * executions, idle, lifetime, undo, warm, memory_kb, points, running ({"turn","since","client",
 * "is_attended"} or null); of `info` alone: limits, private_kb, family (names of those that share
 * its cell), covers (copy, own or files: what points hold), current (id of the point the state
 * comes from, or null). In a list points are ids.
 * POINT: id, name (or null), parent (id or null), execution, created, is_automatic, is_lost; of
 * `info` alone: private_kb. */
int session_ask(struct json_object *request, struct json_object **ret_answer, struct err *err);

/* One turn. All of it is borrowed. */
struct session_turn {
	const char *tenant; /* whose the session is; NULL: our user's own */
	const char *token;  /* the name of the token it was asked with; NULL: none */
	const char *session;
	const char *code;
	size_t code_len;
	const char *name;          /* shown in tracebacks as the file; NULL: "<cell N>" */
	int64_t timeout_ms;        /* 0: the session's own */
	int64_t max_output;        /* of each stream in the result; 0: the session's own */
	bool waits;                /* for its turn when another has it; else that is ERR_BUSY */
	bool reloads;              /* modules of the project that changed are loaded again first */
	const struct strings *env; /* set before the code runs, and kept; NULL: none */
	const char *stdin_path;    /* "-": our own; NULL: nothing to read */
	const struct pairs *outs;  /* copied out when it is over, as of a run; NULL: none */
	struct outlet outlet;      /* as of a run; fds of -1: nobody follows */
	int interrupt_fd; /* readable: the code is interrupted, and the state stays; -1: none */
	/* Asked when interrupt_fd is readable, where more than interrupts comes from there. NULL:
	 * it is one. */
	bool (*is_interrupt)(void *context);
	/* Asked when the code wants a line: the answer without its newline (owned by the room), or
	 * NULL for the end of input. The deadline waits meanwhile. NULL: input() reads stdin. */
	char *(*input)(void *context, const char *prompt, bool is_secret);
	void *context;
	struct spec *spec; /* initialised by the caller, with how turns are to be recorded and
			    * kept (spec_take_record()); receives language and limits of the
			    * session, for result_to_json(); NULL: not wanted */
};

/* Executes the code in the session. -1: it was not executed (no such session, busy, nonsense), and
 * the result is a setup_error with the same words. Otherwise the result tells: also that the
 * session ended with it. */
int session_exec(const struct session_turn *turn, struct result *result, struct err *err);

/* A question to the session's runner: {"complete":{…}}, {"inspect":{…}} or {"is_complete":{…}}. It
 * is a turn that executes nothing and is not counted. The answer, the runner's event, is of the
 * right shape, and the caller's. ERR_BUSY while code runs. */
int session_question(const char *session, struct json_object *request,
	struct json_object **ret_answer, struct err *err);

/* The workspace of a session, for home_open() and its like; also while code runs. Of a session with
 * branches only one has its files in place: ERR_BUSY while code runs in any of them, unless it is
 * waited for; they stay in place as long as *ret_conn_fd is open, which must not be long. Both
 * descriptors are the caller's. */
int session_workspace(const char *tenant, const char *session, bool waits, int *ret_workspace_fd,
	int *ret_conn_fd, struct err *err);

/* What is in /home/user of the session: as keeper_list_files() tells it, the caller's. */
int session_files(
	const char *tenant, const char *session, struct json_object **ret_files, struct err *err);
