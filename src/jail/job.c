/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/io.h"
#include "base/own.h"
#include "jail/jail.h"
#include "model/limits.h"

enum { JOB_MAGIC = 0x68634a02 };

int job_write(
	struct buf *buf, const char *cwd, const struct strings *argv, const struct strings *env)
{
	struct job_header header = { .magic = JOB_MAGIC,
		.arg_count = (uint32_t)argv->count,
		.env_count = (uint32_t)env->count };
	int r = buf_append(buf, &header, sizeof(header));
	if (r == 0)
		r = buf_append(buf, cwd, strlen(cwd) + 1);
	for (size_t i = 0; i < argv->count && r == 0; i++)
		r = buf_append(buf, argv->items[i], strlen(argv->items[i]) + 1);
	for (size_t i = 0; i < env->count && r == 0; i++)
		r = buf_append(buf, env->items[i], strlen(env->items[i]) + 1);
	if (r < 0)
		return r;
	header.size = (uint32_t)buf->len;
	memcpy(buf->data, &header, sizeof(header));
	return 0;
}

int job_add_code(struct buf *job, const char *code, size_t len)
{
	struct job_header header;
	if (len >= job->cap - job->len)
		return -ENOSPC;
	(void)buf_append(job, code, len);
	(void)buf_append(job, "", 1);
	memcpy(&header, job->data, sizeof(header));
	header.code_size = (uint32_t)len + 1;
	header.size = (uint32_t)job->len;
	memcpy(job->data, &header, sizeof(header));
	return 0;
}

/* A file that nobody can change any more; or -errno. */
static int seal(const struct buf *job)
{
	auto_fd int fd = memfd_create("hotcell-job", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = fd < 0 ? -errno : io_write(fd, job->data, job->len);
	if (r < 0)
		return r;
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return take_fd(&fd);
}

int job_send(int gate_fd, const struct buf *job, uint32_t has, const int *fds, size_t fd_count)
{
	struct gate_word word; /* its job is not cleared first */
	int all[GATE_FD_COUNT + 1];
	word.message = (struct gate_message){ .kind = GATE_GO, .has = has };
	if (fd_count > GATE_FD_COUNT)
		return -EINVAL;
	if (job->len <= sizeof(word.job)) {
		word.message.size = (uint32_t)job->len;
		memcpy(word.job, job->data, job->len);
		return io_send(gate_fd, &word, sizeof(word.message) + job->len, fds, fd_count);
	}
	auto_fd int job_fd = seal(job);
	if (job_fd < 0)
		return job_fd;
	memcpy(all, fds, fd_count * sizeof(all[0]));
	all[fd_count] = job_fd;
	return io_send(gate_fd, &word.message, sizeof(word.message), all, fd_count + 1);
}

/* The list ends in NULL; a string that is not there, or has no end, gives none. */
static char **take_strings(char **at, char *end, uint32_t count)
{
	auto_free char **list = xcalloc((size_t)count + 1, sizeof(*list));
	for (uint32_t i = 0; i < count; i++) {
		if (*at >= end)
			return NULL;
		list[i] = *at;
		*at += strlen(*at) + 1; /* the last byte of all is a NUL */
	}
	return take_ptr(&list);
}

int job_read(char *data, size_t size, struct job *job)
{
	struct job_header header;
	*job = (struct job){ 0 };
	if (size <= sizeof(header) || data[size - 1] != '\0')
		return -EBADMSG;
	memcpy(&header, data, sizeof(header));
	if (header.magic != JOB_MAGIC || header.size != size || header.arg_count == 0 ||
		header.code_size > size - sizeof(header) ||
		header.arg_count > LIMIT_ARGS + LIMIT_NAMES ||
		header.env_count > LIMIT_ENV + LIMIT_NAMES)
		return -EBADMSG;
	char *at = data + sizeof(header);
	char *end = data + size - header.code_size;
	if (at == end || end[-1] != '\0')
		return -EBADMSG;
	job->cwd = at;
	at += strlen(at) + 1;
	job->argv = take_strings(&at, end, header.arg_count);
	job->env = take_strings(&at, end, header.env_count);
	if (job->argv && job->env && at == end) {
		job->code = header.code_size > 0 ? end : NULL;
		job->code_len = header.code_size > 0 ? header.code_size - 1 : 0;
		return 0;
	}
	job_done(job);
	return -EBADMSG;
}

void job_done(struct job *job)
{
	free(job->argv);
	free(job->env);
	*job = (struct job){ 0 };
}
