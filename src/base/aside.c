/* SPDX-License-Identifier: Apache-2.0 */
#include "base/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/own.h"

enum { NAMES_MAX = 64 };

/* A name of its own beside the target, for the moment or where nameless files do not exist. */
static void make_name(struct aside *aside, int try)
{
	(void)snprintf(aside->name, sizeof(aside->name), ".hotcell-%d-%d", getpid(), try);
}

static int open_named(struct aside *aside, mode_t mode)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = -1;
	errno = EEXIST;
	for (int try = 0; try < NAMES_MAX && fd < 0 && errno == EEXIST; try++) {
		make_name(aside, try);
		fd = openat(aside->dir_fd, aside->name, flags, mode);
	}
	if (fd < 0)
		aside->name[0] = '\0'; /* it is not ours to remove */
	return fd;
}

int aside_open(struct aside *aside, int dir_fd, mode_t mode)
{
	*aside = (struct aside){ .dir_fd = dir_fd };
	aside->fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
	/* overlayfs before 6.1, NFS and FAT have no files without a name */
	if (aside->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		aside->fd = open_named(aside, mode);
	return aside->fd < 0 ? -errno : 0;
}

static int link_named(struct aside *aside, const char *self)
{
	int r = -1;
	errno = EEXIST;
	for (int try = 0; try < NAMES_MAX && r < 0 && errno == EEXIST; try++) {
		make_name(aside, try);
		r = linkat(AT_FDCWD, self, aside->dir_fd, aside->name, AT_SYMLINK_FOLLOW);
	}
	if (r < 0)
		aside->name[0] = '\0';
	return r;
}

int aside_name(struct aside *aside, const char *name)
{
	char self[64];
	if (aside->name[0] == '\0') {
		(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", aside->fd);
		if (linkat(AT_FDCWD, self, aside->dir_fd, name, AT_SYMLINK_FOLLOW) == 0) {
			own_close(&aside->fd);
			return 0;
		}
		if (errno != EEXIST || link_named(aside, self) < 0)
			return -errno;
	}
	if (renameat(aside->dir_fd, aside->name, aside->dir_fd, name) < 0)
		return -errno;
	aside->name[0] = '\0';
	own_close(&aside->fd);
	return 0;
}

int aside_name_new(struct aside *aside, const char *name)
{
	char self[64];
	int r = 0;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", aside->fd);
	if (aside->name[0] == '\0')
		r = linkat(AT_FDCWD, self, aside->dir_fd, name, AT_SYMLINK_FOLLOW);
	else
		r = linkat(aside->dir_fd, aside->name, aside->dir_fd, name, 0);
	if (r < 0)
		return -errno;
	aside_drop(aside);
	return 0;
}

void aside_drop(struct aside *aside)
{
	own_close(&aside->fd);
	if (aside->name[0] != '\0')
		(void)unlinkat(aside->dir_fd, aside->name, 0);
	aside->name[0] = '\0';
}
