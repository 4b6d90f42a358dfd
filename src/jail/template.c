/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template: a mount namespace that holds nothing but what a cell may see. The zygote enters it
 * once; each cell then copies a handful of mounts instead of the host's.
 *
 * Order matters. Every host path is opened first, most as detached trees, while the host is still
 * there; then the skeleton covers /tmp, the trees are attached to it, it becomes the root and the
 * host's tree is let go. Nothing is resolved as a string after that.
 */
#include "jail/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"

/* What a cell sees of its root file system, these and those below. Links are copied as links, the
 * rest is bound read-only; what is not there is passed over. Nothing secret may ever be listed. */
static const char *const shown_paths[] = {
	"usr",
	"bin",
	"sbin",
	"lib",
	"lib32",
	"lib64",
	"libx32",
};

/* The same, and what is small of it may be copied. */
const char *const jail_copied_paths[] = {
	"etc/alternatives",
	"etc/fonts",
	"etc/java-17-openjdk",
	"etc/java-21-openjdk",
	"etc/ld.so.cache",
	"etc/localtime",
	"etc/matplotlibrc",
	"etc/mime.types",
	"etc/perl",
	"etc/php/8.2/cli/conf.d", /* which extensions there are; php.ini may hold passwords */
	"etc/php/8.2/mods-available",
	"etc/php/8.4/cli/conf.d",
	"etc/php/8.4/mods-available",
	"etc/protocols",
	"etc/python3",
	"etc/python3.11",
	"etc/python3.12",
	"etc/python3.13",
	"etc/R",
	"etc/services",
	"etc/ssl/certs",
	"etc/ssl/openssl.cnf",
	"etc/timezone",
	NULL,
};

static const char *const skeleton_dirs[] = {
	"usr",
	"etc",
	"etc/ssl",
	"dev",
	"dev/shm",
	"proc",
	"tmp",
	"home",
	"home/user",
	"mnt",
	"run",
};

static const struct skeleton_file {
	const char *path;
	const char *text;
} skeleton_files[] = {
	{ "etc/hosts", "127.0.0.1 localhost cell\n::1 localhost cell\n" },
	{ "etc/hostname", "cell\n" },
	{ "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n" },
	{ "etc/os-release", "ID=hotcell\nPRETTY_NAME=\"hotcell\"\n" },
	{ "etc/shells", "/bin/sh\n/bin/bash\n" },
};

static const struct skeleton_device {
	const char *name;
	unsigned int minor;
} skeleton_devices[] = {
	{ "null", 3 },
	{ "zero", 5 },
	{ "full", 7 },
	{ "random", 8 },
	{ "urandom", 9 },
};

static const struct skeleton_link {
	const char *path;
	const char *target;
} skeleton_links[] = {
	{ "dev/fd", "/proc/self/fd" },
	{ "dev/stdin", "/proc/self/fd/0" },
	{ "dev/stdout", "/proc/self/fd/1" },
	{ "dev/stderr", "/proc/self/fd/2" },
};

/* A host path on its way into the skeleton. */
struct tree {
	char to[1024];  /* relative to the skeleton */
	char link[256]; /* not empty: a symbolic link, no mount */
	int fd;
	bool is_dir;
	bool is_copy;       /* what is behind `fd` is copied, no mount either */
	struct stat status; /* of a copy */
};

/* Well below what the skeleton holds. */
enum { COPY_BYTES_MAX = 4 << 20 };

enum {
	SHOWN_MAX = COUNT_OF(shown_paths) + COUNT_OF(jail_copied_paths),
	TREES_MAX = SHOWN_MAX + COUNT_OF(skeleton_devices) + LIMIT_MOUNTS + 2,
};

struct jail_trees {
	struct tree items[TREES_MAX];
	size_t count;
	struct copy_allowance copies; /* what is left of it */
};

