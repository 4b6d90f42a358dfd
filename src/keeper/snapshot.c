/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a change is noticed: the kernel sets a file's change time whenever its bytes or its mode
 * change, and nobody in a cell can set it to anything else. A copy keeps the change time of its
 * original where nobody needs it, as its own access time. While the two agree, original and copy
 * have the same bytes. (A write through a shared mapping moves no times: whoever maps files is told
 * so when a point is made.)
 */
#include "keeper/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "keeper/beneath.h"
#include "model/limits.h"

#define POINTS "points"

struct copying {
	const struct workspace *workspace;
	struct snapshot_report *report;
	int entries_left;
	int points_fd; /* borrowed */
	/* Change times tell two changes apart however close they are. Where they do not, a file
	 * that has just changed may change again without a trace, and is copied every time. It is
	 * found out when the first file is copied. */
	bool is_fine, has_tried;
};

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Whether two changes one after the other have two times. Looking at a time makes the kernel give
 * the next change another one, where it can. */
static bool has_fine_times(int dir_fd)
{
	enum { TRIES = 3 };
	struct stat before;
	struct stat after;
	auto_fd int fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &before) < 0)
		return false;
	for (int i = 0; i < TRIES; i++) {
		if (fchmod(fd, 0600) < 0 || fstat(fd, &after) < 0 ||
			is_same_time(before.st_ctim, after.st_ctim))
			return false;
		before = after;
	}
	return true;
}

static struct timespec stamp(struct copying *copying, const struct stat *original)
{
	if (!copying->has_tried)
		copying->is_fine = has_fine_times(copying->points_fd);
	copying->has_tried = true;
	return copying->is_fine ? original->st_ctim : (struct timespec){ 0 };
}

