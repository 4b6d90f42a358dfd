/* SPDX-License-Identifier: Apache-2.0 */
/* Behaviours 51-57, 59: ways to gain rights, to write to the system and to leave the root. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "hostile.h"

static char block[1 << 16];

static int copy_self(const char *to)
{
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int out = open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
	ssize_t got = 0;
	while ((got = read(in, block, sizeof(block))) > 0)
		if (write(out, block, (size_t)got) != got)
			return -1;
	(void)close(in);
	return close(out);
}

static int do_who(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	TELL("same-user", geteuid() == getuid() && getegid() == getgid() ? 0 : -1);
	TELL("not-root", geteuid() != 0 && getegid() != 0 ? 0 : -1);
	TELL("no_new_privs", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : -1);
	return 0;
}

static int do_setuid(int argc, char **argv)
{
	/* A v2 file capability record that gives everything. */
	static const unsigned char caps[20] = { 1, 0, 0, 2, 255, 255, 255, 255, 0, 0, 0, 0, 255,
		1 };
	(void)argc;
	(void)argv;
	if (copy_self("suid") < 0)
		return 1;
	TELL("chown", chown("suid", 0, 0));
	TELL("chmod", chmod("suid", 06755));
	TELL("file-caps", setxattr("suid", "security.capability", caps, sizeof(caps), 0));
	TELL("setuid", setuid(0));
	TELL("setgid", setgid(0));
	TELL("setgroups", syscall(SYS_setgroups, 1, &(gid_t){ 0 }));
	(void)fflush(stdout);
	(void)execl("/home/user/suid", "suid", "who", (char *)NULL);
	return 1;
}

static void try_write(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	/* Files below /proc/sys open only to be refused at the write. */
	if (fd >= 0)
		TELL(path, write(fd, "x", 1));
	else
		tell(path, -1);
}

static int do_read_only(int argc, char **argv)
{
	static const char *const paths[] = { "/x", "/usr/x", "/usr/bin/env", "/usr/lib/x", "/etc/x",
		"/etc/passwd", "/dev/x", "/dev/sda", "/proc/x", "/proc/sys/kernel/core_pattern",
		"/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/sys/x",
		"/sys/kernel/uevent_helper", "/home/x", "/var/x", "/run/x", "/opt/x", "/root/x",
		"/boot/x" };
	(void)argc;
	(void)argv;
	for (size_t i = 0; i < COUNT_OF(paths); i++)
		try_write(paths[i]);
	TELL("mkdir-root", mkdir("/dir", 0755));
	TELL("unlink-usr", unlink("/usr/bin/env"));
	TELL("rename-etc", rename("/etc/passwd", "/etc/shadow"));
	TELL("chmod-usr", chmod("/usr/bin/env", 0777));
	TELL("truncate-usr", truncate("/usr/bin/env", 0));
	TELL("utime-usr", utimensat(AT_FDCWD, "/usr/bin/env", NULL, 0));
	return 0;
}

