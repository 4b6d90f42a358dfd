/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two files that name a cell's user. As root each cell has a user of its own, and a zygote has
 * many cells: theirs are kept where every cell's home covers them, and a cell gets those of its
 * user, made by the init of the first one that had it: before it enters the cell's cgroup, for they
 * stay. Nobody but the zygote and its inits gets there, and what a cell sees is read-only.
 */
#include "jail/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/own.h"

enum { TEXT_MAX = 256 };

static const char *const names[USERS_FILES] = { "etc/passwd", "etc/group" };

static void write_text(size_t file, const struct plan *plan, char *text, size_t size)
{
	if (file == 0)
		(void)snprintf(text, size,
			"root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
			"user:x:%u:%u:user:/home/user:/bin/sh\n"
			"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
			plan->uid, plan->gid);
	else
		(void)snprintf(text, size, "root:x:0:\nuser:x:%u:\nnogroup:x:65534:\n", plan->gid);
}

int users_make(const struct plan *plan, struct err *err)
{
	for (size_t i = 0; i < USERS_FILES; i++) {
		char text[TEXT_MAX];
		write_text(i, plan, text, sizeof(text));
		int r = make_text_file(names[i], text);
		if (r < 0)
			return err_sys(err, -r, "create '/%s'", names[i]);
	}
	return 0;
}

int users_make_place(struct err *err)
{
	const char *options = "size=32m,nr_inodes=8200,mode=700"; /* for every slot there is */
	if (mount("tmpfs", HOME_DIR, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
		return err_sys(err, errno, "make the place for files of users");
	return 0;
}

/* An init that is killed leaves no half of a file under its name. */
static int make_for_all(const char *path, size_t file, const struct plan *plan)
{
	char draft[64];
	char text[TEXT_MAX];
	(void)snprintf(draft, sizeof(draft), "%s-", path);
	(void)unlink(draft);
	write_text(file, plan, text, sizeof(text));
	int r = make_text_file(draft, text);
	return r == 0 && rename(draft, path) < 0 ? -errno : r;
}

static int take_file(size_t file, const struct plan *plan)
{
	char path[48];
	(void)snprintf(path, sizeof(path), HOME_DIR "/%u.%zu", plan->uid, file);
	int fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (fd >= 0 || errno != ENOENT)
		return fd < 0 ? -errno : fd;
	int r = make_for_all(path, file, plan);
	if (r < 0)
		return r;
	fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The template's files name its own user. */
static bool has_own(const struct raising *raising)
{
	const struct plan *plan = &raising->page->plan;
	const struct plan *template = &raising->template->base.plan;
	return plan->uid != template->uid || plan->gid != template->gid;
}

int jail_take_users(struct raising *raising, struct err *err)
{
	if (!has_own(raising))
		return 0;
	for (size_t i = 0; i < USERS_FILES; i++) {
		raising->user_fds[i] = take_file(i, &raising->page->plan);
		if (raising->user_fds[i] >= 0)
			continue;
		(void)err_sys(
			err, -raising->user_fds[i], "take the '/%s' of the cell's user", names[i]);
		return step_fail(raising, STEP_WORKSPACE, err);
	}
	raising->has_users = true;
	return 0;
}

int users_place(const struct raising *raising, struct err *err)
{
	for (size_t i = 0; i < USERS_FILES && raising->has_users; i++) {
		char path[16];
		(void)snprintf(path, sizeof(path), "/%s", names[i]);
		TRY(place_tree(raising->user_fds[i], path, MOUNT_ATTR_RDONLY, err));
	}
	return 0;
}
