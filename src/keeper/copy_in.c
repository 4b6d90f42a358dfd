/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "keeper/beneath.h"

int beneath_open(int dir_fd, const char *path, uint64_t flags, unsigned int mode)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC | O_NOFOLLOW,
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};
	int fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

/* mkdir -p of all but the last component; every directory made is the cell user's. */
static int make_parents(
	const struct workspace *workspace, int home_fd, const char *path, struct err *err)
{
	char part[PATH_MAX];
	(void)snprintf(part, sizeof(part), "%s", path);
	for (char *slash = strchr(part, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(home_fd, part, 0755) == 0)
			(void)fchownat(
				home_fd, part, workspace->uid, workspace->gid, AT_SYMLINK_NOFOLLOW);
		else if (errno != EEXIST)
			return err_sys(err, errno, "create '/home/user/%s'", part);
		*slash = '/';
	}
	return 0;
}

/* `path` is beneath `dir_fd`, `name` beneath the home. */
static int create_at(const struct workspace *workspace, int dir_fd, const char *path,
	const char *name, mode_t mode, int *ret_fd, struct err *err)
{
	int fd = beneath_open(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL, mode);
	if (fd == -EEXIST)
		return err_set(
			err, ERR_INVALID, "--file: '%s' would be put into the cell twice", name);
	if (fd < 0)
		return err_sys(err, -fd, "create '/home/user/%s'", name);
	*ret_fd = fd;
	return fchown(fd, workspace->uid, workspace->gid) < 0 || fchmod(fd, mode) < 0
		       ? err_sys(err, errno, "hand over '/home/user/%s'", name)
		       : 0;
}

static int create(const struct workspace *workspace, int home_fd, const char *path, mode_t mode,
	int *ret_fd, struct err *err)
{
	TRY(make_parents(workspace, home_fd, path, err));
	return create_at(workspace, home_fd, path, path, mode, ret_fd, err);
}

static int open_home(const struct workspace *workspace, struct err *err)
{
	int fd = beneath_open(workspace->fd, "home", O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? err_sys(err, -fd, "open the workspace") : fd;
}

static int explain_full(int sys, const char *path, struct err *err)
{
	if (sys == ENOSPC)
		return err_set(err, ERR_LIMIT,
			"'%s' does not fit into the cell; give it more room with --disk", path);
	return err_sys(err, sys, "copy '%s' into the cell", path);
}

int workspace_create(
	const struct workspace *workspace, const char *name, int *ret_fd, struct err *err)
{
	char path[PATH_MAX];
	auto_fd int fd = -1;
	(void)snprintf(path, sizeof(path), "home/%s", name);
	TRY(create_at(workspace, workspace->fd, path, name, 0644, &fd, err));
	*ret_fd = take_fd(&fd);
	return 0;
}

int workspace_fill(int fd, const char *name, const char *data, size_t len, struct err *err)
{
	int r = io_write(fd, data, len);
	return r < 0 ? explain_full(-r, name, err) : 0;
}

int workspace_remove(const struct workspace *workspace, const char *name, struct err *err)
{
	auto_fd int home_fd = open_home(workspace, err);
	if (home_fd < 0)
		return -1;
	if (unlinkat(home_fd, name, 0) < 0 && errno != ENOENT)
		return err_sys(err, errno, "remove '/home/user/%s'", name);
	return 0;
}

int workspace_put(const struct workspace *workspace, const char *name, const char *data, size_t len,
	struct err *err)
{
	auto_fd int fd = -1;
	TRY(workspace_create(workspace, name, &fd, err));
	return workspace_fill(fd, name, data, len, err);
}

static int copy_file(const struct workspace *workspace, int home_fd, int from_fd,
	const struct stat *st, const char *to, struct err *err)
{
	char chunk[65536];
	auto_fd int fd = -1;
	mode_t mode = st->st_mode & 0111 ? 0755 : 0644;
	TRY(create(workspace, home_fd, to, mode, &fd, err));
	for (;;) {
		ssize_t n = read(from_fd, chunk, sizeof(chunk));
		if (n == 0)
			return 0;
		int r = n < 0 ? -errno : io_write(fd, chunk, (size_t)n);
		if (r < 0)
			return explain_full(-r, to, err);
	}
}

struct copying {
	const struct workspace *workspace;
	int home_fd;
	int left; /* files that may still come */
};

static int copy_any(struct copying *copying, int dir_fd, const char *name, const char *to,
	int depth, struct err *err);

static int copy_dir(struct copying *copying, int fd, const char *to, int depth, struct err *err)
{
	char path[PATH_MAX];
	(void)snprintf(path, sizeof(path), "%s/", to);
	TRY(make_parents(copying->workspace, copying->home_fd, path, err));
	auto_dir DIR *dir = fdopendir(fd);
	if (!dir) {
		(void)close(fd);
		return err_sys(err, errno, "read a directory of '%s'", to);
	}
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", to, entry->d_name) >=
			sizeof(path))
			return err_set(err, ERR_LIMIT, "--file: a path below '%s' is too long", to);
		TRY(copy_any(copying, dirfd(dir), entry->d_name, path, depth + 1, err));
	}
	return 0;
}

/* Links are followed for what a person names, never for what is found below it. */
static int copy_any(struct copying *copying, int dir_fd, const char *name, const char *to,
	int depth, struct err *err)
{
	struct stat st;
	int follow = depth == 0 ? 0 : O_NOFOLLOW;
	if (depth > LIMIT_TREE_DEPTH || copying->left-- <= 0)
		return err_set(err, ERR_LIMIT, "--file: more than %d files or %d directories deep",
			LIMIT_TREE_FILES, LIMIT_TREE_DEPTH);
	auto_fd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | follow);
	/* below what was named, links are not followed and sockets cannot be opened */
	if (fd < 0 && depth > 0 && (errno == ELOOP || errno == ENXIO))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "--file: open '%s'", name);
	if (S_ISDIR(st.st_mode))
		return copy_dir(copying, take_fd(&fd), to, depth, err);
	if (S_ISREG(st.st_mode))
		return copy_file(copying->workspace, copying->home_fd, fd, &st, to, err);
	if (depth == 0)
		return err_set(
			err, ERR_INVALID, "--file: '%s' is neither a file nor a directory", name);
	return 0;
}

int workspace_copy_in(const struct workspace *workspace, const struct pairs *files, struct err *err)
{
	if (files->count == 0)
		return 0;
	auto_fd int home_fd = open_home(workspace, err);
	if (home_fd < 0)
		return -1;
	struct copying copying = { workspace, home_fd, LIMIT_TREE_FILES };
	for (size_t i = 0; i < files->count; i++) {
		auto_free char *to = spec_file_target(&files->items[i]);
		if (!to)
			return err_set(err, ERR_INVALID, "--file: '%s' has no place in the cell",
				files->items[i].from);
		TRY(copy_any(&copying, AT_FDCWD, files->items[i].from, to, 0, err));
	}
	return 0;
}

bool workspace_is_full(const struct workspace *workspace, const char **ret_what)
{
	struct statvfs fs;
	if (fstatvfs(workspace->fd, &fs) < 0)
		return false;
	*ret_what = fs.f_ffree == 0 ? "--inodes" : "--disk";
	return fs.f_bavail == 0 || fs.f_ffree == 0;
}
