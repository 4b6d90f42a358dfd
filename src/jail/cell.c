/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of the cell's init: pid 1 of its own namespaces, still privileged in them, in the
 * template's mounts. What it mounts here dies with it.
 */
#include "jail/steps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"

/* A guest enters by itself, so its init need not: what that makes of namespaces and mounts is then
 * not on the cell's account, which takes the kernel longer, and moving takes 10 µs for each group.
 * On v2 the clone puts an init in. */
bool jail_has_init_outside(enum cgroup_kind cgroup, bool has_guest)
{
	return cgroup == CGROUP_V1 && has_guest;
}

static bool has_init_outside(const struct raising *raising)
{
	const struct plan *plan = &raising->page->plan;
	return jail_has_init_outside(plan->cgroup, plan->has_guest);
}

/* On v1 a process moves itself, one thread, by writing "0" into each `tasks` file: the kernel then
 * needs no global lock. Through cgroup.procs, or for another process, it waits for every fork on
 * the machine to pass a grace period: 8 to 10 ms. On v2 the clone put it there already. */
int raise_cgroup(struct raising *raising, struct err *err)
{
	const struct plan *plan = &raising->page->plan;
	if (plan->cgroup == CGROUP_NONE)
		return err_set(err, ERR_MISSING, "no usable cgroup hierarchy");
	if (plan->cgroup == CGROUP_V1 && (raising->is_guest || !has_init_outside(raising))) {
		for (uint32_t i = 0; i < plan->cgroup_fd_count; i++) {
			int fd = raising->fds[CELL_FD_CGROUP + i];
			if (write(fd, "0", 1) != 1)
				return err_sys(err, errno, "join the cell's cgroup");
		}
	}
	return 0;
}

/* It begins at the groups of who makes it. A guest enters that of an init that was in there. */
int raise_cgroup_namespace(struct raising *raising, struct err *err)
{
	if (raising->is_guest != has_init_outside(raising))
		return 0;
	if (unshare(CLONE_NEWCGROUP) < 0)
		return err_sys(err, errno, "unshare the cgroup namespace");
	return 0;
}

/* A cell cloned by a zygote is not mapped yet: it becomes the cell's user. */
static int map_user(const struct plan *plan, struct err *err)
{
	char map[64];
	int r = io_write_at(AT_FDCWD, "/proc/self/setgroups", "deny");
	if (r < 0 && r != -EPERM) /* denied in the parent namespace already */
		return err_sys(err, -r, "write setgroups");
	(void)snprintf(map, sizeof(map), "%u 0 1", plan->uid);
	r = io_write_at(AT_FDCWD, "/proc/self/uid_map", map);
	if (r < 0)
		return err_sys(err, -r, "write uid_map");
	(void)snprintf(map, sizeof(map), "%u 0 1", plan->gid);
	r = io_write_at(AT_FDCWD, "/proc/self/gid_map", map);
	(void)io_write_at(AT_FDCWD, "/proc/self/projid_map", "0 0 1");
	return r < 0 ? err_sys(err, -r, "write gid_map") : 0;
}

/* Rootless only: the kernel counts user namespaces per user namespace. */
int raise_no_nested_namespaces(struct raising *raising, struct err *err)
{
	if (!raising->is_born)
		TRY(map_user(&raising->page->plan, err));
	int r = io_write_at(AT_FDCWD, "/proc/sys/user/max_user_namespaces", "0");
	return r < 0 ? err_sys(err, -r, "forbid further user namespaces") : 0;
}

