/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files into and out of the home of a session, one at a time. Its code may run meanwhile and do
 * what it can to lead us astray: put links where directories were, fifos where files were, other
 * files where ours is about to be. So every step is one from a descriptor to the next, beneath it
 * and link-free, and what was opened is looked at again.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/own.h"
#include "keeper/beneath.h"
#include "keeper/keeper.h"
#include "keeper/machine.h"
#include "keeper/workspace.h"
#include "wire/utf8.h"

enum { QUOTE_SIZE = 160 };

int workspace_of_session(int workspace_fd, struct workspace *ret_workspace, struct err *err)
{
	struct stat st;
	/* what is put in belongs to who owns the cell's home */
	if (fstatat(workspace_fd, "home", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, errno, "look at the home of the session");
	bool is_root = machine_mode() == MODE_ROOT;
	*ret_workspace = (struct workspace){ .fd = workspace_fd,
		.uid = is_root ? st.st_uid : geteuid(),
		.gid = is_root ? st.st_gid : getegid() };
	return 0;
}

/* ---- paths --------------------------------------------------------------------------------------
 */

static int refuse_path(const char *path, const char *why, struct err *err)
{
	char quote[QUOTE_SIZE];
	return err_set(
		err, ERR_INVALID, "path: '%s' %s", utf8_line(path, quote, sizeof(quote)), why);
}

static bool is_dots(const char *part, size_t len)
{
	return (len == 1 && part[0] == '.') || (len == 2 && part[0] == '.' && part[1] == '.');
}

int home_path(const char *given, char **ret_path, struct err *err)
{
	static const char home[] = "/home/user/";
	bool is_whole = strncmp(given, home, sizeof(home) - 1) == 0;
	const char *path = is_whole ? given + sizeof(home) - 1 : given;
	int depth = 0;
	if (*path == '/')
		return refuse_path(given, "is not below /home/user", err);
	if (strlen(path) >= PATH_MAX)
		return err_set(err, ERR_INVALID, "path: it is over %d bytes", PATH_MAX - 1);
	for (const char *part = path;; part++) {
		size_t len = strcspn(part, "/");
		if (len == 0)
			return refuse_path(given, "has an empty part", err);
		if (is_dots(part, len))
			return refuse_path(given, "has a '.' or '..' in it", err);
		if (len > NAME_MAX)
			return refuse_path(given, "has a name that is too long", err);
		if (++depth > LIMIT_TREE_DEPTH)
			return refuse_path(given, "is too many directories deep", err);
		part += len;
		if (*part == '\0')
			break;
	}
	*ret_path = xstrdup(path);
	return 0;
}

static int refuse_sys(int sys, const char *doing, const char *path, struct err *err)
{
	char quote[QUOTE_SIZE];
	(void)utf8_line(path, quote, sizeof(quote));
	switch (sys) {
	case ENOENT:
		return err_set(err, ERR_MISSING, "there is no '%s' in /home/user", quote);
	case ELOOP:
	case EXDEV:
		return refuse_path(path, "leads over a symbolic link", err);
	case ENOTDIR:
		return refuse_path(path, "leads over what is no directory", err);
	case EISDIR:
		return refuse_path(path, "is a directory", err);
	case ENXIO: /* a socket */
		return refuse_path(path, "is no plain file", err);
	case EACCES:
	case EPERM:
		return refuse_path(
			path, "is closed to us: the code took its permissions away", err);
	case ENOTEMPTY:
	case EEXIST:
		return refuse_path(path, "is a directory with something in it", err);
	default:
		return err_sys(err, sys, "%s '%s'", doing, quote);
	}
}

int home_refuse_write(int sys, const char *path, struct err *err)
{
	char quote[QUOTE_SIZE];
	if (sys == ENOSPC || sys == EDQUOT)
		return err_set(err, ERR_LIMIT,
			"'%s' does not fit into the session: its disk is full; make it with more "
			"(disk, inodes), or remove something",
			utf8_line(path, quote, sizeof(quote)));
	return refuse_sys(sys, "write", path, err);
}

static int open_home(int workspace_fd, struct err *err)
{
	int fd = beneath_open(workspace_fd, "home", O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? err_sys(err, -fd, "open the home of the session") : fd;
}

/* The directory that the path's last part is in; *ret_name points to that. */
static int open_parent(int home_fd, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	*ret_name = slash ? slash + 1 : path;
	auto_free char *dir = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
	return beneath_open(home_fd, dir, O_RDONLY | O_DIRECTORY, 0);
}

/* ---- out ----------------------------------------------------------------------------------------
 */

int home_open(int workspace_fd, const char *path, int *ret_fd, struct err *err)
{
	struct stat st;
	auto_fd int home_fd = open_home(workspace_fd, err);
	if (home_fd < 0)
		return -1;
	auto_fd int fd = beneath_open(home_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0 || fstat(fd, &st) < 0)
		return refuse_sys(fd < 0 ? -fd : errno, "open", path, err);
	if (S_ISDIR(st.st_mode))
		return refuse_sys(EISDIR, "open", path, err);
	if (!S_ISREG(st.st_mode))
		return refuse_path(path, "is no plain file", err);
	*ret_fd = take_fd(&fd);
	return 0;
}

int home_collect(int workspace_fd, const struct spec *spec, struct result *result, struct err *err)
{
	const struct workspace workspace = { .fd = workspace_fd };
	return workspace_copy_out(&workspace, spec, NULL, result, err);
}

/* ---- in -----------------------------------------------------------------------------------------
 */

int home_create(int workspace_fd, int *ret_fd, struct err *err)
{
	struct workspace workspace = { 0 };
	TRY(workspace_of_session(workspace_fd, &workspace, err));
	auto_fd int home_fd = open_home(workspace_fd, err);
	if (home_fd < 0)
		return -1;
	auto_fd int fd = openat(home_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || fchown(fd, workspace.uid, workspace.gid) < 0 || fchmod(fd, 0644) < 0)
		return home_refuse_write(errno, "a file", err);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* One step down, to a directory that may have to be made. A descriptor or -errno. */
static int step_into(const struct workspace *workspace, int dir_fd, const char *name)
{
	bool is_new = mkdirat(dir_fd, name, 0755) == 0;
	if (!is_new && errno != EEXIST)
		return -errno;
	auto_fd int fd = beneath_open(dir_fd, name, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return fd;
	if (is_new && fchown(fd, workspace->uid, workspace->gid) < 0)
		return -errno;
	return take_fd(&fd);
}

/* The directory for the path's last part, with all above it. */
static int make_parent(
	const struct workspace *workspace, int home_fd, const char *path, const char **ret_name)
{
	auto_fd int fd = fcntl(home_fd, F_DUPFD_CLOEXEC, 0);
	const char *part = path;
	for (const char *slash = strchr(part, '/'); fd >= 0 && slash; slash = strchr(part, '/')) {
		auto_free char *name = xstrndup(part, (size_t)(slash - part));
		int next = step_into(workspace, fd, name);
		if (next < 0)
			return next;
		own_close(&fd);
		fd = next;
		part = slash + 1;
	}
	*ret_name = part;
	return fd < 0 ? -errno : take_fd(&fd);
}

int home_name(int workspace_fd, int fd, const char *path, struct err *err)
{
	struct workspace workspace = { 0 };
	const char *name = NULL;
	TRY(workspace_of_session(workspace_fd, &workspace, err));
	auto_fd int home_fd = open_home(workspace_fd, err);
	if (home_fd < 0)
		return -1;
	auto_fd int dir_fd = make_parent(&workspace, home_fd, path, &name);
	if (dir_fd < 0)
		return home_refuse_write(-dir_fd, path, err);
	struct aside aside = { .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), .dir_fd = dir_fd };
	int r = aside.fd < 0 ? -errno : aside_name(&aside, name);
	aside_drop(&aside);
	return r < 0 ? home_refuse_write(-r, path, err) : 0;
}

int home_remove(int workspace_fd, const char *path, struct err *err)
{
	const char *name = NULL;
	struct stat st;
	auto_fd int home_fd = open_home(workspace_fd, err);
	if (home_fd < 0)
		return -1;
	auto_fd int dir_fd = open_parent(home_fd, path, &name);
	if (dir_fd < 0)
		return refuse_sys(-dir_fd, "remove", path, err);
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		unlinkat(dir_fd, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) < 0)
		return refuse_sys(errno, "remove", path, err);
	return 0;
}
