/* SPDX-License-Identifier: Apache-2.0 */
/* A job that was taken has all its strings inside its bytes and is written again as it was. */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "jail/job.h"
#include "model/limits.h"

static size_t check_list(char **list, const char *data, size_t size)
{
	size_t count = 0;
	for (; list[count]; count++) {
		MUST(list[count] > data && list[count] < data + size);
		MUST(memchr(list[count], '\0', (size_t)(data + size - list[count])));
	}
	return count;
}

static void check(char *data, size_t size)
{
	struct job job;
	auto_buf struct buf again;
	buf_init(&again, size);
	if (job_read(data, size, &job) < 0) {
		MUST(!job.cwd && !job.argv && !job.env && !job.code);
		return;
	}
	struct strings argv = { job.argv, check_list(job.argv, data, size) };
	struct strings env = { job.env, check_list(job.env, data, size) };
	MUST(argv.count > 0 && argv.count <= LIMIT_ARGS + LIMIT_NAMES);
	MUST(env.count <= LIMIT_ENV + LIMIT_NAMES);
	MUST(job_write(&again, job.cwd, &argv, &env) == 0);
	if (job.code) {
		MUST(job.code > data && job.code + job.code_len == data + size - 1);
		MUST(job_add_code(&again, job.code, job.code_len) == 0);
	}
	MUST(again.len == size && memcmp(again.data, data, size) == 0);
	job_done(&job);
}

/* As it is, and once more with a size that fits, so that the strings are reached. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct job_header header;
	auto_free char *copy = malloc(size ? size : 1);
	MUST(copy);
	if (size > 0)
		memcpy(copy, data, size);
	check(copy, size);
	if (size <= sizeof(header))
		return 0;
	memcpy(&header, copy, sizeof(header));
	header.size = (uint32_t)size;
	memcpy(copy, &header, sizeof(header));
	copy[size - 1] = '\0';
	check(copy, size);
	return 0;
}
