/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/foresight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/io.h"
#include "base/own.h"
#include "model/limits.h"

void foreseen_init(struct foreseen *foreseen)
{
	*foreseen = (struct foreseen){ .job_fd = -1, .program_fd = -1 };
	buf_init(&foreseen->job, LIMIT_JOB_BYTES);
}

void foreseen_done(struct foreseen *foreseen)
{
	buf_done(&foreseen->job);
	own_close(&foreseen->job_fd);
	own_close(&foreseen->program_fd);
	free(take_ptr(&foreseen->program));
}

int job_seal(const struct buf *job, int *ret_fd, struct err *err)
{
	auto_fd int fd = memfd_create("hotcell-job", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = fd < 0 ? -errno : io_write(fd, job->data, job->len);
	if (r < 0)
		return err_sys(err, -r, "write the job");
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	*ret_fd = take_fd(&fd);
	return 0;
}

static bool is_same(const struct buf *one, const struct buf *other)
{
	return one->len == other->len && memcmp(buf_text(one), buf_text(other), one->len) == 0;
}

void foresight_keep_job(struct ahead *ahead, const struct buf *job)
{
	if (is_same(&ahead->job, job))
		return;
	buf_done(&ahead->job);
	buf_init(&ahead->job, LIMIT_JOB_BYTES);
	(void)buf_append(&ahead->job, job->data, job->len);
}

void foresight_keep_program(struct ahead *ahead, const char *program)
{
	if (ahead->program && program && strcmp(ahead->program, program) == 0)
		return;
	free(ahead->program);
	ahead->program = program ? xstrdup(program) : NULL;
}

void foresee_job(const struct ahead *ahead, struct foreseen *foreseen)
{
	struct err err = { 0 };
	if (ahead->job.len > 0 && foreseen->job_fd < 0 &&
		job_seal(&ahead->job, &foreseen->job_fd, &err) == 0)
		(void)buf_append(&foreseen->job, ahead->job.data, ahead->job.len);
}

void foresee_program(
	const struct ahead *ahead, const struct workspace *workspace, struct foreseen *foreseen)
{
	struct err err = { 0 };
	if (!ahead->program || foreseen->program || workspace->fd < 0)
		return;
	/* first its name: one that was only half made must go as well */
	foreseen->program = xstrdup(ahead->program);
	(void)workspace_create(workspace, ahead->program, &foreseen->program_fd, &err);
}

int foreseen_take_job(struct foreseen *foreseen, const struct buf *job)
{
	return foreseen->job_fd >= 0 && is_same(&foreseen->job, job) ? take_fd(&foreseen->job_fd)
								     : -1;
}

int foreseen_take_program(struct foreseen *foreseen, const struct workspace *workspace,
	const char *program, int *ret_fd, struct err *err)
{
	auto_fd int fd = take_fd(&foreseen->program_fd);
	auto_free char *name = take_ptr(&foreseen->program);
	bool is_it = fd >= 0 && program && strcmp(name, program) == 0;
	if (name && !is_it)
		TRY(workspace_remove(workspace, name, err));
	*ret_fd = is_it ? take_fd(&fd) : -1;
	return 0;
}
