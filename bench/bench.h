/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of hotcell-bench, the stopwatch; main.c says what it does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "keeper/keeper.h"
#include "model/spec.h"

enum {
	CONTENDERS_MAX = 64,
	WORDS_MAX = 96,
	LENDERS_MAX = 4,
};

/* What a lender says of itself. */
struct lender_state {
	size_t parked;  /* cells that stand ready */
	size_t missing; /* and how many more should, as their pool's policy says */
	size_t lent;    /* cells that are out, or not cleared away yet */
};

/* A keeper that lends, asked over a connection of our own. */
struct lender {
	const char *socket; /* borrowed; of its daemon */
	int fd;             /* owned */
	int restless_count; /* how often it had work for longer than we waited */
};

struct sample {
	int64_t us;
	bool is_warm; /* the result says so */
};

struct engine_memory;

struct contender {
	const char *name;
	const struct kind *kind;
	long every;             /* it takes part in each so-manieth round */
	struct lender *lender;  /* NULL: it has none */
	char *words[WORDS_MAX]; /* as its kind needs them, NULL-terminated */
	size_t word_count;
	struct engine_memory *memory; /* owned; of one who holds its next cell, or NULL */
	struct spec spec;             /* of a keeper of our own */
	struct keeper *keeper;        /* owned */
	int http_fd;                  /* owned; a connection that is kept */
	char *session;                /* owned; the name of its session, or NULL */
	struct sample *samples;       /* owned */
	size_t sample_count, sample_room;
	struct err failure;
};

struct bench {
	struct engine_memory *memory; /* owned; we stay, as a server does */
	struct contender contenders[CONTENDERS_MAX];
	size_t count;
	struct lender lenders[LENDERS_MAX];
	size_t lender_count;
	bool is_crowd;    /* one of many: what stands ready is others' care */
	long next_number; /* for "{n}" */
	int null_fd;      /* owned */
	struct buf plan;  /* words point into it */
};

/* plan.c */
int plan_read(struct bench *bench, const char *path, struct err *err);
void plan_done(struct bench *bench);

/* contender.c: a kind by its name, NULL when unknown, and the words it needs at least. */
const struct kind *kind_find(const char *name);
size_t kind_least_words(const struct kind *kind);

/* contender.c: everything that comes before the first run; a failure is kept, not returned. */
void contender_open(struct bench *bench, struct contender *contender);
void contender_close(struct contender *contender);

/* contender.c: runs it once. False: it failed, now or before, and never runs again. */
bool contender_run(struct bench *bench, struct contender *contender, struct sample *ret_sample);
void contender_keep(struct contender *contender, const struct sample *sample);

/* http.c */
int run_http(struct bench *bench, struct contender *contender, struct sample *ret_sample,
	struct err *err);

/* contender.c: whether the code of a run went well. */
int contender_check(const struct result *result, struct err *err);
/* contender.c: the policy of a lent contender's cell, as text of the caller's. */
int contender_policy(struct contender *contender, char **ret_text, struct err *err);

/* session.c: what contenders do with a session of their own. */
int session_open(struct contender *contender, struct err *err);
void session_close(struct contender *contender);
int session_run_exec(struct bench *bench, struct contender *contender, struct sample *ret_sample,
	struct err *err);
int session_run_checkpoint(struct bench *bench, struct contender *contender,
	struct sample *ret_sample, struct err *err);
int session_run_rollback(struct bench *bench, struct contender *contender,
	struct sample *ret_sample, struct err *err);
int session_run_branch(struct bench *bench, struct contender *contender, struct sample *ret_sample,
	struct err *err);
int session_run_generation(struct bench *bench, struct contender *contender,
	struct sample *ret_sample, struct err *err);

/* lender.c: the lender of the daemon at `socket`, connected to. */
int lender_find(
	struct bench *bench, const char *socket, struct lender **ret_lender, struct err *err);
void lender_close(struct lender *lender);

/* lender.c */
int lender_ask(const struct lender *lender, struct lender_state *ret_state, struct err *err);

/* lender.c: waits until it has nothing left to do, so that its work disturbs nobody's time. */
int lender_await_rest(struct lender *lender, struct err *err);

/* lender.c: waits until no cell is out, without a pause between two looks. */
int lender_await_return(const struct lender *lender, struct err *err);

/* lender.c: that many cells of the policy should stand ready from now on; nobody waits. */
int lender_wish(const struct lender *lender, const char *policy, long count, struct err *err);

/* lender.c: has that many cells stand ready, or as many as it can within `seconds`. */
int lender_park(const struct lender *lender, const char *policy, long count, long seconds,
	struct lender_state *ret_state, struct err *err);
