/* SPDX-License-Identifier: Apache-2.0 */
/* What workers and their owner agree on. */
#pragma once

#include <stdint.h>

#include "model/limits.h"

enum {
	WORKER_JOBS_FD = 0,         /* a stream socket: jobs in, events out */
	WORKER_CANCEL_FD = 3,       /* a pipe: numbers of jobs that are not wanted any more */
	WORKER_LINE_MAX = 64 << 20, /* of one event: a result with all its pictures, escaped */
};

/* Before the line of each job. */
struct work_head {
	uint64_t number;
	uint64_t len;
};
