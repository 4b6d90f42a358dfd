/* SPDX-License-Identifier: Apache-2.0 */
/* Behaviours 41-50, 58, 60: full disks, and strange files where results are looked for. */
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "hostile.h"

#define MIB (1L << 20)

static char block[1 << 16];

/* Writes into one path until it may not; returns how many KiB went in, errno tells why. */
static long fill(const char *path)
{
	long total = 0;
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	memset(block, 'x', sizeof(block));
	for (;;) {
		ssize_t got = write(fd, block, sizeof(block));
		if (got < 0)
			break;
		total += got;
	}
	int sys = errno;
	(void)close(fd);
	errno = sys;
	return total >> 10;
}

/* fill EXIT PATH…: fills each path, over and over in new files, and ends with EXIT. */
static int do_fill(int argc, char **argv)
{
	long total = 0;
	(void)signal(SIGXFSZ, SIG_IGN);
	for (int i = 2; i < argc; i++) {
		for (int part = 0;; part++) {
			char path[256];
			(void)snprintf(path, sizeof(path), "%s/full%d", argv[i], part);
			long got = fill(path);
			if (got > 0)
				total += got;
			if (got < 0 || errno != EFBIG)
				break;
		}
		tell("write", -1);
	}
	tell_number("kib", total);
	long code = number_arg(argc, argv, 1, 0);
	if (code != 0)
		(void)fprintf(stderr, "write: %s\n", strerror(ENOSPC));
	return (int)code;
}

static int do_inodes(int argc, char **argv)
{
	long count = 0;
	(void)argc;
	(void)argv;
	for (;; count++) {
		char path[64];
		(void)snprintf(path, sizeof(path), "/tmp/inode%ld", count);
		int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			break;
		(void)close(fd);
	}
	tell("create", -1);
	tell_number("files", count);
	return 0;
}

static int do_sparse(int argc, char **argv)
{
	off_t huge = (off_t)1 << 40;
	if (argc > 1 && strcmp(argv[1], "deadly") == 0)
		(void)signal(SIGXFSZ, SIG_DFL);
	int fd = open("sparse", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	TELL("ftruncate", ftruncate(fd, huge));
	TELL("fallocate", fallocate(fd, 0, 0, huge));
	TELL("pwrite", pwrite(fd, "x", 1, huge));
	return 0;
}

/* Holes are free until someone writes into them through memory. */
static int do_bus(int argc, char **argv)
{
	long size = number_arg(argc, argv, 1, 12) * MIB;
	printf("mapping\n");
	(void)fflush(stdout);
	for (int i = 0; i < 4; i++) {
		char path[32];
		(void)snprintf(path, sizeof(path), "hole%d", i);
		int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
		if (fd < 0 || ftruncate(fd, size) < 0)
			return 1;
		char *map = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED)
			return 2;
		memset(map, 1, (size_t)size);
	}
	return 0;
}

