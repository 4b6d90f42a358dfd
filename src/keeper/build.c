/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a compiler made, on its way from a dead cell into the next one, or into a directory of the
 * host. It goes from workspace to workspace: between the two it has no name anywhere, so nothing
 * of it can be met, swapped or left behind. Whoever made it was told what to do by code we do not
 * trust: links, devices and sockets are passed over, and bytes, files and depth have an end.
 */
#include "keeper/build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "keeper/beneath.h"
#include "model/limits.h"

#define IN_WORKSPACE "tmp/" BUILD_NAME

struct carrying {
	bool has_owner;
	unsigned int uid, gid;
	int64_t bytes_left;
	int files_left;
};

static int own_build(const struct carrying *carrying, int fd)
{
	return carrying->has_owner && fchown(fd, carrying->uid, carrying->gid) < 0 ? -errno : 0;
}

static int carry_file(
	struct carrying *carrying, int from_fd, const struct stat *st, int dir_fd, const char *name)
{
	mode_t mode = st->st_mode & 0111 ? 0755 : 0644;
	if (st->st_size > carrying->bytes_left)
		return -EFBIG;
	auto_fd int fd = beneath_open(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, mode);
	if (fd < 0)
		return fd;
	int r = own_build(carrying, fd);
	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	return r < 0 ? r : copy_bytes(from_fd, fd, st->st_size, &carrying->bytes_left);
}

static int carry(struct carrying *carrying, int from_fd, int dir_fd, const char *name, int depth);

static int carry_entry(
	struct carrying *carrying, int from_dir_fd, int dir_fd, const char *name, int depth)
{
	struct stat st;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (fstatat(from_dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	auto_fd int fd = beneath_open(from_dir_fd, name, O_RDONLY | O_NONBLOCK, 0);
	return fd < 0 ? fd : carry(carrying, fd, dir_fd, name, depth + 1);
}

static int carry_dir(
	struct carrying *carrying, int from_fd, int dir_fd, const char *name, int depth)
{
	if (mkdirat(dir_fd, name, 0755) < 0)
		return -errno;
	auto_fd int to_fd = beneath_open(dir_fd, name, O_RDONLY | O_DIRECTORY, 0);
	if (to_fd < 0)
		return to_fd;
	int r = own_build(carrying, to_fd);
	int list_fd = openat(from_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir DIR *dir = list_fd < 0 ? NULL : fdopendir(list_fd);
	if (!dir)
		return -errno;
	for (struct dirent *entry = readdir(dir); entry && r == 0; entry = readdir(dir))
		r = carry_entry(carrying, from_fd, to_fd, entry->d_name, depth);
	return r;
}

static int carry(struct carrying *carrying, int from_fd, int dir_fd, const char *name, int depth)
{
	struct stat st;
	if (depth > LIMIT_TREE_DEPTH || carrying->files_left-- <= 0)
		return -EMFILE;
	if (fstat(from_fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return carry_dir(carrying, from_fd, dir_fd, name, depth);
	if (S_ISREG(st.st_mode))
		return carry_file(carrying, from_fd, &st, dir_fd, name);
	return -EINVAL;
}

static int explain(int r, struct err *err)
{
	if (r == -EFBIG || r == -EDQUOT)
		return err_set(err, ERR_LIMIT, "what the compiler made is over %lld bytes",
			(long long)LIMIT_BUILD_BYTES);
	if (r == -EMFILE)
		return err_set(err, ERR_LIMIT,
			"what the compiler made is over %d files or %d directories deep",
			LIMIT_TREE_FILES, LIMIT_TREE_DEPTH);
	if (r == -ENOSPC)
		return err_set(err, ERR_LIMIT,
			"what the compiler made does not fit; give the cell more room with --disk");
	if (r == -EINVAL)
		return err_set(err, ERR_INVALID,
			"what the compiler made is neither a file nor a directory");
	return err_sys(err, -r, "take over what the compiler made");
}

int workspace_prepare_build(const struct workspace *workspace, struct err *err)
{
	if (mkdirat(workspace->fd, IN_WORKSPACE, 0755) < 0 ||
		fchownat(workspace->fd, IN_WORKSPACE, workspace->uid, workspace->gid,
			AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, errno, "create '%s' in the cell", BUILD_DIR);
	return 0;
}

int workspace_put_build(const struct workspace *workspace, int build_fd, struct err *err)
{
	TRY(workspace_prepare_build(workspace, err));
	auto_fd int dir_fd = beneath_open(workspace->fd, IN_WORKSPACE, O_RDONLY | O_DIRECTORY, 0);
	if (dir_fd < 0)
		return err_sys(err, -dir_fd, "open '%s' of the cell", BUILD_DIR);
	struct carrying carrying = { .has_owner = true,
		.uid = workspace->uid,
		.gid = workspace->gid,
		.bytes_left = LIMIT_BUILD_BYTES,
		.files_left = LIMIT_TREE_FILES };
	int r = carry(&carrying, build_fd, dir_fd, BUILD_FILE, 0);
	return r < 0 ? explain(r, err) : 0;
}

int workspace_remove_build(const struct workspace *workspace, struct err *err)
{
	if ((unlinkat(workspace->fd, IN_WORKSPACE "/" BUILD_FILE, 0) < 0 && errno != ENOENT) ||
		(unlinkat(workspace->fd, IN_WORKSPACE, AT_REMOVEDIR) < 0 && errno != ENOENT))
		return err_sys(err, errno, "remove '%s' from the cell", BUILD_DIR);
	return 0;
}

int workspace_take_build(const struct workspace *workspace, int *ret_fd, struct err *err)
{
	struct stat st;
	auto_fd int fd =
		beneath_open(workspace->fd, IN_WORKSPACE "/" BUILD_FILE, O_RDONLY | O_NONBLOCK, 0);
	if (fd == -ENOENT)
		return err_set(err, ERR_MISSING, "the compiler made nothing at %s", BUILD_PATH);
	if (fd < 0)
		return explain(fd == -ELOOP ? -EINVAL : fd, err);
	if (fstat(fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return explain(-EINVAL, err);
	*ret_fd = take_fd(&fd);
	return 0;
}

int build_save(int build_fd, int dir_fd, const char *name, struct err *err)
{
	struct carrying carrying = { .bytes_left = LIMIT_BUILD_BYTES,
		.files_left = LIMIT_TREE_FILES };
	int r = carry(&carrying, build_fd, dir_fd, name, 0);
	return r < 0 ? explain(r, err) : 0;
}