static int do_mounts(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	TELL("tmpfs", mount("none", "/tmp", "tmpfs", 0, NULL));
	TELL("bind", mount("/usr", "/tmp", NULL, MS_BIND, NULL));
	TELL("remount", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	TELL("propagation", mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL));
	TELL("umount", umount2("/proc", MNT_DETACH));
	TELL("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp"));
	TELL("chroot", chroot("/tmp"));
	TELL("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
	TELL("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0));
	TELL("fsmount", syscall(SYS_fsmount, 0, 0, 0));
	TELL("fsconfig", syscall(SYS_fsconfig, 0, 0, NULL, NULL, 0));
	TELL("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/usr", 1));
	TELL("move_mount", syscall(SYS_move_mount, AT_FDCWD, "/usr", AT_FDCWD, "/tmp", 0));
	TELL("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, block, 32));
	return 0;
}

/* walk NAME: looks at everything below / and tells what should not be there. */
struct walk {
	const char *token;
	long seen, secrets, sockets, devices, cgroups, writable;
};

static void look_at(struct walk *walk, const char *path, const char *name, const struct stat *st)
{
	walk->seen++;
	if (strstr(name, walk->token) != NULL) {
		printf("secret: %s\n", path);
		walk->secrets++;
	}
	if (S_ISSOCK(st->st_mode)) {
		printf("socket: %s\n", path);
		walk->sockets++;
	}
	if (S_ISBLK(st->st_mode) || (S_ISCHR(st->st_mode) && major(st->st_rdev) != 1)) {
		printf("device: %s\n", path);
		walk->devices++;
	}
}

static void walk_into(struct walk *walk, int dir_fd, const char *path, int depth)
{
	struct statfs fs;
	DIR *dir = fdopendir(dir_fd);
	if (dir == NULL)
		return;
	if (fstatfs(dir_fd, &fs) == 0 && (fs.f_type == 0x27e0eb || fs.f_type == 0x63677270)) {
		printf("cgroup: %s\n", path);
		walk->cgroups++;
	}
	for (struct dirent *item; (item = readdir(dir)) != NULL;) {
		char next[4096];
		struct stat st;
		if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
			continue;
		if (snprintf(next, sizeof(next), "%s/%s", path, item->d_name) >= (int)sizeof(next))
			continue;
		if (fstatat(dir_fd, item->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		look_at(walk, next, item->d_name, &st);
		if (!S_ISDIR(st.st_mode) || depth > 30)
			continue;
		int fd = openat(dir_fd, item->d_name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0)
			walk_into(walk, fd, next, depth + 1);
	}
	(void)closedir(dir);
}

/* Something that is covered by /dev/null or an empty directory is there, but tells nothing. */
static void peek(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		tell(path, -1);
		return;
	}
	DIR *dir = fdopendir(fd);
	int count = 0;
	while (dir != NULL && readdir(dir) != NULL)
		count++;
	if (dir != NULL ? count <= 2 : read(fd, block, 1) == 0)
		printf("%s empty\n", path);
	else
		tell(path, 0);
	if (dir != NULL)
		(void)closedir(dir);
	else
		(void)close(fd);
}

static int do_walk(int argc, char **argv)
{
	static const char *const private[] = { "/etc/shadow", "/root/.ssh", "/root/.bashrc",
		"/var/log", "/var/lib/dpkg", "/run/hotcell", "/sys/fs/cgroup", "/home/user/../root",
		"/dev/kmsg", "/dev/mem", "/dev/vda", "/dev/kvm", "/dev/fuse", "/dev/net/tun",
		"/proc/kcore", "/proc/kallsyms", "/proc/keys" };
	struct walk walk = { .token = argc > 1 ? argv[1] : "never-there" };
	for (size_t i = 0; i < COUNT_OF(private); i++)
		peek(private[i]);
	walk_into(&walk, open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", 0);
	tell_number("seen-some", walk.seen > 100);
	tell_number("secrets", walk.secrets);
	tell_number("sockets", walk.sockets);
	tell_number("devices", walk.devices);
	tell_number("cgroups", walk.cgroups);
	return 0;
}

static void tell_same(const char *what, const char *path, const struct stat *root)
{
	struct stat st;
	if (stat(path, &st) < 0)
		tell(what, -1);
	else
		printf("%s %s\n", what,
			st.st_dev == root->st_dev && st.st_ino == root->st_ino ? "inside"
									       : "OUTSIDE");
}

static int do_traverse(int argc, char **argv)
{
	struct stat root;
	(void)argc;
	(void)argv;
	if (stat("/", &root) < 0)
		return 1;
	tell_same("dots", "/home/user/../../../../../../..", &root);
	tell_same("root-dots", "/..", &root);
	tell_same("self-root", "/proc/self/root", &root);
	tell_same("self-root-dots", "/proc/self/root/../..", &root);
	tell_same("self-cwd-dots", "/proc/self/cwd/../..", &root);
	tell_same("thread-root", "/proc/thread-self/root/..", &root);
	tell_same("init-root", "/proc/1/root", &root);
	tell_same("init-cwd", "/proc/1/cwd", &root);
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && fchdir(fd) == 0 && chdir("../../..") == 0)
		tell_same("cwd", ".", &root);
	TELL("init-fd", open("/proc/1/fd", O_RDONLY | O_CLOEXEC));
	TELL("init-ns", readlink("/proc/1/ns/mnt", block, sizeof(block)));
	TELL("parent", open("/proc/0/root", O_RDONLY | O_CLOEXEC));
	return 0;
}

static int do_handles(int argc, char **argv)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = { .handle.handle_bytes = 8, .handle.handle_type = 1 };
	long denied = 0;
	(void)argc;
	(void)argv;
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned inode = 0; inode < 100; inode++) {
		memcpy(u.handle.f_handle, &inode, sizeof(inode));
		denied += open_by_handle_at(fd, &u.handle, O_RDONLY) < 0 && errno == EPERM;
	}
	tell_number("denied", denied);
	u.handle.handle_bytes = MAX_HANDLE_SZ;
	int id = 0;
	TELL("name_to_handle_at", name_to_handle_at(AT_FDCWD, "/usr", &u.handle, &id, 0));
	TELL("fanotify", fanotify_init(FAN_CLASS_NOTIF, O_RDONLY));
	TELL("quotactl", quotactl(QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL));
	TELL("swapon", syscall(SYS_swapon, "/tmp/x", 0));
	TELL("acct", syscall(SYS_acct, "/tmp/x"));
	return 0;
}

/* lock PATH MS: a lock on a file that other cells see too, held for a while. */
static int do_lock(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "/usr/bin/env", O_RDONLY | O_CLOEXEC);
	struct flock whole = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	if (fd < 0)
		return 1;
	TELL("flock", flock(fd, LOCK_EX | LOCK_NB));
	TELL("ofd", fcntl(fd, F_OFD_SETLK, &whole));
	TELL("lease", fcntl(fd, F_SETLEASE, F_RDLCK));
	nap_ms(number_arg(argc, argv, 2, 0));
	return 0;
}

/* An ordinary lock, as databases and package managers take them. */
static int do_own_lock(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	int fd = open("own.lock", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fcntl(fd, F_SETLK, &whole) < 0)
		return 1;
	int watch = inotify_init1(IN_CLOEXEC);
	if (watch < 0 || inotify_add_watch(watch, ".", IN_CREATE) < 0)
		return 2;
	printf("fine\n");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct act acts[] = {
		{ "handles", do_handles },
		{ "lock", do_lock },
		{ "mounts", do_mounts },
		{ "own-lock", do_own_lock },
		{ "read-only", do_read_only },
		{ "setuid", do_setuid },
		{ "traverse", do_traverse },
		{ "walk", do_walk },
		{ "who", do_who },
	};
	return play(acts, COUNT_OF(acts), argc, argv);
}
