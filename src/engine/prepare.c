/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some languages need work that is the same for every code: Go its standard library compiled. It
 * is done once, by the language's `prepare`, in a cell that no code enters, and kept in the cache
 * of whoever asked, under a name made from the program's file and the definition's. Cells see it
 * read-only.
 *
 * An entry is filled under another name and renamed when it is whole, so that it is there or not;
 * whoever fills it holds a lock, and finds what a killed one left and removes it. One that nobody
 * used for a month is removed.
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
#include "engine/cache.h"
#include "engine/compile.h"

enum { LOCK_LOOK_MS = 50, LOCK_WAIT_MS = 900 * 1000, KEY_DIGITS = 16 };

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
			cache_remove(dir_fd, name);
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
		cache_remove(dir_fd, aside);
	return r;
}

static bool is_there(int dir_fd, const char *name)
{
	auto_fd int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !cache_is_safe(fd))
		return false;
	cache_touch(fd);
	return true;
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
	bool is_new = dir_fd >= 0 && !is_there(dir_fd, name);
	if (dir_fd < 0 ||
		(is_new && make_entry(language, spec, interrupt_fd, dir_fd, name, err) < 0))
		return err_wrap(err, "prepare %s", language->name);
	if (is_new)
		cache_sweep(dir_fd);
	*ret_dir = xasprintf("%s/%s", path, name);
	return 0;
}
