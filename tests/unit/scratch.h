/* SPDX-License-Identifier: Apache-2.0 */
/* Takes away the directory that a test made for itself. */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int scratch_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* The test may stand in it. */
static void scratch_remove(const char *root)
{
	(void)chdir("/");
	(void)nftw(root, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
