/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job: what the payload executes. A header, then NUL-terminated strings: the working
 * directory, the arguments, the environment. It travels as a sealed memory file that only the
 * payload maps, so that it never passes through the zygote's memory.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "model/spec.h"

struct job_header {
	uint32_t magic;
	uint32_t arg_count;
	uint32_t env_count;
	uint32_t size; /* of header and strings */
};

struct job {
	const char *cwd;
	char **argv; /* owned; the strings lie in the job's memory */
	char **env;  /* owned */
};

/* Appends to an empty buffer. 0, or -ENOSPC past the buffer's cap. */
int job_write(
	struct buf *buf, const char *cwd, const struct strings *argv, const struct strings *env);

/* Reads `size` bytes at `data`. 0, or -EBADMSG: nothing past the end was looked at. */
int job_read(char *data, size_t size, struct job *job);
void job_done(struct job *job);
