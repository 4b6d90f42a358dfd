/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <sys/mman.h>

#include "jail/job.h"
#include "model/limits.h"

enum { ROOM = 1 << 20 };

static struct strings list_of(char **items, size_t count)
{
	return (struct strings){ .items = items, .count = count };
}

static char *args[] = { (char *)"/usr/bin/python3", (char *)"main.py", (char *)"",
	(char *)"a b\nc" };
static char *vars[] = { (char *)"HOME=/home/user", (char *)"EMPTY=" };

static void write_good(struct buf *buf, size_t env_count)
{
	struct strings argv = list_of(args, COUNT_OF(args));
	struct strings env = list_of(vars, env_count);
	buf_init(buf, ROOM);
	ASSERT_EQ(job_write(buf, "/home/user", &argv, &env), 0);
}

/* A copy whose last byte is the last one that may be touched. */
static char *at_the_edge(const char *data, size_t len)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = (len + page - 1) / page * page;
	char *map =
		mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(map != MAP_FAILED);
	ASSERT_EQ(mprotect(map + room, page, PROT_NONE), 0);
	memcpy(map + room - len, data, len);
	return map + room - len;
}

static void drop(char *edge, size_t len)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = (len + page - 1) / page * page;
	(void)munmap(edge + len - room, room + page);
}

static int read_at_the_edge(const char *data, size_t len)
{
	struct job job;
	char *edge = at_the_edge(data, len);
	int r = job_read(edge, len, &job);
	if (r == 0)
		job_done(&job);
	else
		ASSERT(!job.argv && !job.env && !job.cwd);
	drop(edge, len);
	return r;
}

static struct job_header *header_of(struct buf *buf)
{
	return (struct job_header *)(void *)buf->data;
}

TEST(a_job_comes_back_as_it_was)
{
	auto_buf struct buf buf;
	struct job job;
	write_good(&buf, COUNT_OF(vars));
	char *edge = at_the_edge(buf.data, buf.len);
	ASSERT_EQ(job_read(edge, buf.len, &job), 0);
	ASSERT_STR(job.cwd, "/home/user");
	for (size_t i = 0; i < COUNT_OF(args); i++)
		ASSERT_STR(job.argv[i], args[i]);
	ASSERT(!job.argv[COUNT_OF(args)]);
	for (size_t i = 0; i < COUNT_OF(vars); i++)
		ASSERT_STR(job.env[i], vars[i]);
	ASSERT(!job.env[COUNT_OF(vars)]);
	job_done(&job);
	ASSERT(!job.argv && !job.env && !job.cwd);
	job_done(&job);
}

TEST(a_job_may_have_its_code)
{
	static const char code[] = "a\0b";
	auto_buf struct buf buf;
	struct job job;
	for (size_t len = 0; len < sizeof(code); len++) {
		write_good(&buf, COUNT_OF(vars));
		ASSERT_EQ(job_add_code(&buf, code, len), 0);
		char *edge = at_the_edge(buf.data, buf.len);
		ASSERT_EQ(job_read(edge, buf.len, &job), 0);
		ASSERT(job.code);
		ASSERT_EQ(job.code_len, len);
		ASSERT_EQ(memcmp(job.code, code, len), 0);
		ASSERT_STR(job.env[COUNT_OF(vars) - 1], vars[COUNT_OF(vars) - 1]);
		ASSERT(!job.env[COUNT_OF(vars)]);
		drop(edge, buf.len);
		job_done(&job);
		ASSERT(!job.code);
		buf_done(&buf);
	}
	write_good(&buf, 0);
	ASSERT_EQ(job_read(buf.data, buf.len, &job), 0);
	ASSERT(!job.code && job.code_len == 0);
	job_done(&job);
	size_t whole = buf.len;
	buf.cap = whole + 3;
	ASSERT_EQ(job_add_code(&buf, code, 3), -ENOSPC);
	ASSERT_EQ(buf.len, whole);
	ASSERT_EQ(job_add_code(&buf, code, 2), 0);
}

TEST(a_job_whose_code_is_not_where_it_says_is_refused)
{
	auto_buf struct buf buf;
	write_good(&buf, COUNT_OF(vars));
	size_t strings = buf.len - sizeof(struct job_header);
	ASSERT_EQ(job_add_code(&buf, "pass", 4), 0);
	ASSERT_EQ(read_at_the_edge(buf.data, buf.len), 0);
	for (uint32_t size = 0; size < strings + 10; size++) {
		header_of(&buf)->code_size = size;
		ASSERT_EQ(read_at_the_edge(buf.data, buf.len), size == 5 ? 0 : -EBADMSG);
	}
	header_of(&buf)->code_size = UINT32_MAX;
	ASSERT_EQ(read_at_the_edge(buf.data, buf.len), -EBADMSG);
	header_of(&buf)->code_size = 5;
	buf.data[buf.len - 6] = 'x'; /* the end of the last string */
	ASSERT_EQ(read_at_the_edge(buf.data, buf.len), -EBADMSG);
	buf.data[buf.len - 6] = '\0';
	buf.data[buf.len - 1] = 'x'; /* that of the code */
	ASSERT_EQ(read_at_the_edge(buf.data, buf.len), -EBADMSG);
}