int clone_tree(
	int fd, uint64_t attrs, int userns_fd, const char *what, int *ret_fd, struct err *err)
{
	auto_fd int tree_fd = open_tree(
		fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree_fd < 0)
		return err_sys(err, errno, "clone the mount tree of '%s'", what);
	struct mount_attr attr = { .attr_set = attrs };
	if (userns_fd >= 0) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (uint64_t)userns_fd;
	}
	if (mount_setattr(tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return err_sys(err, errno, "set the mount attributes of '%s'", what);
	*ret_fd = take_fd(&tree_fd);
	return 0;
}

static struct tree *add_tree(struct raising *raising, const char *to)
{
	struct tree *tree = &raising->trees->items[raising->trees->count++];
	*tree = (struct tree){ .fd = -1 };
	(void)snprintf(tree->to, sizeof(tree->to), "%s", to);
	return tree;
}

/* Returns whether it is to be copied. */
static bool collect_copy(struct raising *raising, struct tree *tree, int path_fd)
{
	char path[64];
	struct stat st;
	if (!raising->page->plan.may_copy)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	auto_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !copy_is_small(fd, &st, &raising->trees->copies))
		return false;
	tree->is_copy = true;
	tree->status = st;
	tree->fd = take_fd(&fd);
	return true;
}

static int collect_shown(
	struct raising *raising, int root_fd, const char *path, bool can_copy, struct err *err)
{
	auto_fd int fd = io_open_in_root(root_fd, path, O_PATH | O_NOFOLLOW);
	struct stat st;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "open '/%s' of the root file system", path);
	struct tree *tree = add_tree(raising, path);
	tree->is_dir = S_ISDIR(st.st_mode);
	if (S_ISLNK(st.st_mode)) {
		if (readlinkat(fd, "", tree->link, sizeof(tree->link) - 1) < 0)
			return err_sys(err, errno, "read the link '/%s'", path);
		return 0;
	}
	if (!tree->is_dir && !S_ISREG(st.st_mode)) {
		raising->trees->count--;
		return 0;
	}
	if (can_copy && collect_copy(raising, tree, fd))
		return 0;
	uint64_t attrs = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	return clone_tree(fd, attrs, -1, path, &tree->fd, err);
}

/* The runner is the host's even when the root file system is not. */
static int collect_runtime(struct raising *raising, struct err *err)
{
	const char *path = raising->template->runtime;
	if (path[0] == '\0')
		return 0;
	auto_fd int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "open the runtime '%s'", path);
	struct tree *tree = add_tree(raising, &RUNTIME_DIR[1]);
	tree->is_dir = true;
	if (collect_copy(raising, tree, fd))
		return 0;
	uint64_t attrs = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	return clone_tree(fd, attrs, -1, path, &tree->fd, err);
}

int raise_user_namespace(struct raising *raising, struct err *err)
{
	char map[64];
	uint32_t uid = raising->page->plan.host_uid;
	uint32_t gid = raising->page->plan.host_gid;
	/* one that was born in a user namespace is unmapped in it, and its own cell's user */
	uint32_t inner = raising->is_born ? raising->page->plan.uid : 0;
	if (raising->has_user_namespace)
		return 0;
	if (!raising->is_born && unshare(CLONE_NEWUSER) < 0)
		return err_sys(err, errno, "unshare the user namespace");
	int r = io_write_at(AT_FDCWD, "/proc/self/setgroups", "deny");
	if (r < 0)
		return err_sys(err, -r, "write setgroups");
	(void)snprintf(map, sizeof(map), "%u %u 1", inner, uid);
	r = io_write_at(AT_FDCWD, "/proc/self/uid_map", map);
	if (r < 0)
		return err_sys(err, -r, "write uid_map");
	(void)snprintf(map, sizeof(map), "%u %u 1", inner, gid);
	r = io_write_at(AT_FDCWD, "/proc/self/gid_map", map);
	if (r < 0)
		return err_sys(err, -r, "write gid_map");
	/* it can be written once, by anyone in the namespace: let that be us */
	(void)io_write_at(AT_FDCWD, "/proc/self/projid_map", "0 0 1");
	step_note(raising, STEP_USER_NAMESPACE, (int)uid, "uid %u of the host is %u in it", uid,
		inner);
	return 0;
}

