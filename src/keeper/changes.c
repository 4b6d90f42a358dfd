/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mount shows what becomes of a file, a copy does not: a certificate that was added, a program
 * that another alternative stands for now. So the kernel is asked to tell (inotify). Directories
 * tell of what is in them; single files and links tell of themselves, also when another takes
 * their place.
 */
#include "keeper/changes.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/own.h"
#include "jail/jail.h"

static const uint32_t of_entries =
	IN_CREATE | IN_DELETE | IN_MOVE | IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

/* Who loses its last name says no more than that its attributes changed while it is in use. */
static const uint32_t of_one = IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;

static int watch_entry(int fd, const FTSENT *entry)
{
	bool is_single = entry->fts_level == FTS_ROOTLEVEL &&
			 (entry->fts_info == FTS_F || entry->fts_info == FTS_SL);
	if (entry->fts_info != FTS_D && !is_single)
		return 0;
	uint32_t kinds = (is_single ? of_one : of_entries) | IN_DONT_FOLLOW;
	int r = inotify_add_watch(fd, entry->fts_accpath, kinds);
	/* what went away is not copied, nor what is not everybody's to read */
	return r < 0 && errno != ENOENT && errno != EACCES ? -errno : 0;
}

/* What has more entries than may be copied is not copied. */
static int watch_tree(int fd, char *path)
{
	char *const paths[] = { path, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	int r = tree ? 0 : -errno;
	for (int left = JAIL_COPIED_MAX; r == 0 && left > 0; left--) {
		const FTSENT *entry = fts_read(tree);
		if (!entry)
			break;
		r = watch_entry(fd, entry);
	}
	if (tree)
		(void)fts_close(tree);
	return r;
}

static int watch_all(int fd, const char *rootfs, const char *runtime)
{
	char path[PATH_MAX];
	int r = 0;
	for (const char *const *below = jail_copied_paths; *below && r == 0; below++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", rootfs, *below) >= sizeof(path))
			return -ENAMETOOLONG;
		r = watch_tree(fd, path);
	}
	if (r < 0 || !runtime)
		return r;
	return realpath(runtime, path) ? watch_tree(fd, path) : -errno;
}

int changes_watch(const char *rootfs, const char *runtime)
{
	auto_fd int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	int r = fd < 0 ? -errno : watch_all(fd, rootfs, runtime);
	return r < 0 ? r : take_fd(&fd);
}

bool changes_came(int fd)
{
	_Alignas(struct inotify_event) char events[4096];
	bool came = false;
	while (fd >= 0 && read(fd, events, sizeof(events)) > 0)
		came = true;
	return came;
}
