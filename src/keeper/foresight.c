/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/foresight.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "keeper/build.h"

enum { BUILD_MAX = 16 << 20 }; /* what is larger is copied for those who use it */

void foreseen_init(struct foreseen *foreseen)
{
	*foreseen = (struct foreseen){ .program_fd = -1 };
}

void foreseen_done(struct foreseen *foreseen)
{
	own_close(&foreseen->program_fd);
	free(take_ptr(&foreseen->program));
}

void foresight_keep_program(struct ahead *ahead, const char *program)
{
	if (ahead->program && program && strcmp(ahead->program, program) == 0)
		return;
	free(ahead->program);
	ahead->program = program ? xstrdup(program) : NULL;
}

/* A file that changed is another one: nobody can set the time of its last change. */
static bool is_same_file(const struct stat *one, const struct stat *other)
{
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino &&
	       one->st_size == other->st_size && one->st_ctim.tv_sec == other->st_ctim.tv_sec &&
	       one->st_ctim.tv_nsec == other->st_ctim.tv_nsec;
}

static bool stat_build(int fd, struct stat *ret_build)
{
	return fstat(fd, ret_build) == 0 && S_ISREG(ret_build->st_mode) &&
	       ret_build->st_size <= BUILD_MAX;
}

/* Opened anew: whoever gave it to us has locked it, and would lock it for as long as we have it. */
static int open_again(int fd)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void foresight_keep_build(struct ahead *ahead, const int *build_fd)
{
	struct stat build;
	struct stat kept;
	if (!build_fd || !stat_build(*build_fd, &build)) {
		own_close(&ahead->build_fd);
		return;
	}
	if (ahead->build_fd >= 0 && stat_build(ahead->build_fd, &kept) &&
		is_same_file(&build, &kept))
		return;
	own_close(&ahead->build_fd);
	ahead->build_fd = open_again(*build_fd);
}

void foresight_done(struct ahead *ahead)
{
	free(take_ptr(&ahead->program));
	own_close(&ahead->build_fd);
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

void foresee_build(
	const struct ahead *ahead, const struct workspace *workspace, struct foreseen *foreseen)
{
	struct err err = { 0 };
	struct stat build;
	if (ahead->build_fd < 0 || foreseen->has_build || workspace->fd < 0 ||
		!stat_build(ahead->build_fd, &build))
		return;
	foreseen->has_build = true;
	if (workspace_put_build(workspace, ahead->build_fd, &err) == 0)
		foreseen->build = build;
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

int foreseen_take_build(struct foreseen *foreseen, const struct workspace *workspace,
	const int *build_fd, bool *ret_is_there, struct err *err)
{
	struct stat build;
	*ret_is_there = foreseen->has_build && build_fd && stat_build(*build_fd, &build) &&
			is_same_file(&build, &foreseen->build);
	if (foreseen->has_build && !*ret_is_there)
		TRY(workspace_remove_build(workspace, err));
	foreseen->has_build = false;
	return 0;
}