/* A tmpfs that hangs nowhere yet. */
static int make_workspace(const struct plan *plan, int *ret_fd, struct err *err)
{
	char size[32];
	char inodes[32];
	(void)snprintf(size, sizeof(size), "%lld", (long long)plan->disk);
	(void)snprintf(inodes, sizeof(inodes), "%lld", (long long)plan->inodes);
	auto_fd int fs_fd = fsopen("tmpfs", FSOPEN_CLOEXEC);
	if (fs_fd < 0)
		return err_sys(err, errno, "open tmpfs");
	if (fsconfig(fs_fd, FSCONFIG_SET_STRING, "size", size, 0) < 0 ||
		fsconfig(fs_fd, FSCONFIG_SET_STRING, "nr_inodes", inodes, 0) < 0 ||
		fsconfig(fs_fd, FSCONFIG_SET_STRING, "mode", "755", 0) < 0 ||
		fsconfig(fs_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_sys(err, errno, "configure the workspace's tmpfs");
	/* what a restricted cell wrote, its loader must not map as a program either */
	uint64_t attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			 (plan->is_restricted ? MOUNT_ATTR_NOEXEC : 0);
	*ret_fd = fsmount(fs_fd, FSMOUNT_CLOEXEC, (unsigned int)attrs);
	return *ret_fd < 0 ? err_sys(err, errno, "mount the workspace's tmpfs") : 0;
}

static int make_owned_dir(
	int dir_fd, const char *name, mode_t mode, const struct plan *plan, struct err *err)
{
	if (mkdirat(dir_fd, name, mode) < 0)
		return err_sys(err, errno, "create the workspace's '%s'", name);
	if (fchownat(dir_fd, name, plan->uid, plan->gid, 0) < 0)
		return err_sys(err, errno, "hand '%s' to the cell's user", name);
	return 0;
}

/* It hangs nowhere yet: nobody is in a directory before it is its owner's. */
static int fill_workspace(int dir_fd, const struct plan *plan, struct err *err)
{
	(void)umask(0);
	TRY(make_owned_dir(dir_fd, "home", 0755, plan, err));
	TRY(make_owned_dir(dir_fd, "tmp", 01777, plan, err));
	TRY(make_owned_dir(dir_fd, "shm", 01777, plan, err));
	(void)umask(0022);
	return 0;
}

int place_tree(int tree_fd, const char *to, uint64_t attrs, struct err *err)
{
	auto_fd int fd = tree_fd;
	struct mount_attr attr = { .attr_set = attrs };
	if (attrs && mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return err_sys(err, errno, "set the attributes of '%s'", to);
	if (move_mount(fd, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, errno, "place '%s'", to);
	return 0;
}

static int bind_tree(int dir_fd, const char *from, const char *to, uint64_t attrs, struct err *err)
{
	unsigned int flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
	int fd = open_tree(dir_fd, from, flags);
	return fd < 0 ? err_sys(err, errno, "clone '%s'", from) : place_tree(fd, to, attrs, err);
}

/* The whole of it hangs where its home covers it, so that nobody in the cell gets there. Were it to
 * hang nowhere, whoever lets go of it last would wait for a grace period, and before 6.15 no part
 * of it could be cloned. */
static int place_workspace(int workspace_fd, struct err *err)
{
	if (move_mount(workspace_fd, "", AT_FDCWD, HOME_DIR, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, errno, "place the workspace");
	TRY(bind_tree(workspace_fd, "home", HOME_DIR, 0, err));
	TRY(bind_tree(workspace_fd, "tmp", "/tmp", 0, err));
	return bind_tree(workspace_fd, "shm", "/dev/shm", MOUNT_ATTR_NOEXEC, err);
}

bool is_in_workspace(const char *path)
{
	return strncmp(path, "/home/user/", 11) == 0 || strncmp(path, "/tmp/", 5) == 0;
}

static int take_waiting(
	const struct template_page *template, int fds[LIMIT_MOUNTS], struct err *err)
{
	for (uint32_t i = 0; i < template->mount_count; i++) {
		char path[32];
		if (!is_in_workspace(template->mounts[i].to))
			continue;
		(void)snprintf(path, sizeof(path), "/run/%u", i);
		fds[i] = open_tree(
			AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
		if (fds[i] < 0)
			return err_sys(
				err, errno, "take the tree for '%s'", template->mounts[i].to);
	}
	return 0;
}

static int make_empty_file(const char *path, struct err *err)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	return fd < 0 ? err_sys(err, errno, "create '%s'", path) : 0;
}

static int make_mount_point(const char *to, int tree_fd, const struct plan *plan, struct err *err)
{
	char part[1024];
	struct stat st;
	(void)snprintf(part, sizeof(part), "%s", to);
	char *start = part + (strncmp(to, "/tmp/", 5) == 0 ? 5 : 11);
	for (char *slash = strchr(start, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0755) == 0)
			(void)chown(part, plan->uid, plan->gid);
		*slash = '/';
	}
	if (fstat(tree_fd, &st) < 0)
		return err_sys(err, errno, "look at the tree for '%s'", to);
	if (!S_ISDIR(st.st_mode))
		return make_empty_file(to, err);
	if (mkdir(to, 0755) < 0 && errno != EEXIST)
		return err_sys(err, errno, "create '%s'", to);
	return 0;
}

static int place_waiting(const struct raising *raising, int fds[LIMIT_MOUNTS], struct err *err)
{
	const struct template_page *template = raising->template;
	for (uint32_t i = 0; i < template->mount_count; i++) {
		const char *to = template->mounts[i].to;
		if (fds[i] < 0)
			continue;
		TRY(make_mount_point(to, fds[i], &raising->page->plan, err));
		if (move_mount(fds[i], "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return err_sys(err, errno, "place '%s'", to);
		own_close(&fds[i]);
	}
	return 0;
}

/* The supervisor's own view of the workspace, which outlives the cell as long as it is held; and
 * nosymfollow, so that no link the cell made can ever be followed by mistake. */
static int send_workspace(struct raising *raising, int fd, struct err *err)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_NOSYMFOLLOW | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NODEV |
			    MOUNT_ATTR_NOSUID,
	};
	if (mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return err_sys(err, errno, "set the attributes of the workspace");
	struct init_message message = { .kind = INIT_WORKSPACE };
	int r = io_send(raising->status_fd, &message, sizeof(message), &fd, 1);
	return r < 0 ? err_sys(err, -r, "send the workspace") : 0;
}

int raise_workspace(struct raising *raising, struct err *err)
{
	const struct plan *plan = &raising->page->plan;
	int waiting[LIMIT_MOUNTS];
	auto_fd int fd = -1;
	memset(waiting, -1, sizeof(waiting));
	TRY(take_waiting(raising->template, waiting, err));
	TRY(make_workspace(plan, &fd, err));
	TRY(fill_workspace(fd, plan, err));
	TRY(place_workspace(fd, err));
	TRY(users_place(raising, err));
	TRY(place_waiting(raising, waiting, err));
	return send_workspace(raising, fd, err);
}

/* What programs read of a whole /proc: numbers about memory, processors and time. */
static const char *const shown_proc[] = {
	"cpuinfo",
	"filesystems",
	"loadavg",
	"meminfo",
	"mounts",
	"net",
	"self",
	"stat",
	"thread-self",
	"uptime",
	"version",
	"vmstat",
};

/* A process's directory, something programs need, or something the cell's user cannot open. */
static bool is_shown(const struct dirent *entry, const struct stat *st)
{
	if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
		return true;
	for (size_t i = 0; i < COUNT_OF(shown_proc); i++)
		if (strcmp(entry->d_name, shown_proc[i]) == 0)
			return true;
	return !S_ISDIR(st->st_mode) && (st->st_mode & 0007) == 0;
}

/* Everything else tells of the machine and its kernel, not of the cell: files are covered by our
 * own /dev/null, directories by the empty /mnt, both read-only. */
static int mask_proc(struct err *err)
{
	auto_dir DIR *dir = opendir("/proc");
	if (!dir)
		return err_sys(err, errno, "list '/proc'");
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		char path[300];
		struct stat st;
		if (entry->d_name[0] == '.')
			continue;
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue; /* a process that just ended */
		if (is_shown(entry, &st))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s", entry->d_name);
		TRY(bind_tree(AT_FDCWD, S_ISDIR(st.st_mode) ? "/mnt" : "/dev/null", path,
			MOUNT_ATTR_RDONLY, err));
	}
	return 0;
}

static int mount_proc(bool is_full, struct err *err)
{
	auto_fd int fs_fd = fsopen("proc", FSOPEN_CLOEXEC);
	if (fs_fd < 0)
		return err_sys(err, errno, "open proc");
	if (!is_full && fsconfig(fs_fd, FSCONFIG_SET_STRING, "subset", "pid", 0) < 0)
		return err_sys(err, errno, "reduce proc to processes");
	if (fsconfig(fs_fd, FSCONFIG_SET_STRING, "hidepid", "ptraceable", 0) < 0)
		return err_sys(err, errno, "hide foreign processes in proc");
	if (fsconfig(fs_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_sys(err, errno, "create proc");
	auto_fd int mount_fd = fsmount(
		fs_fd, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (mount_fd < 0)
		return err_sys(err, errno, "mount proc");
	if (move_mount(mount_fd, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, errno, "place proc");
	return 0;
}

int raise_proc(struct raising *raising, struct err *err)
{
	bool is_full = raising->page->plan.has_full_proc;
	TRY(mount_proc(is_full, err));
	if (is_full)
		TRY(mask_proc(err));
	/* read again when the cell ends: what the reaped processes read and wrote */
	raising->io_fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	return 0;
}

int raise_hostname(struct raising *raising, struct err *err)
{
	(void)raising;
	if (sethostname("cell", 4) < 0 || setdomainname("(none)", 6) < 0)
		return err_sys(err, errno, "set the host name");
	return 0;
}

int raise_session(struct raising *raising, struct err *err)
{
	sigset_t none;
	(void)sigemptyset(&none);
	/* a guest is in one already, and its init needs none; a leader that the cell does not see
	 * is somebody else's */
	bool has_session = getsid(0) > 0 || raising->page->plan.has_guest;
	if ((!has_session && setsid() < 0) || sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return err_sys(err, errno, "start a session");
	/* a file that grows past the disk limit is an error to handle, not a death */
	if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
		return err_sys(err, errno, "ignore SIGXFSZ");
	(void)umask(0022);
	return 0;
}

static int lower_limit(int resource, rlim_t soft, rlim_t hard, struct err *err)
{
	struct rlimit now;
	struct rlimit want = { .rlim_cur = soft, .rlim_max = hard };
	int r = prlimit(0, (__rlimit_resource_t)resource, &want, &now);
	if (r == 0 && want.rlim_max <= now.rlim_max)
		return 0;
	/* the one we had was lower: it was refused, or is raised for a moment */
	if (r < 0 && getrlimit((__rlimit_resource_t)resource, &now) < 0)
		return err_sys(err, errno, "read rlimit %d", resource);
	if (want.rlim_max > now.rlim_max)
		want.rlim_max = now.rlim_max;
	if (want.rlim_cur > want.rlim_max)
		want.rlim_cur = want.rlim_max;
	if (setrlimit((__rlimit_resource_t)resource, &want) < 0)
		return err_sys(err, errno, "set rlimit %d", resource);
	return 0;
}

/* Whether ours are those already, and so our children's. */
static bool has_constant_limits;

static int set_constant_limits(struct err *err)
{
	static const struct {
		int resource;
		rlim_t soft, hard;
	} limits[] = {
		/* 1 byte, not 0: the kernel pipes a core to the host's handler at 0, never at 1 */
		{ RLIMIT_CORE, 1, 1 },
		{ RLIMIT_STACK, 8 << 20, 64 << 20 },
		{ RLIMIT_MEMLOCK, 8 << 20, 8 << 20 },
		{ RLIMIT_MSGQUEUE, 819200, 819200 },
		{ RLIMIT_SIGPENDING, 1024, 1024 },
		{ RLIMIT_RTPRIO, 0, 0 },
		{ RLIMIT_NICE, 0, 0 },
	};
	for (size_t i = 0; i < COUNT_OF(limits) && !has_constant_limits; i++)
		TRY(lower_limit(limits[i].resource, limits[i].soft, limits[i].hard, err));
	return 0;
}

int jail_hand_down_limits(struct err *err)
{
	TRY(set_constant_limits(err));
	has_constant_limits = true;
	return 0;
}

int raise_rlimits(struct raising *raising, struct err *err)
{
	const struct plan *plan = &raising->page->plan;
	/* a guest has its own from itself; its init has no child that could inherit any */
	if (plan->has_guest && !raising->is_guest)
		return 0;
	bool has_cgroup = plan->wanted & (UINT64_C(1) << STEP_CGROUP);
	/* init counts as one; behind a cgroup this is only the second fence */
	rlim_t processes = (rlim_t)plan->pids + (has_cgroup ? 16 : 1);
	const struct {
		int resource;
		rlim_t soft, hard;
	} limits[] = {
		{ RLIMIT_FSIZE, (rlim_t)plan->disk, (rlim_t)plan->disk },
		/* what no cgroup counts, a socket's buffers, is bounded by their number */
		{ RLIMIT_NOFILE, has_cgroup ? 1024 : 256, has_cgroup ? 4096 : 256 },
		{ RLIMIT_NPROC, processes, processes },
	};
	TRY(set_constant_limits(err));
	for (size_t i = 0; i < COUNT_OF(limits); i++)
		TRY(lower_limit(limits[i].resource, limits[i].soft, limits[i].hard, err));
	if (!has_cgroup) {
		/* the supervisor samples what is really used; this bounds what it cannot see in
		 * time */
		rlim_t data = (rlim_t)plan->memory + (256 << 20);
		TRY(lower_limit(RLIMIT_DATA, data, data, err));
	}
	if (plan->cpu_time_ms > 0) {
		rlim_t seconds = (rlim_t)(plan->cpu_time_ms / 1000) + 2;
		TRY(lower_limit(RLIMIT_CPU, seconds, seconds + 1, err));
	}
	return 0;
}
