/* SPDX-License-Identifier: Apache-2.0 */
#include "base/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/own.h"

static void make_name(char *name, size_t size)
{
	(void)snprintf(name, size, ".hotcell-%d", getpid());
}

int aside_open(struct aside *aside, int dir_fd, mode_t mode)
{
	*aside = (struct aside){ .dir_fd = dir_fd };
	aside->fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
	/* overlayfs before 6.1, NFS and FAT have no files without a name */
	if (aside->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		make_name(aside->name, sizeof(aside->name));
		aside->fd = openat(dir_fd, aside->name,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	}
	return aside->fd < 0 ? -errno : 0;
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
		if (errno != EEXIST)
			return -errno;
		make_name(aside->name, sizeof(aside->name));
		if (linkat(AT_FDCWD, self, aside->dir_fd, aside->name, AT_SYMLINK_FOLLOW) < 0)
			return -errno;
	}
	if (renameat(aside->dir_fd, aside->name, aside->dir_fd, name) < 0)
		return -errno;
	aside->name[0] = '\0';
	own_close(&aside->fd);
	return 0;
}

void aside_drop(struct aside *aside)
{
	own_close(&aside->fd);
	if (aside->name[0] != '\0')
		(void)unlinkat(aside->dir_fd, aside->name, 0);
	aside->name[0] = '\0';
}
