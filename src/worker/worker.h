/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many runs at once from one thread. A run is driven by code that waits for it, so whoever must not
 * wait has workers: processes that take one job after the other and tell it as JSON lines. What a
 * worker dies of is the end of its job alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"
#include "model/result.h"
#include "model/spec.h"

struct workers;
struct work;

/* Who hears of a job. `hear` gets one event without its newline. The last one is `done` with the
 * result, or NULL: the worker died, and there will be none. After it the job is gone. */
struct listener {
	void (*hear)(void *context, const char *line, size_t len, bool is_last);
	void *context;
};

/* Starts none before there is work. `loop` is watched from then on; `most` jobs run at once, the
 * others wait in order. */
struct workers *workers_open(struct loop *loop, size_t most);

/* So many at once from now on; those beyond it stay until they are not needed. */
void workers_set_most(struct workers *workers, size_t most);

/* How many there are, and how many of these are at work. */
void workers_count(const struct workers *workers, size_t *ret_all, size_t *ret_busy);

/* Whether a process is one of them. */
bool workers_has(const struct workers *workers, pid_t pid);

/* Ends those that run, and whatever they run. */
void workers_close(struct workers *workers);

/* What a job is, and what its text and its result are. What could not be done at all has, in place
 * of the result, a refusal: work_refusal(). */
enum work_kind {
	WORK_RUN = 0,   /* a spec; an ExecutionResult */
	WORK_LANGUAGES, /* {}; the languages */
	WORK_SESSION,   /* {"verb":…}; what session_ask() answers. Besides its verbs:
			 *   "new", with the fields of a session's spec and name, idle, lifetime
			 *   and undo; what `info` answers
			 *   "files", with session; what session_files() tells
			 *   "read", with session and path; {"path","size"} and the file as
			 *   "text", or as "base64" when it is none */
	WORK_TURN,      /* session, code, timeout, max_output, env, stdin, wait, reload, filename,
			 * input; an ExecutionResult */
	WORK_CHECK,     /* a spec, and autorun; a SecurityReport */
	WORK_RECORDS, /* status, since, before, limit; {"executions":[…]}, the newest first. With
		       * id: that record, and as "artifact" what is kept of the run, or null */
	WORK_KIND_COUNT,
};

/* All of it is borrowed. */
struct work_wish {
	enum work_kind kind;
	const char *text; /* JSON */
	size_t len;
	const char *tenant;    /* whose it is; NULL: the owner's own */
	const char *token;     /* the name of the token it was asked with; NULL: none */
	int64_t memory_most;   /* bytes that it may have at most; 0: no bound */
	int64_t cpu_most_ms;   /* the same of CPU time */
	int64_t sessions_most; /* the same of sessions at once */
	const char *place;     /* where its text stands, "line 7", for words about it; NULL: none */
};

/* What the text of a job says: fields of a spec, as far as its kind takes them, and some besides.
 */
struct asked {
	struct spec spec;
	char *verb, *session, *name, *filename;  /* owned; NULL: not given */
	char *id, *status, *since, *before;      /* the same */
	int64_t idle_s, lifetime_s, undo, limit; /* 0: not given */
	bool waits, reloads, answers_input, wants_autorun;
};

/* Reads it, as the worker will: whoever takes jobs from others refuses them with this. Either way
 * the caller ends it with _done(). */
int asked_read(
	struct asked *asked, enum work_kind kind, const char *text, size_t len, struct err *err);
void asked_done(struct asked *asked);

/* The fields there are besides the spec's; a verb of WORK_SESSION but "new" is read elsewhere. */
const struct field *asked_fields(enum work_kind kind, size_t *ret_count);

/* Whether a job of this kind takes the field of a spec. */
bool asked_takes(enum work_kind kind, const struct field *field);

/* Hands over a job. -1: no worker could be started. */
int workers_submit(struct workers *workers, const struct work_wish *wish,
	const struct listener *listener, struct work **ret_work, struct err *err);

/* A line for code that asked for input; NULL: there is no more. */
int work_input(struct work *work, const char *line, struct err *err);

/* No longer wanted: it ends as interrupted, and says so. */
void work_cancel(struct work *work);

/* Holds the run up while its listener can take no more; its deadline goes on. Let go again, the
 * listener may hear at once. */
void work_pause(struct work *work, bool is_paused);

/* The result in a job's last event, as JSON text; NULL: it is none. */
const char *work_result(const char *line, size_t len, size_t *ret_len);

/* What could not be done: -1 and why, where the result says so. 0: it is a result. */
int work_refusal(const char *result, size_t len, struct err *err);

/* The result of a job that was never handed out, as JSON text (owned by the caller). `place` as in
 * struct work_wish. */
char *work_refuse(const char *place, const char *why);

/* The status of an ExecutionResult, without parsing the whole: it stands near its beginning. */
enum run_status work_status(const char *result, size_t len);

/* The CPU time that it tells. */
int64_t work_cpu_us(const char *result, size_t len);

/* What the program of a worker does: takes jobs from descriptor 0 and tells them there, until that
 * closes. */
int worker_serve(void);
