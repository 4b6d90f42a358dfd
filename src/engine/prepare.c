/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some languages need work that is the same for every code: Go its standard library compiled. It
 * is done once, by the language's `prepare`, in a cell that no code enters, and kept in the cache
 * of whoever asked, under a name made from the program's file and the definition's. Cells see it
 * read-only.
 *
 * An entry is filled under another name and renamed when it is whole, so that it is there or not;
 * whoever fills it holds a lock, and finds what a killed one left and removes it. Every directory
 * on the way must belong to us or to root and be nobody else's to write.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "engine/compile.h"

enum { LOCK_LOOK_MS = 50, LOCK_WAIT_MS = 900 * 1000, REMOVE_DEPTH = 64, KEY_DIGITS = 16 };

/* Ours, or root's; and no third party's to change. A sticky directory lets nobody rename what is
 * another's. */
static bool is_safe(int fd, bool is_parent)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || (st.st_uid != geteuid() && !(is_parent && st.st_uid == 0)))
		return false;
	return !(st.st_mode & 022) || (is_parent && (st.st_mode & S_ISVTX));
}

static int open_safe(const char *path, bool is_parent, struct err *err)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
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
	auto_fd int cache_fd = open_safe(cache, true, err);
	if (cache_fd < 0)
		return -1;
	auto_free char *path = xasprintf("%s/hotcell", cache);
	int fd = open_safe(path, false, err);
	if (fd >= 0)
		*ret_path = take_ptr(&path);
	return fd;
}

/* rm -r below a directory that is ours alone. */
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

/* One at a time: the others wait and then find it done. */
static int take_lock(int dir_fd, const char *name, int interrupt_fd, int *ret_fd, struct err *err)
{
	int64_t deadline_us = clock_us() + (int64_t)LOCK_WAIT_MS * 1000;
	auto_fd int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, errno, "open the lock '%s'", name);
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		struct pollfd interrupt = { .fd = interrupt_fd, .events = POLLIN };
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_sys(err, errno, "lock '%s'", name);
		if (poll(&interrupt, 1, LOCK_LOOK_MS) > 0)
			return err_set(err, ERR_BROKEN, "interrupted");
		if (clock_us() > deadline_us)
			return err_set(err, ERR_BROKEN, "somebody holds the lock '%s'", name);
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

/* The end of what the tool said is where it says why. */
static int refuse_failure(const struct result *result, struct err *err)
{
	const char *text = result->err.text ? result->err.text : "";
	size_t len = result->err.len;
	while (len > 0 && text[len - 1] == '\n')
		len--;
	size_t from = len > 300 ? len - 300 : 0;
	return err_set(err, ERR_BROKEN, "it ended as %s: %.*s", run_status_names[result->status],
		(int)(len - from), text + from);
}

static int build(const struct language *language, const struct spec *asked, int interrupt_fd,
	int *ret_fd, struct err *err)
{
	struct strings argv = { 0 };
	struct result result;
	struct spec spec;
	const struct places places = {
		.runtime = RUNTIME_DIR, .prepared = RUNTIME_DIR, .binary = BUILD_PATH
	};
	const struct task task = { .spec = &spec,
		.argv = &argv,
		.needs_full_proc = language->needs_full_proc,
		.interrupt_fd = interrupt_fd,
		.outlet = { .fds = { -1, -1 } },
		.is_build = true };
	language_fill(&language->prepare, &places, &argv);
	spec_init(&spec);
	result_init(&result);
	free(spec.rootfs);
	spec.rootfs = xstrdup(asked->rootfs);
	spec.cold = true; /* once in a long time */
	int r = set_defaults(&spec, language, &language->prepare_defaults, err);
	if (r == 0)
		r = build_run(&task, language->dir, &result, NULL, ret_fd, err);
	if (r == 0 && result.status != STATUS_OK)
		r = refuse_failure(&result, err);
	result_done(&result);
	spec_done(&spec);
	strings_done(&argv);
	return r;
}

/* What somebody who held the lock and was killed could not finish. */
static void sweep(int dir_fd, const char *language)
{
	static const char digits[] = "0123456789abcdef";
	auto_free char *prefix = xasprintf(".%s-", language);
	size_t len = strlen(prefix);
	int list_fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir DIR *dir = list_fd < 0 ? NULL : fdopendir(list_fd);
	for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
		const char *name = entry->d_name;
		if (strncmp(name, prefix, len) == 0 && strlen(name + len) == KEY_DIGITS &&
			strspn(name + len, digits) == KEY_DIGITS)
			remove_tree(dir_fd, name, 0);
	}
}

/* Fills the entry aside, has it reach the disk, and gives it its name. */
static int publish(int dir_fd, const char *name, int build_fd, struct err *err)
{
	auto_free char *aside = xasprintf(".%s", name);
	int r = build_save(build_fd, dir_fd, aside, err);
	if (r == 0 && (syncfs(dir_fd) < 0 || renameat(dir_fd, aside, dir_fd, name) < 0))
		r = err_sys(err, errno, "keep '%s'", name);
	if (r < 0)
		remove_tree(dir_fd, aside, 0);
	return r;
}

static bool is_there(int dir_fd, const char *name)
{
	auto_fd int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && is_safe(fd, false);
}

static int make_entry(const struct language *language, const struct spec *spec, int interrupt_fd,
	int dir_fd, const char *name, struct err *err)
{
	auto_fd int lock_fd = -1;
	auto_fd int build_fd = -1;
	auto_free char *lock = xasprintf("%s.lock", language->name);
	TRY(take_lock(dir_fd, lock, interrupt_fd, &lock_fd, err));
	if (is_there(dir_fd, name))
		return 0;
	sweep(dir_fd, language->name);
	TRY(build(language, spec, interrupt_fd, &build_fd, err));
	return publish(dir_fd, name, build_fd, err);
}

int prepare(const struct language *language, const struct spec *spec, int interrupt_fd,
	char **ret_dir, struct err *err)
{
	auto_free char *path = NULL;
	auto_free char *name =
		xasprintf("%s-%016" PRIx64, language->name, language_key(language, spec));
	auto_fd int dir_fd = cache_open(&path, err);
	if (dir_fd < 0 || (!is_there(dir_fd, name) &&
				  make_entry(language, spec, interrupt_fd, dir_fd, name, err) < 0))
		return err_wrap(err, "prepare %s", language->name);
	*ret_dir = xasprintf("%s/%s", path, name);
	return 0;
}
