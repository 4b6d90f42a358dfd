/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of artifacts: names, their order, and how much there is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/store.h"

enum { KEPT_STAMP = 16 }; /* bytes of "20261115T184455Z" */

/* The two directories: artifacts/ with the tally, and artifacts/executions/. */
struct kept {
	int dir_fd;  /* owned; -1: there is none */
	int list_fd; /* owned; of the executions */
};

int kept_open(bool is_made, struct kept *kept, struct err *err);
void kept_close(struct kept *kept);

#define auto_kept __attribute__((cleanup(kept_close)))

/* TIMESTAMP-HASH.json or TIMESTAMP-HASH-NOISE.json. */
bool kept_is_name(const char *name);

struct kept_names {
	char (*items)[ARTIFACT_NAME_MAX]; /* owned */
	size_t count;
};

/* All of them, oldest first. 0 or -errno. */
int kept_load(const struct kept *kept, struct kept_names *names);
void kept_names_done(struct kept_names *names);

/* Counts a new artifact, and removes old ones when that is too much. */
int kept_count(const struct kept *kept, int64_t bytes, int64_t max_bytes, int64_t max_days,
	struct err *err);

/* Removes the oldest until no more than that is left, and counts again. */
int kept_prune(const struct kept *kept, int64_t max_bytes, int64_t max_days,
	struct artifact_tally *ret_removed, struct artifact_tally *ret_left, struct err *err);