static bool is_unchanged(const struct stat *original, const struct stat *copy)
{
	return S_ISREG(copy->st_mode) && S_ISREG(original->st_mode) &&
	       is_same_time(copy->st_atim, original->st_ctim);
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* ---- opening what its owner may not even read --------------------------------------------------
 */

/* As an ordinary user we are the owner, and held to the mode; so it is changed for a moment. The
 * workspace follows no links, so neither does this. */
static int open_anyway(int dir_fd, const char *name, const struct stat *st, uint64_t flags)
{
	int fd = beneath_open(dir_fd, name, flags | O_NONBLOCK, 0);
	if (fd != -EACCES)
		return fd;
	if (fchmodat(dir_fd, name, (st->st_mode & 07777) | 0700, 0) < 0)
		return -errno;
	fd = beneath_open(dir_fd, name, flags | O_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	if (!S_ISDIR(st->st_mode) && fchmod(fd, st->st_mode & 07777) < 0) {
		int sys = errno;
		(void)close(fd);
		return -sys;
	}
	return fd; /* a directory gets its mode back when it has been walked */
}

static int open_dir(int dir_fd, const char *name, const struct stat *st)
{
	return open_anyway(dir_fd, name, st, O_RDONLY | O_DIRECTORY);
}

/* See open_anyway(). */
static void put_mode_back(int dir_fd, const struct stat *st)
{
	if ((st->st_mode & 0700) != 0700)
		(void)fchmod(dir_fd, st->st_mode & 07777);
}

/* A list of its own, so that `fd` stays at its place. NULL and errno. */
static DIR *list_dir(int fd)
{
	int list_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = list_fd < 0 ? NULL : fdopendir(list_fd);
	if (dir)
		return dir;
	int sys = errno;
	own_close(&list_fd);
	errno = sys;
	return NULL;
}

static int count_entry(struct copying *copying, int depth)
{
	return depth > LIMIT_TREE_DEPTH || copying->entries_left-- <= 0 ? -EMFILE : 0;
}

static int give_times(int fd, struct timespec accessed, struct timespec modified)
{
	const struct timespec times[2] = { accessed, modified };
	return futimens(fd, times) < 0 ? -errno : 0;
}

/* A copy of a directory has its mode and its time. */
static int dress(int fd, const struct stat *st)
{
	if (fchmod(fd, st->st_mode & 07777) < 0)
		return -errno;
	return give_times(fd, st->st_mtim, st->st_mtim);
}

/* Removes whatever has this name. */
static int remove_tree(int dir_fd, const char *name, int depth)
{
	struct stat st;
	if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (depth > LIMIT_TREE_DEPTH)
		return -EMFILE;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	auto_fd int fd = open_dir(dir_fd, name, &st);
	if (fd < 0)
		return fd;
	int r = fchmod(fd, 0700) < 0 ? -errno : 0;
	auto_dir DIR *dir = list_dir(fd);
	if (!dir)
		return -errno;
	for (struct dirent *entry = readdir(dir); entry && r == 0; entry = readdir(dir))
		if (!is_dot(entry->d_name))
			r = remove_tree(fd, entry->d_name, depth + 1);
	if (r == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r;
}

/* ---- links and queues, the same in both directions ----------------------------------------------
 */

static bool is_same_link(int from_fd, int to_fd, const char *name)
{
	char from[PATH_MAX];
	char to[PATH_MAX];
	ssize_t from_len = readlinkat(from_fd, name, from, sizeof(from));
	ssize_t to_len = readlinkat(to_fd, name, to, sizeof(to));
	return from_len >= 0 && from_len == to_len && memcmp(from, to, (size_t)from_len) == 0;
}

static int copy_link(int from_fd, int to_fd, const char *name)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(from_fd, name, target, sizeof(target) - 1);
	if (len < 0)
		return -errno;
	target[len] = '\0';
	return symlinkat(target, to_fd, name) < 0 ? -errno : 0;
}

/* Links and queues: what has a name, but no bytes. 1: it is of another kind. */
static int copy_small(int from_fd, int to_fd, const char *name, const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		return copy_link(from_fd, to_fd, name);
	if (S_ISFIFO(st->st_mode))
		return mknodat(to_fd, name, S_IFIFO | (st->st_mode & 07777), 0) < 0 ? -errno : 0;
	return 1;
}

/* ---- taking ------------------------------------------------------------------------------------
 */

static int take_bytes(struct copying *copying, int home_fd, int tree_fd, const char *name)
{
	struct stat st;
	int64_t budget = INT64_MAX; /* the tmpfs has its limit */
	if (fstatat(home_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	auto_fd int from_fd = open_anyway(home_fd, name, &st, O_RDONLY);
	if (from_fd < 0)
		return from_fd;
	/* before the first byte is read: what changes later shows */
	if (fstat(from_fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EAGAIN;
	auto_fd int to_fd = beneath_open(tree_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (to_fd < 0)
		return to_fd;
	int r = copy_bytes(from_fd, to_fd, st.st_size, &budget);
	if (r == 0 && fchmod(to_fd, st.st_mode & 07777) < 0)
		r = -errno;
	if (r == 0)
		r = give_times(to_fd, stamp(copying, &st), st.st_mtim);
	copying->report->copied++;
	copying->report->bytes += st.st_size;
	return r;
}

static int take_file(struct copying *copying, int home_fd, int tree_fd, int previous_fd,
	const char *name, const struct stat *st)
{
	struct stat copy;
	copying->report->files++;
	if (previous_fd >= 0 && fstatat(previous_fd, name, &copy, AT_SYMLINK_NOFOLLOW) == 0 &&
		is_unchanged(st, &copy) && linkat(previous_fd, name, tree_fd, name, 0) == 0)
		return 0;
	return take_bytes(copying, home_fd, tree_fd, name);
}

static int take_dir(struct copying *copying, int home_fd, int tree_fd, int previous_fd, int depth);

static int take_subdir(struct copying *copying, int home_fd, int tree_fd, int previous_fd,
	const char *name, const struct stat *st, int depth)
{
	if (mkdirat(tree_fd, name, 0700) < 0)
		return -errno;
	auto_fd int from_fd = open_dir(home_fd, name, st);
	auto_fd int to_fd = beneath_open(tree_fd, name, O_RDONLY | O_DIRECTORY, 0);
	auto_fd int before_fd = -1;
	struct stat before;
	if (previous_fd >= 0 && fstatat(previous_fd, name, &before, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISDIR(before.st_mode))
		before_fd = open_dir(previous_fd, name, &before);
	if (from_fd < 0 || to_fd < 0)
		return from_fd < 0 ? from_fd : to_fd;
	int r = take_dir(copying, from_fd, to_fd, before_fd, depth);
	put_mode_back(from_fd, st);
	if (before_fd >= 0)
		put_mode_back(before_fd, &before);
	return r < 0 ? r : dress(to_fd, st);
}

static int take_entry(struct copying *copying, int home_fd, int tree_fd, int previous_fd,
	const char *name, int depth)
{
	struct stat st;
	int r = count_entry(copying, depth);
	if (r < 0)
		return r;
	if (fstatat(home_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISREG(st.st_mode))
		return take_file(copying, home_fd, tree_fd, previous_fd, name, &st);
	if (S_ISDIR(st.st_mode))
		return take_subdir(copying, home_fd, tree_fd, previous_fd, name, &st, depth);
	r = copy_small(home_fd, tree_fd, name, &st);
	if (r != 1)
		return r;
	if (copying->report->skipped++ == 0)
		(void)snprintf(copying->report->first_skipped,
			sizeof(copying->report->first_skipped), "%s", name);
	return 0;
}

static int take_dir(struct copying *copying, int home_fd, int tree_fd, int previous_fd, int depth)
{
	int r = 0;
	auto_dir DIR *dir = list_dir(home_fd);
	if (!dir)
		return -errno;
	for (struct dirent *entry = readdir(dir); entry && r == 0; entry = readdir(dir))
		if (!is_dot(entry->d_name))
			r = take_entry(
				copying, home_fd, tree_fd, previous_fd, entry->d_name, depth + 1);
	return r;
}

/* ---- restoring ---------------------------------------------------------------------------------
 */

static int hand_over(const struct copying *copying, int fd, const struct stat *copy)
{
	const struct workspace *workspace = copying->workspace;
	if (fchown(fd, workspace->uid, workspace->gid) < 0 || fchmod(fd, copy->st_mode & 07777) < 0)
		return -errno;
	return give_times(fd, (struct timespec){ .tv_nsec = UTIME_OMIT }, copy->st_mtim);
}

/* The file itself, unless it has other names or is being executed: those go on without us. */
static int open_target(int home_fd, const char *name)
{
	struct stat st;
	bool is_there = fstatat(home_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (is_there && st.st_nlink == 1) {
		int fd = open_anyway(home_fd, name, &st, O_WRONLY | O_TRUNC);
		if (fd != -ETXTBSY)
			return fd;
	}
	if (is_there && unlinkat(home_fd, name, 0) < 0)
		return -errno;
	return beneath_open(home_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
}

static int restore_file(struct copying *copying, int tree_fd, int home_fd, const char *name,
	const struct stat *copy)
{
	struct stat st;
	int64_t budget = INT64_MAX;
	copying->report->files++;
	if (fstatat(home_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && is_unchanged(&st, copy))
		return 0;
	auto_fd int from_fd = open_anyway(tree_fd, name, copy, O_RDONLY);
	auto_fd int to_fd = from_fd < 0 ? -1 : open_target(home_fd, name);
	if (from_fd < 0 || to_fd < 0)
		return from_fd < 0 ? from_fd : to_fd;
	int r = copy_bytes(from_fd, to_fd, copy->st_size, &budget);
	if (r == 0)
		r = hand_over(copying, to_fd, copy);
	if (r == 0 && fstat(to_fd, &st) < 0)
		r = -errno;
	copying->report->copied++;
	copying->report->bytes += copy->st_size;
	return r < 0 ? r : give_times(from_fd, stamp(copying, &st), copy->st_mtim);
}

static int restore_dir(struct copying *copying, int tree_fd, int home_fd, int depth);

static int restore_subdir(struct copying *copying, int tree_fd, int home_fd, const char *name,
	const struct stat *copy, int depth)
{
	struct stat st;
	if (mkdirat(home_fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (fstatat(home_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	auto_fd int from_fd = open_dir(tree_fd, name, copy);
	auto_fd int to_fd = open_dir(home_fd, name, &st);
	if (from_fd < 0 || to_fd < 0)
		return from_fd < 0 ? from_fd : to_fd;
	/* its owner may have taken himself the right to write */
	if (fchmod(to_fd, 0700) < 0)
		return -errno;
	int r = restore_dir(copying, from_fd, to_fd, depth);
	put_mode_back(from_fd, copy);
	return r < 0 ? r : hand_over(copying, to_fd, copy);
}

static int restore_small(const struct copying *copying, int tree_fd, int home_fd, const char *name,
	const struct stat *copy)
{
	const struct workspace *workspace = copying->workspace;
	if (S_ISLNK(copy->st_mode) ? is_same_link(tree_fd, home_fd, name)
				   : faccessat(home_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (unlinkat(home_fd, name, 0) < 0 && errno != ENOENT)
		return -errno;
	int r = copy_small(tree_fd, home_fd, name, copy);
	if (r == 0 &&
		fchownat(home_fd, name, workspace->uid, workspace->gid, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	return r;
}

static int restore_entry(
	struct copying *copying, int tree_fd, int home_fd, const char *name, int depth)
{
	struct stat copy;
	int r = count_entry(copying, depth);
	if (r < 0)
		return r;
	if (fstatat(tree_fd, name, &copy, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISREG(copy.st_mode))
		return restore_file(copying, tree_fd, home_fd, name, &copy);
	if (S_ISDIR(copy.st_mode))
		return restore_subdir(copying, tree_fd, home_fd, name, &copy, depth);
	return restore_small(copying, tree_fd, home_fd, name, &copy);
}

/* What was not there, or was something else, goes first: that makes room. */
static int clear_dir(int tree_fd, int home_fd, int depth)
{
	int r = 0;
	auto_dir DIR *dir = list_dir(home_fd);
	if (!dir)
		return -errno;
	for (struct dirent *entry = readdir(dir); entry && r == 0; entry = readdir(dir)) {
		struct stat st;
		struct stat copy;
		const char *name = entry->d_name;
		if (is_dot(name) || fstatat(home_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (fstatat(tree_fd, name, &copy, AT_SYMLINK_NOFOLLOW) < 0 ||
			(copy.st_mode & S_IFMT) != (st.st_mode & S_IFMT))
			r = remove_tree(home_fd, name, depth + 1);
	}
	return r;
}

static int restore_dir(struct copying *copying, int tree_fd, int home_fd, int depth)
{
	int r = clear_dir(tree_fd, home_fd, depth);
	if (r < 0)
		return r;
	auto_dir DIR *dir = list_dir(tree_fd);
	if (!dir)
		return -errno;
	for (struct dirent *entry = readdir(dir); entry && r == 0; entry = readdir(dir))
		if (!is_dot(entry->d_name))
			r = restore_entry(copying, tree_fd, home_fd, entry->d_name, depth + 1);
	return r;
}

/* ---- the door ----------------------------------------------------------------------------------
 */

static int explain(int r, const char *what, struct err *err)
{
	if (r == -ENOSPC)
		return err_set(err, ERR_LIMIT,
			"%s: the session's disk is full; remove files or points, or give it more "
			"room with --disk",
			what);
	if (r == -EMFILE)
		return err_set(err, ERR_LIMIT,
			"%s: /home/user has over %d entries, or is over %d directories deep", what,
			LIMIT_SNAPSHOT_ENTRIES, LIMIT_TREE_DEPTH);
	return err_sys(err, -r, "%s", what);
}

static int open_points(const struct workspace *workspace, struct err *err)
{
	int fd = beneath_open(workspace->fd, POINTS, O_RDONLY | O_DIRECTORY, 0);
	if (fd >= 0)
		return fd;
	if (mkdirat(workspace->fd, POINTS, 0700) < 0 && errno != EEXIST)
		return explain(-errno, "make room for points", err);
	fd = beneath_open(workspace->fd, POINTS, O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? explain(fd, "open the points", err) : fd;
}

static void name_point(uint32_t id, char *name, size_t size)
{
	(void)snprintf(name, size, "%u", id);
}

static int open_point(int points_fd, uint32_t id)
{
	char name[16];
	struct stat st;
	name_point(id, name, sizeof(name));
	if (fstatat(points_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return open_dir(points_fd, name, &st);
}

static struct copying begin(
	const struct workspace *workspace, int points_fd, struct snapshot_report *report)
{
	*report = (struct snapshot_report){ 0 };
	return (struct copying){ .workspace = workspace,
		.report = report,
		.entries_left = LIMIT_SNAPSHOT_ENTRIES,
		.points_fd = points_fd };
}

int snapshot_take(const struct workspace *workspace, uint32_t id, uint32_t previous,
	struct snapshot_report *ret_report, struct err *err)
{
	char name[16];
	struct stat st;
	auto_fd int points_fd = open_points(workspace, err);
	if (points_fd < 0)
		return -1;
	auto_fd int home_fd = beneath_open(workspace->fd, "home", O_RDONLY | O_DIRECTORY, 0);
	if (home_fd < 0)
		return explain(home_fd, "open /home/user", err);
	struct copying copying = begin(workspace, points_fd, ret_report);
	name_point(id, name, sizeof(name));
	if (mkdirat(points_fd, name, 0700) < 0)
		return explain(-errno, "make a point", err);
	auto_fd int tree_fd = open_point(points_fd, id);
	auto_fd int previous_fd = previous > 0 ? open_point(points_fd, previous) : -1;
	int r = tree_fd < 0 ? tree_fd : take_dir(&copying, home_fd, tree_fd, previous_fd, 0);
	if (r == 0)
		r = fstat(home_fd, &st) < 0 ? -errno : dress(tree_fd, &st);
	if (r == 0)
		return 0;
	(void)remove_tree(points_fd, name, 0);
	return explain(r, "copy /home/user", err);
}

int snapshot_restore(const struct workspace *workspace, uint32_t id,
	struct snapshot_report *ret_report, struct err *err)
{
	struct stat copy;
	auto_fd int points_fd = open_points(workspace, err);
	if (points_fd < 0)
		return -1;
	struct copying copying = begin(workspace, points_fd, ret_report);
	auto_fd int tree_fd = open_point(points_fd, id);
	auto_fd int home_fd = beneath_open(workspace->fd, "home", O_RDONLY | O_DIRECTORY, 0);
	if (tree_fd < 0 || home_fd < 0)
		return explain(tree_fd < 0 ? tree_fd : home_fd, "open a point", err);
	int r = fstat(tree_fd, &copy) < 0 || fchmod(home_fd, 0700) < 0 ? -errno : 0;
	if (r == 0)
		r = restore_dir(&copying, tree_fd, home_fd, 0);
	int given = hand_over(&copying, home_fd, &copy);
	r = r < 0 ? r : given;
	return r < 0 ? explain(r, "bring /home/user back", err) : 0;
}

int snapshot_drop(const struct workspace *workspace, uint32_t id, struct err *err)
{
	char name[16];
	auto_fd int points_fd = open_points(workspace, err);
	if (points_fd < 0)
		return -1;
	name_point(id, name, sizeof(name));
	int r = remove_tree(points_fd, name, 0);
	return r < 0 ? explain(r, "drop a point", err) : 0;
}
