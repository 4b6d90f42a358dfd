/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "model/limits.h"

enum { JOB_MAGIC = 0x68634a01 };

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
		header.arg_count > LIMIT_ARGS + LIMIT_NAMES ||
		header.env_count > LIMIT_ENV + LIMIT_NAMES)
		return -EBADMSG;
	char *at = data + sizeof(header);
	char *end = data + size;
	job->cwd = at;
	at += strlen(at) + 1;
	job->argv = take_strings(&at, end, header.arg_count);
	job->env = take_strings(&at, end, header.env_count);
	if (job->argv && job->env && at == end)
		return 0;
	job_done(job);
	return -EBADMSG;
}

void job_done(struct job *job)
{
	free(job->argv);
	free(job->env);
	*job = (struct job){ 0 };
}
