/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies in place of mounts. Every mount of a template is copied with each cell and let go of again
 * with it, so a zygote that stays copies what is small into its skeleton, once. A copy is as its
 * original was at that moment, until the zygote is renewed. What not everybody may read stays where
 * it is, and so does what is too large: it is mounted.
 */
#include "jail/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"

enum { DEPTH_MAX = 8, PAGE_BYTES = 4096 };

static bool is_for_all(const struct stat *st)
{
	mode_t needed = S_ISDIR(st->st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
	return (st->st_mode & needed) == needed;
}

static bool take(struct copy_allowance *left, const struct stat *st)
{
	int64_t bytes = S_ISREG(st->st_mode) ? (int64_t)st->st_size + PAGE_BYTES : 0;
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode) && !S_ISLNK(st->st_mode))
		return false;
	if (!S_ISLNK(st->st_mode) && !is_for_all(st))
		return false;
	left->entries--;
	left->bytes -= bytes;
	return left->entries >= 0 && left->bytes >= 0;
}

static DIR *list(int dir_fd)
{
	auto_fd int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (dir)
		(void)take_fd(&fd);
	return dir;
}

/* The next entry; what went away since it was listed is passed over. NULL: there is none. */
static const char *next(DIR *dir, struct stat *st)
{
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		const char *name = entry->d_name;
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
			fstatat(dirfd(dir), name, st, AT_SYMLINK_NOFOLLOW) == 0)
			return name;
	}
	return NULL;
}

static int open_dir(int at_fd, const char *name)
{
	return openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool take_below(int dir_fd, int depth, struct copy_allowance *left)
{
	struct stat st;
	auto_dir DIR *dir = list(dir_fd);
	if (!dir || depth > DEPTH_MAX)
		return false;
	for (const char *name = next(dir, &st); name; name = next(dir, &st)) {
		if (!take(left, &st))
			return false;
		auto_fd int fd = S_ISDIR(st.st_mode) ? open_dir(dirfd(dir), name) : -1;
		if (fd >= 0 && !take_below(fd, depth + 1, left))
			return false;
	}
	return true;
}

bool copy_is_small(int fd, const struct stat *st, struct copy_allowance *allowance)
{
	struct copy_allowance left = *allowance;
	if (!take(&left, st) || (S_ISDIR(st->st_mode) && !take_below(fd, 1, &left)))
		return false;
	*allowance = left;
	return true;
}

/* Of both kinds; a directory's times are those of its last entry until it is full. */
static int finish(int fd, const struct stat *st)
{
	const struct timespec times[] = { st->st_atim, st->st_mtim };
	return fchmod(fd, st->st_mode & 0777) < 0 ? -1 : futimens(fd, times);
}

/* No more of it than there was when it was looked at. */
static int copy_bytes(int from_fd, int to_fd, const struct stat *st)
{
	ssize_t len = 1;
	for (off_t at = 0; at < st->st_size && len > 0;)
		len = sendfile(to_fd, from_fd, &at, (size_t)(st->st_size - at));
	return len < 0 ? -1 : finish(to_fd, st);
}

static int copy_file(int from_fd, int at_fd, const char *name, const struct stat *st)
{
	auto_fd int fd = openat(at_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	return fd < 0 ? -1 : copy_bytes(from_fd, fd, st);
}

static int copy_link(int from_fd, int at_fd, const char *name)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(from_fd, name, target, sizeof(target) - 1);
	if (len < 0)
		return errno == ENOENT ? 0 : -1;
	target[len] = '\0';
	return symlinkat(target, at_fd, name);
}

static int copy_below(int from_fd, int to_fd);

static int copy_dir(int from_fd, int at_fd, const char *name, const struct stat *st)
{
	if (mkdirat(at_fd, name, 0755) < 0)
		return -1;
	auto_fd int fd = open_dir(at_fd, name);
	return fd < 0 || copy_below(from_fd, fd) < 0 ? -1 : finish(fd, st);
}

static int copy_opened(int from_fd, int at_fd, const char *name, const struct stat *st)
{
	return S_ISDIR(st->st_mode) ? copy_dir(from_fd, at_fd, name, st)
				    : copy_file(from_fd, at_fd, name, st);
}

/* Another may have its name by now: it is looked at again, and a pipe is not waited for. */
static int copy_entry(int from_fd, int at_fd, const char *name)
{
	struct stat st;
	auto_fd int fd = openat(from_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (fstat(fd, &st) < 0)
		return -1;
	bool is_known = S_ISDIR(st.st_mode) || S_ISREG(st.st_mode);
	return is_known && is_for_all(&st) ? copy_opened(fd, at_fd, name, &st) : 0;
}

static int copy_below(int from_fd, int to_fd)
{
	struct stat st;
	auto_dir DIR *dir = list(from_fd);
	if (!dir)
		return -1;
	for (const char *name = next(dir, &st); name; name = next(dir, &st)) {
		int r = S_ISLNK(st.st_mode) ? copy_link(from_fd, to_fd, name)
					    : copy_entry(from_fd, to_fd, name);
		if (r < 0)
			return -1;
	}
	return 0;
}

int copy_to(int fd, const char *path, const struct stat *st, struct err *err)
{
	if (copy_opened(fd, AT_FDCWD, path, st) < 0)
		return err_sys(err, errno, "copy '/%s'", path);
	return 0;
}