TEST(a_job_may_have_no_environment)
{
	auto_buf struct buf buf;
	struct job job;
	write_good(&buf, 0);
	ASSERT_EQ(job_read(buf.data, buf.len, &job), 0);
	ASSERT(job.env && !job.env[0]);
	ASSERT_STR(job.argv[3], "a b\nc");
	job_done(&job);
}

TEST(a_job_cut_anywhere_is_refused)
{
	auto_buf struct buf buf;
	write_good(&buf, COUNT_OF(vars));
	ASSERT_EQ(read_at_the_edge(buf.data, buf.len), 0);
	for (size_t len = 1; len < buf.len; len++)
		ASSERT_EQ(read_at_the_edge(buf.data, len), -EBADMSG);
	struct job job;
	ASSERT_EQ(job_read(buf.data, 0, &job), -EBADMSG);
}

/* As above with a header that says the cut length: now the strings themselves are too few. */
TEST(a_job_cut_anywhere_with_its_size_corrected_is_refused)
{
	auto_buf struct buf buf;
	write_good(&buf, COUNT_OF(vars));
	size_t whole = buf.len;
	for (size_t len = sizeof(struct job_header); len < whole; len++) {
		header_of(&buf)->size = (uint32_t)len;
		ASSERT_EQ(read_at_the_edge(buf.data, len), -EBADMSG);
		/* and cut in the middle of a string that still has an end */
		char kept = buf.data[len - 1];
		if (len > sizeof(struct job_header)) {
			buf.data[len - 1] = '\0';
			int r = read_at_the_edge(buf.data, len);
			/* only a cut within the last string leaves as many as there were */
			ASSERT_EQ(r, len > whole - strlen("EMPTY=") - 1 ? 0 : -EBADMSG);
			buf.data[len - 1] = kept;
		}
	}
}

TEST(a_job_with_more_behind_it_is_refused)
{
	auto_buf struct buf buf;
	write_good(&buf, COUNT_OF(vars));
	ASSERT_EQ(buf_append(&buf, "", 1), 0);
	ASSERT_EQ(read_at_the_edge(buf.data, buf.len), -EBADMSG);
	header_of(&buf)->size = (uint32_t)buf.len;
	ASSERT_EQ(read_at_the_edge(buf.data, buf.len), -EBADMSG);
	header_of(&buf)->env_count++; /* now it is one more, empty variable */
	ASSERT_EQ(read_at_the_edge(buf.data, buf.len), 0);
}

TEST(a_job_with_wrong_counts_is_refused)
{
	static const uint32_t huge[] = { 100, LIMIT_ARGS + LIMIT_NAMES,
		LIMIT_ARGS + LIMIT_NAMES + 1, 0x7fffffff, 0x80000000, UINT32_MAX };
	auto_buf struct buf buf;
	write_good(&buf, COUNT_OF(vars));
	const struct job_header good = *header_of(&buf);
	for (int step = -1; step <= 1; step += 2) {
		header_of(&buf)->arg_count = good.arg_count + (uint32_t)step;
		ASSERT_EQ(read_at_the_edge(buf.data, buf.len), -EBADMSG);
		*header_of(&buf) = good;
		header_of(&buf)->env_count = good.env_count + (uint32_t)step;
		ASSERT_EQ(read_at_the_edge(buf.data, buf.len), -EBADMSG);
		*header_of(&buf) = good;
	}
	for (size_t i = 0; i < COUNT_OF(huge); i++) {
		header_of(&buf)->arg_count = huge[i];
		ASSERT_EQ(read_at_the_edge(buf.data, buf.len), -EBADMSG);
		*header_of(&buf) = good;
		header_of(&buf)->env_count = huge[i];
		ASSERT_EQ(read_at_the_edge(buf.data, buf.len), -EBADMSG);
		*header_of(&buf) = good;
	}
	ASSERT_EQ(read_at_the_edge(buf.data, buf.len), 0);
}

TEST(a_job_of_another_build_or_with_nothing_to_run_is_refused)
{
	auto_buf struct buf buf;
	struct strings none = { 0 };
	struct strings env = list_of(vars, COUNT_OF(vars));
	write_good(&buf, COUNT_OF(vars));
	header_of(&buf)->magic ^= 1;
	ASSERT_EQ(read_at_the_edge(buf.data, buf.len), -EBADMSG);
	buf_done(&buf);
	buf_init(&buf, ROOM);
	ASSERT_EQ(job_write(&buf, "/", &none, &env), 0);
	ASSERT_EQ(read_at_the_edge(buf.data, buf.len), -EBADMSG);
}

TEST(a_job_without_a_last_nul_is_refused)
{
	auto_buf struct buf buf;
	write_good(&buf, COUNT_OF(vars));
	buf.data[buf.len - 1] = 'x';
	ASSERT_EQ(read_at_the_edge(buf.data, buf.len), -EBADMSG);
}

TEST(a_job_past_the_buffers_cap_is_not_written)
{
	struct strings argv = list_of(args, COUNT_OF(args));
	struct strings env = list_of(vars, COUNT_OF(vars));
	auto_buf struct buf whole;
	write_good(&whole, COUNT_OF(vars));
	for (size_t cap = 0; cap <= whole.len; cap++) {
		auto_buf struct buf buf;
		buf_init(&buf, cap);
		ASSERT_EQ(
			job_write(&buf, "/home/user", &argv, &env), cap < whole.len ? -ENOSPC : 0);
	}
}
