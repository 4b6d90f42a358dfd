/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of the state directory is the user's own word and may lead through links. It itself and
 * everything below is opened one name at a time, without following links, and must belong to us and
 * be nobody else's to write: then nobody else can have put a link there, nor swap what we opened.
 */
#include "base/state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/place.h"

enum { LOCK_PATIENCE_US = 5000000, LOCK_PAUSE_NS = 20000, LOCK_PAUSE_MAX_NS = 2000000 };

/* Makes the directories on the way to `path`, as XDG wants them; itself it is not made here. */
static int make_parents(const char *path, struct err *err)
{
	auto_free char *parent = xstrdup(path);
	for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(parent, 0700) < 0 && errno != EEXIST && errno != EROFS &&
			errno != EACCES && errno != EPERM)
			return err_sys(err, errno, "create '%s'", parent);
		*slash = '/';
	}
	return 0;
}

static int open_one(int dir_fd, const char *name)
{
	return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int refuse_open(int sys, const char *name, struct err *err)
{
	if (sys == ELOOP || sys == ENOTDIR)
		return err_set(err, ERR_INVALID,
			"'%s' is a link or a file where a directory of hotcell's state belongs; "
			"remove it, or set HOTCELL_STATE_DIR",
			name);
	return err_sys(err, sys, "open the state directory '%s'", name);
}

static int check_owner(int fd, const char *name, struct err *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return err_sys(err, errno, "look at '%s'", name);
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return err_set(err, ERR_INVALID,
			"the state directory '%s' belongs to someone else or is open to others; "
			"make "
			"it yours alone or set HOTCELL_STATE_DIR",
			name);
	return 0;
}

/* Opens or makes one directory; *ret_fd is -1 when it is missing and not to be made. */
static int enter(int dir_fd, const char *name, bool is_made, int *ret_fd, struct err *err)
{
	auto_fd int fd = open_one(dir_fd, name);
	if (fd < 0 && errno == ENOENT && !is_made) {
		*ret_fd = -1;
		return 0;
	}
	if (fd < 0 && errno == ENOENT) {
		if (dir_fd == AT_FDCWD)
			TRY(make_parents(name, err));
		if (mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST)
			return err_sys(err, errno, "create the state directory '%s'", name);
		fd = open_one(dir_fd, name);
	}
	if (fd < 0)
		return refuse_open(errno, name, err);
	TRY(check_owner(fd, name, err));
	*ret_fd = take_fd(&fd);
	return 0;
}

/* A path that ends in a slash would be followed where it is a link. */
static void trim(char *path)
{
	size_t len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
}

int state_open(const char *const *names, bool is_made, int *ret_fd, struct err *err)
{
	auto_free char *path = NULL;
	int next_fd = -1;
	TRY(place_state_dir(&path, err));
	trim(path);
	auto_fd int fd = -1;
	TRY(enter(AT_FDCWD, path, is_made, &fd, err));
	for (; *names && fd >= 0; names++) {
		TRY(enter(fd, *names, is_made, &next_fd, err));
		own_close(&fd);
		fd = next_fd;
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

int state_open_file(int dir_fd, const char *name, int flags, int *ret_fd, struct stat *ret_st)
{
	struct stat st;
	auto_fd int fd =
		openat(dir_fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink > 1)
		return -EPERM;
	*ret_fd = take_fd(&fd);
	*ret_st = st;
	return 0;
}

/* A lock has no event to wait for with a deadline. Who holds it needs microseconds, so that a
 * little patience, growing, is as quick; and one that was stopped while holding it cannot stop us
 * too. */
int state_lock(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
	int64_t deadline_us = 0;
	while (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return -errno;
		if (deadline_us == 0)
			deadline_us = clock_us() + LOCK_PATIENCE_US;
		if (clock_us() > deadline_us)
			return -ETIMEDOUT;
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		if (pause.tv_nsec < LOCK_PAUSE_MAX_NS)
			pause.tv_nsec *= 2;
	}
	return 0;
}

int state_unlock(int fd)
{
	const struct flock lock = { .l_type = F_UNLCK, .l_whence = SEEK_SET };
	return fcntl(fd, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}
