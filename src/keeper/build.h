/* SPDX-License-Identifier: Apache-2.0 */
/* What a compiler made, from one cell to the next. */
#pragma once

#include "keeper/keeper.h"
#include "keeper/workspace.h"

/* The directory for it in a cell that compiles. */
int workspace_prepare_build(const struct workspace *workspace, struct err *err);

/* Copies it into a cell that is to run it. */
int workspace_put_build(const struct workspace *workspace, int build_fd, struct err *err);

/* Removes what was copied there, where it is one file. */
int workspace_remove_build(const struct workspace *workspace, struct err *err);

/* Opens it in the workspace of a dead cell: a file or a directory, nothing else. */
int workspace_take_build(const struct workspace *workspace, int *ret_fd, struct err *err);
