/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job: what the payload executes. A header, then NUL-terminated strings: the working
 * directory, the arguments, the environment; the code, where an interpreter stands ready. It comes
 * through the gate, so that it never passes through the zygote's memory: a short one in the message
 * that opens it, one that is longer as a sealed memory file.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "model/spec.h"

enum { JOB_SHORT = 3 << 10 }; /* bytes; what few have more of */

struct job_header {
	uint32_t magic;
	uint32_t arg_count;
	uint32_t env_count;
	uint32_t code_size; /* with its NUL, the last of all; 0: it is in a file only */
	uint32_t size;      /* of header and strings */
};

struct job {
	const char *cwd;
	char **argv;      /* owned; the strings lie in the job's memory */
	char **env;       /* owned */
	const char *code; /* what the file has that is the first argument; nothing else was put
			   * beside that. It may have NULs. NULL: look there */
	size_t code_len;
};

/* Appends to an empty buffer. 0, or -ENOSPC past the buffer's cap. */
int job_write(
	struct buf *buf, const char *cwd, const struct strings *argv, const struct strings *env);

/* Adds the code to a job that was written. As above, and then nothing was added. */
int job_add_code(struct buf *job, const char *code, size_t len);

/* Opens the gate with a job and these descriptors of the program; `has` as in struct gate_message.
 * 0, or -errno. */
int job_send(int gate_fd, const struct buf *job, uint32_t has, const int *fds, size_t fd_count);

/* Reads `size` bytes at `data`. 0, or -EBADMSG: nothing past the end was looked at. */
int job_read(char *data, size_t size, struct job *job);
void job_done(struct job *job);