static int do_deep(int argc, char **argv)
{
	long wanted = number_arg(argc, argv, 1, 100000);
	long depth = 0;
	char name[256];
	memset(name, 'd', 255);
	name[255] = '\0';
	if (mkdir("deep", 0755) < 0 || chdir("deep") < 0)
		return 1;
	for (; depth < wanted; depth++)
		if (mkdir(name, 0755) < 0 || chdir(name) < 0)
			break;
	tell_number("depth", depth);
	int fd = open("bottom", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	tell("bottom", fd);
	return 0;
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -1;
	return close(fd);
}

static int do_names(int argc, char **argv)
{
	static const char *const names[] = { "out/plain", "out/new\nline", "out/tab\tquote\"back\\",
		"out/\xc3\xa9t\xc3\xa9", "out/invalid\xff\xfe", "out/\x1b[31mred", "out/-rf",
		"out/ ", "out/.hidden", "out/*", "out/..." };
	char longest[260] = "out/";
	(void)argc;
	(void)argv;
	if (mkdir("out", 0755) < 0)
		return 1;
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (put(names[i], "mine\n") < 0)
			return 2;
	memset(longest + 4, 'n', 255);
	return put(longest, "mine\n") < 0 ? 3 : 0;
}

static int do_symlinks(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	TELL("absolute", symlink("/etc/shadow", "shadow"));
	TELL("visible", symlink("/etc/passwd", "passwd"));
	TELL("relative", symlink("../../etc/passwd", "relative"));
	TELL("magic", symlink("/proc/self/environ", "environ"));
	TELL("directory", symlink("/etc", "etc"));
	TELL("loop", symlink("loop", "loop"));
	TELL("inner", put("plain", "mine\n"));
	TELL("own", symlink("plain", "own"));
	return 0;
}

/* The parent leaves while a child keeps swapping the directory for a way out. */
static int do_swap(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (mkdir("real", 0755) < 0 || put("real/passwd", "mine\n") < 0 || symlink("/etc", "out"))
		return 1;
	if (rename("real", "d") < 0)
		return 2;
	if (fork() == 0) {
		(void)setsid();
		for (;;)
			(void)syscall(
				SYS_renameat2, AT_FDCWD, "d", AT_FDCWD, "out", RENAME_EXCHANGE);
	}
	printf("swapping\n");
	nap_ms(20);
	return 0;
}

static int do_special(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
	(void)argc;
	(void)argv;
	TELL("fifo", mkfifo("fifo", 0666));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	TELL("socket", bind(fd, (struct sockaddr *)&address, sizeof(address)));
	TELL("block-device", mknod("disk", S_IFBLK | 0666, makedev(254, 0)));
	TELL("char-device", mknod("mem", S_IFCHR | 0666, makedev(1, 1)));
	TELL("null-device", mknod("null", S_IFCHR | 0666, makedev(1, 3)));
	TELL("plain", put("plain", "mine\n"));
	return 0;
}

static int do_hard_link(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	TELL("usr", link("/usr/bin/env", "env"));
	TELL("etc", link("/etc/passwd", "passwd"));
	TELL("proc", link("/proc/self/environ", "environ"));
	int fd = open("/usr/bin/env", O_RDONLY | O_CLOEXEC);
	TELL("empty-path", linkat(fd, "", AT_FDCWD, "env", AT_EMPTY_PATH));
	TELL("home-to-tmp", put("plain", "mine\n"));
	return 0;
}

/* The parent leaves a small file; a child makes it as large as it can at the same moment. */
static int do_grow(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	(void)signal(SIGXFSZ, SIG_IGN);
	if (put("result", "small\n") < 0)
		return 1;
	if (fork() == 0) {
		(void)setsid();
		int fd = open("result", O_WRONLY | O_APPEND | O_CLOEXEC);
		for (long size = 10L << 30; size > 0; size /= 2)
			(void)ftruncate(fd, size);
		for (;;)
			(void)!write(fd, block, sizeof(block));
	}
	printf("growing\n");
	nap_ms(20);
	return 0;
}

static int do_lock_out(int argc, char **argv)
{
	unsigned flags = FS_IMMUTABLE_FL | FS_APPEND_FL;
	(void)argc;
	(void)argv;
	for (int i = 0; i < 50; i++) {
		char path[32];
		(void)snprintf(path, sizeof(path), "locked%d", i);
		(void)mkdir(path, 0755);
		(void)snprintf(path, sizeof(path), "locked%d/file", i);
		(void)put(path, "x");
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		(void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
		(void)chmod(path, 0);
		(void)snprintf(path, sizeof(path), "locked%d", i);
		(void)chmod(path, 0);
	}
	TELL("chmod-home", chmod("/home/user", 0));
	return 0;
}

static int do_stamps(int argc, char **argv)
{
	struct timespec past[2] = { { .tv_sec = -1000000000 }, { .tv_sec = -1000000000 } };
	struct timespec future[2] = { { .tv_sec = 1L << 36 }, { .tv_sec = 1L << 36 } };
	(void)argc;
	(void)argv;
	TELL("past", put("past", "mine\n"));
	TELL("past-time", utimensat(AT_FDCWD, "past", past, 0));
	TELL("future", put("future", "mine\n"));
	TELL("future-time", utimensat(AT_FDCWD, "future", future, 0));
	TELL("suid", put("suid", "mine\n"));
	TELL("suid-mode", chmod("suid", 06777));
	TELL("closed", put("closed", "mine\n"));
	TELL("closed-mode", chmod("closed", 0));
	TELL("chown", chown("past", 0, 0));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct act acts[] = {
		{ "bus", do_bus },
		{ "deep", do_deep },
		{ "fill", do_fill },
		{ "grow", do_grow },
		{ "hard-link", do_hard_link },
		{ "inodes", do_inodes },
		{ "lock-out", do_lock_out },
		{ "names", do_names },
		{ "sparse", do_sparse },
		{ "special", do_special },
		{ "stamps", do_stamps },
		{ "swap", do_swap },
		{ "symlinks", do_symlinks },
	};
	return play(acts, COUNT_OF(acts), argc, argv);
}
