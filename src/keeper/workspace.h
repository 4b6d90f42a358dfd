/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files into and out of a cell, always through the supervisor's own nosymfollow clone of the
 * workspace: its `home` is /home/user, its `tmp` is /tmp.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "model/result.h"
#include "model/spec.h"

struct workspace {
	int fd;           /* owned */
	unsigned int uid; /* who owns what we put in */
	unsigned int gid;
};

/* That of a session, whose descriptor stays the caller's. */
int workspace_of_session(int workspace_fd, struct workspace *ret_workspace, struct err *err);

/* Makes the code's own file, which is the cell's then; fills it; removes it where it is there. */
int workspace_create(
	const struct workspace *workspace, const char *name, int *ret_fd, struct err *err);
int workspace_fill(int fd, const char *name, const char *data, size_t len, struct err *err);
int workspace_remove(const struct workspace *workspace, const char *name, struct err *err);

/* The first two. */
int workspace_put(const struct workspace *workspace, const char *name, const char *data, size_t len,
	struct err *err);

/* Copies --file sources in: files, or directories with all below. */
int workspace_copy_in(
	const struct workspace *workspace, const struct pairs *files, struct err *err);

/* Refuses targets of --out that can take no file, before anything ran for nothing. */
int workspace_check_out(const struct pairs *outs, struct err *err);

/* Copies what --out asks for to the host; what cannot be taken is listed with the reason.
 * `program`, the code's own file, is not a result. Call it when the cell is dead. */
int workspace_copy_out(const struct workspace *workspace, const struct spec *spec,
	const char *program, struct result *result, struct err *err);

/* True when nothing more can be written: no bytes or no inodes left. */
bool workspace_is_full(const struct workspace *workspace, const char **ret_what);
