/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many runs at once from one thread. A run is driven by code that waits for it, so whoever must not
 * wait has workers: processes that take one job after the other and tell it as JSON lines. What a
 * worker dies of is the end of its job alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/loop.h"
#include "model/result.h"

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

/* Ends those that run, and whatever they run. */
void workers_close(struct workers *workers);

enum work_kind {
	WORK_RUN = 0,   /* a spec; the result is an ExecutionResult */
	WORK_LANGUAGES, /* nothing; the result lists the languages */
};

/* Hands over a job as JSON. -1: no worker could be started. */
int workers_submit(struct workers *workers, enum work_kind kind, const char *job, size_t len,
	const struct listener *listener, struct work **ret_work, struct err *err);

/* No longer wanted: it ends as interrupted, and says so. */
void work_cancel(struct work *work);

/* Holds the run up while its listener can take no more; its deadline goes on. Let go again, the
 * listener may hear at once. */
void work_pause(struct work *work, bool is_paused);

/* The result in a job's last event, as JSON text; NULL: it is none. */
const char *work_result(const char *line, size_t len, size_t *ret_len);

/* The status of an ExecutionResult, without parsing the whole: it stands near its beginning. */
enum run_status work_status(const char *result, size_t len);

/* What the program of a worker does: takes jobs from descriptor 0 and tells them there, until that
 * closes. */
int worker_serve(void);