int raise_mount_namespace(struct raising *raising, struct err *err)
{
	if (!raising->is_born && unshare(CLONE_NEWNS) < 0)
		return err_sys(err, errno, "unshare the mount namespace");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(err, errno, "stop mount propagation");
	return 0;
}

static int make_skeleton(struct err *err)
{
	auto_fd int fs_fd = fsopen("tmpfs", FSOPEN_CLOEXEC);
	if (fs_fd < 0)
		return err_sys(err, errno, "open tmpfs");
	if (fsconfig(fs_fd, FSCONFIG_SET_STRING, "size", "6m", 0) < 0 ||
		fsconfig(fs_fd, FSCONFIG_SET_STRING, "nr_inodes", "4096", 0) < 0 ||
		fsconfig(fs_fd, FSCONFIG_SET_STRING, "mode", "755", 0) < 0 ||
		fsconfig(fs_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_sys(err, errno, "configure the skeleton's tmpfs");
	auto_fd int mount_fd = fsmount(fs_fd, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID);
	if (mount_fd < 0)
		return err_sys(err, errno, "mount the skeleton's tmpfs");
	if (move_mount(mount_fd, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, errno, "place the skeleton on /tmp");
	if (fchdir(mount_fd) < 0)
		return err_sys(err, errno, "enter the skeleton");
	return 0;
}

int make_text_file(const char *path, const char *text)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : io_write(fd, text, strlen(text));
}

static int add_file(const char *path, const char *text, struct err *err)
{
	int r = make_text_file(path, text);
	return r < 0 ? err_sys(err, -r, "create '/%s'", path) : 0;
}

static int fill_skeleton(struct err *err)
{
	for (size_t i = 0; i < COUNT_OF(skeleton_dirs); i++)
		if (mkdir(skeleton_dirs[i], 0755) < 0)
			return err_sys(err, errno, "create '/%s'", skeleton_dirs[i]);
	for (size_t i = 0; i < COUNT_OF(skeleton_files); i++)
		TRY(add_file(skeleton_files[i].path, skeleton_files[i].text, err));
	for (size_t i = 0; i < COUNT_OF(skeleton_links); i++)
		if (symlink(skeleton_links[i].target, skeleton_links[i].path) < 0)
			return err_sys(err, errno, "create '/%s'", skeleton_links[i].path);
	return 0;
}

/* mkdir -p for all but the last component. The skeleton is ours alone: no symbolic link in it
 * was put there by anyone else. */
static int make_parents(const char *path, struct err *err)
{
	char part[1024];
	(void)snprintf(part, sizeof(part), "%s", path);
	for (char *slash = strchr(part, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return err_sys(err, errno, "create '/%s'", part);
		*slash = '/';
	}
	return 0;
}

static int attach_tree(const struct tree *tree, struct err *err)
{
	TRY(make_parents(tree->to, err));
	if (tree->link[0] != '\0') {
		if (symlink(tree->link, tree->to) < 0)
			return err_sys(err, errno, "create the link '/%s'", tree->to);
		return 0;
	}
	if (tree->is_copy)
		return copy_to(tree->fd, tree->to, &tree->status, err);
	if (tree->is_dir) {
		if (mkdir(tree->to, 0755) < 0 && errno != EEXIST)
			return err_sys(err, errno, "create '/%s'", tree->to);
	} else {
		TRY(add_file(tree->to, "", err));
	}
	if (move_mount(tree->fd, "", AT_FDCWD, tree->to, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, errno, "attach '/%s'", tree->to);
	return 0;
}

/* A fresh /proc may only be mounted in a user namespace where a whole one is visible already, so
 * a rootless template keeps the host's under the one each cell mounts. */
static int collect_proc(struct raising *raising, struct err *err)
{
	if (raising->page->plan.mode != MODE_ROOTLESS)
		return 0;
	auto_fd int fd = open("/proc", O_PATH | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "open '/proc'");
	struct tree *tree = add_tree(raising, "proc");
	tree->is_dir = true;
	return clone_tree(fd, 0, -1, "proc", &tree->fd, err);
}

static int collect_devices(struct raising *raising, struct err *err)
{
	char path[64];
	if (raising->page->plan.mode != MODE_ROOTLESS)
		return 0;
	for (size_t i = 0; i < COUNT_OF(skeleton_devices); i++) {
		(void)snprintf(path, sizeof(path), "/dev/%s", skeleton_devices[i].name);
		auto_fd int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;
		if (fd < 0 || fstat(fd, &st) < 0)
			return err_sys(err, errno, "open '%s'", path);
		if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, skeleton_devices[i].minor))
			return err_set(
				err, ERR_MISSING, "'%s' is not the device it should be", path);
		struct tree *tree = add_tree(raising, path + 1);
		TRY(clone_tree(
			fd, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, -1, path, &tree->fd, err));
	}
	return 0;
}

/* Where a --ro or --rw directory waits in the template. One that goes into the cell's own
 * writable tree can only be placed there once that exists, so it waits under /run. */
static void staging_path(const struct template_page *template, uint32_t i, char *path, size_t size)
{
	const char *to = template->mounts[i].to;
	if (is_in_workspace(to))
		(void)snprintf(path, size, "run/%u", i);
	else
		(void)snprintf(path, size, "%s", to + 1);
}

/* As root the cell's uid owns nothing on the host: map the directory's owner to it, so that a
 * person's 0700 project can be read and what the cell writes belongs to that person. */
static int clone_mount(struct raising *raising, uint32_t i, int fd, const struct stat *st,
	int *ret_fd, struct err *err)
{
	const struct plan *plan = &raising->page->plan;
	const struct plan_mount *mount = &raising->template->mounts[i];
	uint64_t attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	if (!mount->is_writable)
		attrs |= MOUNT_ATTR_RDONLY;
	if (plan->is_restricted)
		attrs |= MOUNT_ATTR_NOEXEC;
	if (plan->mode == MODE_ROOT) {
		auto_fd int userns_fd = -1;
		TRY(idmap_open(st->st_uid, st->st_gid, plan->uid, plan->gid, &userns_fd, err));
		if (clone_tree(fd, attrs, userns_fd, mount->from, ret_fd, err) == 0)
			return 0;
		/* some file systems cannot map ids (before 5.12 none could) */
		raising->page->report.unmapped_mounts |= 1U << i;
	}
	return clone_tree(fd, attrs, -1, mount->from, ret_fd, err);
}

static int collect_mounts(struct raising *raising, struct err *err)
{
	const struct template_page *template = raising->template;
	for (uint32_t i = 0; i < template->mount_count; i++) {
		const struct plan_mount *mount = &template->mounts[i];
		char path[1024];
		auto_fd int fd = open(mount->from, O_PATH | O_CLOEXEC);
		struct stat st;
		if (fd < 0 || fstat(fd, &st) < 0)
			return err_sys(err, errno, "open '%s' to mount it", mount->from);
		if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
			return err_set(err, ERR_INVALID, "'%s' is neither a directory nor a file",
				mount->from);
		staging_path(template, i, path, sizeof(path));
		struct tree *tree = add_tree(raising, path);
		tree->is_dir = S_ISDIR(st.st_mode);
		TRY(clone_mount(raising, i, fd, &st, &tree->fd, err));
	}
	return 0;
}

/* Opens everything the skeleton will hold, makes the skeleton, hangs the root file system in. */
int raise_rootfs(struct raising *raising, struct err *err)
{
	const char *rootfs = raising->template->rootfs;
	/* not cleared: most of it is never touched, and every page would be copied with us */
	raising->trees = xrealloc(NULL, 1, sizeof(*raising->trees));
	raising->trees->count = 0;
	raising->trees->copies = (struct copy_allowance){ JAIL_COPIED_MAX, COPY_BYTES_MAX };
	auto_fd int root_fd = open(rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return err_sys(err, errno, "open the root file system '%s'", rootfs);
	for (size_t i = 0; i < COUNT_OF(shown_paths); i++)
		TRY(collect_shown(raising, root_fd, shown_paths[i], false, err));
	for (const char *const *path = jail_copied_paths; *path; path++)
		TRY(collect_shown(raising, root_fd, *path, true, err));
	TRY(collect_runtime(raising, err));
	size_t shown_count = raising->trees->count;
	TRY(collect_proc(raising, err));
	TRY(collect_devices(raising, err));
	TRY(collect_mounts(raising, err));
	TRY(collect_programs(raising, root_fd, err));
	TRY(make_skeleton(err));
	TRY(fill_skeleton(err));
	TRY(users_make(&raising->page->plan, err));
	for (size_t i = 0; i < shown_count; i++)
		TRY(attach_tree(&raising->trees->items[i], err));
	bool is_host = strcmp(rootfs, "/") == 0;
	step_note(raising, STEP_ROOTFS, is_host, "%.40s, %zu paths shown, read-only",
		is_host ? "host" : rootfs, shown_count);
	return 0;
}

static bool is_device(const struct tree *tree)
{
	return strncmp(tree->to, "dev/", 4) == 0;
}

int raise_devices(struct raising *raising, struct err *err)
{
	const struct jail_trees *trees = raising->trees;
	for (size_t i = 0; i < trees->count; i++)
		if (is_device(&trees->items[i]))
			TRY(attach_tree(&trees->items[i], err));
	if (raising->page->plan.mode == MODE_ROOTLESS)
		return 0;
	for (size_t i = 0; i < COUNT_OF(skeleton_devices); i++) {
		char path[64];
		(void)snprintf(path, sizeof(path), "dev/%s", skeleton_devices[i].name);
		if (mknod(path, S_IFCHR | 0666, makedev(1, skeleton_devices[i].minor)) < 0 ||
			chmod(path, 0666) < 0)
			return err_sys(err, errno, "create '/%s'", path);
	}
	return 0;
}

/* Everything collected that is not there yet: the rootless /proc and the given directories. */
int raise_host_mounts(struct raising *raising, struct err *err)
{
	uint32_t mount_count = raising->template->mount_count;
	const struct jail_trees *trees = raising->trees;
	for (size_t i = trees->count - mount_count; i < trees->count; i++)
		TRY(attach_tree(&trees->items[i], err));
	step_note(raising, STEP_HOST_MOUNTS, (int)mount_count, "%u", mount_count);
	return 0;
}

static int attach_proc(const struct jail_trees *trees, struct err *err)
{
	for (size_t i = 0; i < trees->count; i++)
		if (strcmp(trees->items[i].to, "proc") == 0)
			TRY(attach_tree(&trees->items[i], err));
	return 0;
}

int raise_pivot(struct raising *raising, struct err *err)
{
	TRY(attach_proc(raising->trees, err));
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return err_sys(err, errno, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0)
		return err_sys(err, errno, "let go of the host's root");
	if (chdir("/") < 0)
		return err_sys(err, errno, "enter the new root");
	if (mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID, NULL) < 0)
		return err_sys(err, errno, "make the root read-only");
	if (raising->page->plan.mode == MODE_ROOT && raising->page->plan.is_resident)
		TRY(users_make_place(err));
	for (size_t i = 0; i < raising->trees->count; i++)
		own_close(&raising->trees->items[i].fd);
	own_free(&raising->trees);
	raising->trees = NULL;
	return 0;
}
