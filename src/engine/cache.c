/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache is a directory of whoever runs hotcell: every directory on the way must belong to them
 * or to root and be nobody else's to write. Nothing in it is needed: what is missing is made again.
 *
 *	NAME-KEY	what a language needs once for all (prepare.c); its time of change tells the
 *			day it was last used
 *	NAME.lock	held by whoever makes or removes such an entry
 *	version-…	what a language's program said about its version (version.c)
 *	builds		what compilers made (builds.c)
 */
#include "engine/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"

enum { REMOVE_DEPTH = 70, KEY_DIGITS = 16, DAY_SECONDS = 86400, UNUSED_DAYS = 30 };

/* Ours, or root's; and no third party's to change. A sticky directory lets nobody rename what is
 * another's. */
static bool is_safe(int fd, bool is_parent)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || (st.st_uid != geteuid() && !(is_parent && st.st_uid == 0)))
		return false;
	return !(st.st_mode & 022) || (is_parent && (st.st_mode & S_ISVTX));
}

bool cache_is_safe(int fd)
{
	return is_safe(fd, false);
}

static int open_safe(const char *path, bool is_parent, mode_t mode, struct err *err)
{
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return err_sys(err, errno, "create '%s'", path);
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_parent ? 0 : O_NOFOLLOW);
	auto_fd int fd = open(path, flags);
	if (fd < 0)
		return err_sys(err, errno, "open '%s'", path);
	if (!is_safe(fd, is_parent))
		return err_set(err, ERR_INVALID,
			"'%s' can be changed by others; make it yours alone or set XDG_CACHE_HOME",
			path);
	return take_fd(&fd);
}

int cache_open(char **ret_path, struct err *err)
{
	const char *xdg = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");
	auto_free char *cache = NULL;
	if (geteuid() == 0)
		cache = xstrdup("/var/cache");
	else if (xdg && xdg[0] == '/')
		cache = xstrdup(xdg);
	else if (home && home[0] == '/')
		cache = xasprintf("%s/.cache", home);
	else
		return err_set(err, ERR_MISSING,
			"there is no cache directory: set HOME or XDG_CACHE_HOME");
	auto_fd int cache_fd = open_safe(cache, true, 0755, err);
	if (cache_fd < 0)
		return -1;
	auto_free char *path = xasprintf("%s/hotcell", cache);
	int fd = open_safe(path, false, 0755, err);
	if (fd >= 0)
		*ret_path = take_ptr(&path);
	return fd;
}

int cache_open_private(const char *name, struct err *err)
{
	auto_free char *path = NULL;
	auto_fd int cache_fd = cache_open(&path, err);
	if (cache_fd < 0)
		return -1;
	auto_free char *own = xasprintf("%s/%s", path, name);
	return open_safe(own, false, 0700, err);
}

static void remove_tree(int dir_fd, const char *name, int depth)
{
	if (unlinkat(dir_fd, name, 0) == 0 || depth > REMOVE_DEPTH)
		return;
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return;
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_tree(dirfd(dir), entry->d_name, depth + 1);
	(void)unlinkat(dir_fd, name, AT_REMOVEDIR);
}

void cache_remove(int dir_fd, const char *name)
{
	remove_tree(dir_fd, name, 0);
}

void cache_touch(int fd)
{
	struct stat st;
	if (fstat(fd, &st) == 0 && time(NULL) - st.st_mtime > DAY_SECONDS)
		(void)futimens(fd, NULL);
}

/* Gone under its name at once: a part of it must never be taken for the whole. */
static void remove_prepared(int cache_fd, const char *name)
{
	auto_free char *language = xstrndup(name, strlen(name) - KEY_DIGITS - 1);
	auto_free char *lock = xasprintf("%s.lock", language);
	auto_free char *aside = xasprintf(".%s", name);
	auto_fd int lock_fd =
		openat(cache_fd, lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock_fd >= 0 && flock(lock_fd, LOCK_EX | LOCK_NB) == 0 &&
		renameat(cache_fd, name, cache_fd, aside) == 0)
		cache_remove(cache_fd, aside);
}

static bool is_prepared(const char *name)
{
	size_t len = strlen(name);
	return name[0] != '.' && len > KEY_DIGITS + 1 && name[len - KEY_DIGITS - 1] == '-' &&
	       strspn(name + len - KEY_DIGITS, "0123456789abcdef") == KEY_DIGITS;
}

void cache_sweep(int cache_fd)
{
	time_t oldest = time(NULL) - (time_t)UNUSED_DAYS * DAY_SECONDS;
	int list_fd = openat(cache_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir DIR *dir = list_fd < 0 ? NULL : fdopendir(list_fd);
	for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
		const char *name = entry->d_name;
		struct stat st;
		if (fstatat(cache_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_mtime >= oldest)
			continue;
		if (S_ISDIR(st.st_mode) && is_prepared(name))
			remove_prepared(cache_fd, name);
		else if (S_ISREG(st.st_mode) && strncmp(name, "version-", 8) == 0)
			(void)unlinkat(cache_fd, name, 0);
	}
}

uint64_t cache_hash(const void *data, size_t len)
{
	const unsigned char *bytes = data;
	uint64_t hash = UINT64_C(14695981039346656037);
	for (size_t i = 0; i < len; i++) /* FNV-1a */
		hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
	return hash;
}
