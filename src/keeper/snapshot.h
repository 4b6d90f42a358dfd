/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a session as they were: copies of /home/user that lie beside it on the same limited
 * tmpfs, where no process of the cell can see them. A file that did not change since the copy
 * before is the same file there (a hard link), so a copy costs what changed.
 *
 * The cell lives on meanwhile. Nothing below its home is trusted to stay what it was when we
 * looked: every open is beneath and link-free, and whatever a race can achieve happens to the
 * cell's own files.
 */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "base/err.h"
#include "keeper/workspace.h"

/* Plain data: whoever does the work may be another process. */
struct snapshot_report {
	uint32_t files;  /* regular files */
	uint32_t copied; /* of which this many had changed */
	int64_t bytes;   /* and were this long together */
	uint32_t skipped;
	char first_skipped[NAME_MAX + 1]; /* a socket, which cannot be copied */
};

/* Copies home to `id`, which must be new. `previous` is a copy that shares what did not change; 0:
 * none. A failure leaves nothing. */
int snapshot_take(const struct workspace *workspace, uint32_t id, uint32_t previous,
	struct snapshot_report *ret_report, struct err *err);

/* Makes home what it was. What is there is changed in place, so that a file which is open stays the
 * same file. Only files that changed are touched. */
int snapshot_restore(const struct workspace *workspace, uint32_t id,
	struct snapshot_report *ret_report, struct err *err);

/* Forgets a copy. One that is not there is forgotten already. */
int snapshot_drop(const struct workspace *workspace, uint32_t id, struct err *err);
