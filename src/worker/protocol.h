/* SPDX-License-Identifier: Apache-2.0 */
/* What workers and their owner agree on. */
#pragma once

#include <stdint.h>

#include "model/limits.h"

enum {
	WORKER_JOBS_FD = 0,         /* a stream socket: jobs in, events out */
	WORKER_CANCEL_FD = 3,       /* a pipe: numbers of jobs that are not wanted any more */
	WORKER_LINE_MAX = 64 << 20, /* of one event: a result with all its pictures, escaped */
	WORKER_NAME_MAX = 64,       /* of who asks, and with what */
	WORKER_PLACE_MAX = 32,
};

/* Before the text of each job, and of each line of input for the one that runs. */
struct work_head {
	uint64_t number;
	uint32_t kind;
	uint32_t len;
	int64_t memory_most, cpu_most_ms, sessions_most; /* 0: no bound */
	char tenant[WORKER_NAME_MAX + 1];                /* empty: the owner's own */
	char token[WORKER_NAME_MAX + 1];                 /* empty: none */
	char place[WORKER_PLACE_MAX + 1];                /* empty: none */
};

/* Not one of enum work_kind: what the code asked for, in the job of this number. */
enum { WORK_INPUT = 0x1000, WORK_INPUT_END };

/* How the result of what could not be done begins: the code of an error, and its text. */
#define WORK_REFUSAL "{\"refused\":{\"code\":"
