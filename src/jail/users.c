/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two files that name a cell's user, in a directory of their own: it is one mount where they
 * would be two. As root each cell has a user of its own, and a zygote has many cells: theirs are
 * kept where every cell's home covers them, and a cell gets those of its user, made by the init of
 * the first one that had it: before it enters the cell's cgroup, for they stay. Nobody but the
 * zygote and its inits gets there, and what a cell sees is read-only.
 */
#include "jail/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"

enum { TEXT_MAX = 256 };

#define USERS_DIR "etc/user"

/* clang-format off */
static const struct {
	const char *name, *path, *link;
} files[] = {
	{ "passwd", "etc/passwd", "user/passwd" },
	{ "group",  "etc/group",  "user/group" },
};
/* clang-format on */

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

static int make_dir(const char *dir, const struct plan *plan)
{
	if (mkdir(dir, 0755) < 0)
		return -errno;
	int r = 0;
	for (size_t i = 0; i < COUNT_OF(files) && r == 0; i++) {
		char path[64];
		char text[TEXT_MAX];
		(void)snprintf(path, sizeof(path), "%s/%s", dir, files[i].name);
		write_text(i, plan, text, sizeof(text));
		r = make_text_file(path, text);
	}
	return r;
}

int users_make(const struct plan *plan, struct err *err)
{
	int r = make_dir(USERS_DIR, plan);
	for (size_t i = 0; i < COUNT_OF(files) && r == 0; i++)
		r = symlink(files[i].link, files[i].path) < 0 ? -errno : 0;
	return r < 0 ? err_sys(err, -r, "create '/etc/passwd' and '/etc/group'") : 0;
}

int users_make_place(struct err *err)
{
	const char *options = "size=48m,nr_inodes=12300,mode=700"; /* for every slot there is */
	if (mount("tmpfs", HOME_DIR, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
		return err_sys(err, errno, "make the place for files of users");
	return 0;
}

static void remove_dir(const char *dir)
{
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		char path[64];
		(void)snprintf(path, sizeof(path), "%s/%s", dir, files[i].name);
		(void)unlink(path);
	}
	(void)rmdir(dir);
}

/* An init that is killed leaves no half of them under their name. */
static int make_for_all(const char *dir, const struct plan *plan)
{
	char draft[48];
	(void)snprintf(draft, sizeof(draft), "%.40s-", dir);
	remove_dir(draft);
	int r = make_dir(draft, plan);
	return r == 0 && rename(draft, dir) < 0 ? -errno : r;
}

static int take_dir(const struct plan *plan)
{
	char dir[40];
	(void)snprintf(dir, sizeof(dir), HOME_DIR "/%u", plan->uid);
	int fd = open_tree(AT_FDCWD, dir, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (fd >= 0 || errno != ENOENT)
		return fd < 0 ? -errno : fd;
	int r = make_for_all(dir, plan);
	if (r < 0)
		return r;
	fd = open_tree(AT_FDCWD, dir, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
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
	raising->users_fd = take_dir(&raising->page->plan);
	raising->has_users = raising->users_fd >= 0;
	if (raising->has_users)
		return 0;
	(void)err_sys(err, -raising->users_fd,
		"take the '/etc/passwd' and '/etc/group' of the cell's user");
	return step_fail(raising, STEP_WORKSPACE, err);
}

int users_place(const struct raising *raising, struct err *err)
{
	if (!raising->has_users)
		return 0;
	return place_tree(raising->users_fd, "/" USERS_DIR, MOUNT_ATTR_RDONLY, err);
}
