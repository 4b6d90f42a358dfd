/* SPDX-License-Identifier: Apache-2.0 */
/* One output stream as it is read: head and tail for the result, all of it for the spill file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/aside.h"
#include "base/err.h"
#include "model/result.h"

struct capture {
	char *head; /* owned */
	size_t head_len, head_cap;
	char *tail; /* owned; a ring */
	size_t tail_len, tail_cap, tail_at;
	size_t cap;
	int64_t total;
	int spill_dir_fd; /* owned; -1: not asked for */
	struct aside spill;
	char *spill_path; /* owned */
	bool has_spill_failed;
};

void capture_init(struct capture *capture, size_t cap);
void capture_done(struct capture *capture);

/* Also keeps every byte, in a file that gets its name when the run is over. */
int capture_spill(struct capture *capture, const char *dir, const char *name, struct err *err);

void capture_add(struct capture *capture, const char *data, size_t len);

/* Fills the result's stream; the text is never longer than the cap. */
int capture_finish(struct capture *capture, struct captured *ret, struct err *err);
