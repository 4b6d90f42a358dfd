/* SPDX-License-Identifier: Apache-2.0 */
/* Behaviours 31-40: every kind of memory a program can hoard, and attempts to keep it. */
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "hostile.h"

#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE 101
#endif

#define MIB (1L << 20)

static char block[1 << 20];

/* A kind of hoard takes one more MiB; -1 when it cannot. */
struct hoard {
	const char *name;
	long (*take)(long index);
};

static long take_anon(long index)
{
	char *map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)index;
	if (map == MAP_FAILED)
		return -1;
	memset(map, 1, MIB);
	return 0;
}

static long take_shared(long index)
{
	char *map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	(void)index;
	if (map == MAP_FAILED)
		return -1;
	memset(map, 1, MIB);
	return 0;
}

/* Touched, then unmapped: nothing of it shows as resident in any process. */
static long take_shared_hidden(long index)
{
	static int fd = -1;
	if (fd < 0)
		fd = open("/dev/shm/hidden", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	return pwrite(fd, block, MIB, index * MIB) == MIB ? 0 : -1;
}

static long take_tmpfs(long index)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "/tmp/hoard%ld", index);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	long got = write(fd, block, MIB);
	int sys = errno;
	(void)close(fd);
	errno = got < 0 ? sys : ENOSPC;
	return got == MIB ? 0 : -1;
}

static long take_memfd(long index)
{
	static int fd = -1;
	/* A file each 16 MiB, in case files are limited one by one. */
	if (index % 16 == 0)
		fd = (int)syscall(SYS_memfd_create, "hoard", 0);
	if (fd < 0)
		return -1;
	return write(fd, block, MIB) == MIB ? 0 : -1;
}

static long take_sysv(long index)
{
	int id = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600);
	(void)index;
	if (id < 0)
		return -1;
	char *map = shmat(id, NULL, 0);
	if (map == (char *)-1)
		return -1;
	memset(map, 1, MIB);
	return shmdt(map);
}

static long take_mqueue(long index)
{
	struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = 8192 };
	for (int part = 0; part < 13; part++) { /* 80 KiB each */
		char name[64];
		(void)snprintf(name, sizeof(name), "/hoard%ld-%d", index, part);
		mqd_t queue = mq_open(name, O_CREAT | O_RDWR | O_NONBLOCK | O_CLOEXEC, 0600, &attr);
		if (queue < 0)
			return -1;
		while (mq_send(queue, block, 8192, 0) == 0)
			continue;
	}
	return 0;
}

static long take_pipe(long index)
{
	(void)index;
	for (int part = 0; part < 16; part++) { /* 64 KiB each */
		int ends[2];
		if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0)
			return -1;
		while (write(ends[1], block, 4096) > 0)
			continue;
	}
	return 0;
}

static long take_socketpair(long index)
{
	long got = 0;
	(void)index;
	while (got < MIB) {
		int ends[2];
		int size = 1 << 20;
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
			return -1;
		for (int end = 0; end < 2; end++) {
			(void)setsockopt(ends[end], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
			for (long sent; (sent = write(ends[end], block, 65536)) > 0;)
				got += sent;
		}
	}
	return 0;
}

/* One page of page table for each 2 MiB looked at; the zero page behind it costs nothing. */
static long take_tables(long index)
{
	enum { SPAN = 2 << 20, TABLES = 256 };
	char *map = mmap(NULL, (size_t)SPAN * TABLES, PROT_READ,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	(void)index;
	if (map == MAP_FAILED)
		return -1;
	(void)madvise(map, (size_t)SPAN * TABLES, MADV_NOHUGEPAGE);
	for (long i = 0; i < TABLES; i++)
		(void)*(volatile char *)(map + i * SPAN);
	return 0;
}

static const struct hoard hoards[] = {
	{ "anon", take_anon },
	{ "hidden", take_shared_hidden },
	{ "memfd", take_memfd },
	{ "mqueue", take_mqueue },
	{ "pipe", take_pipe },
	{ "shared", take_shared },
	{ "socketpair", take_socketpair },
	{ "sysv", take_sysv },
	{ "tables", take_tables },
	{ "tmpfs", take_tmpfs },
};

static const struct hoard *find_hoard(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(hoards); i++)
		if (strcmp(hoards[i].name, name) == 0)
			return &hoards[i];
	return NULL;
}

/* hoard KIND MIB: takes that much and sits on it. Stopped by an error, it says so, sits for a
 * second and leaves. Nobody here asks for more than a test machine can spare. */
static int do_hoard(int argc, char **argv)
{
	const struct hoard *hoard = find_hoard(argc > 1 ? argv[1] : "anon");
	long wanted = number_arg(argc, argv, 2, 256);
	long got = 0;
	if (hoard == NULL)
		return 99;
	memset(block, 1, sizeof(block));
	for (; got < wanted; got++) {
		if (hoard->take(got) < 0) {
			tell("refused", -1);
			tell_number("hoarded", got);
			nap_ms(1000);
			return 0;
		}
	}
	tell_number("hoarded", got);
	wait_forever();
	return 0;
}

static int do_child_hoard(int argc, char **argv)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		_exit(do_hoard(argc, argv));
	(void)waitpid(pid, &status, 0);
	tell_number("child", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	wait_forever();
	return 0;
}

struct words {
	int argc;
	char **argv;
};

static void *hoard_in_child(void *arg)
{
	const struct words *words = arg;
	pid_t pid = fork();
	if (pid == 0)
		_exit(do_hoard(words->argc, words->argv));
	wait_forever();
	return NULL;
}

/* The child's parent is a thread, not the process's first: some lists of children miss it. */
static int do_thread_hoard(int argc, char **argv)
{
	struct words words = { argc, argv };
	pthread_t thread;
	if (pthread_create(&thread, NULL, hoard_in_child, &words) != 0)
		return 1;
	wait_forever();
	return 0;
}

static int do_oom_loop(int argc, char **argv)
{
	for (long i = 0; i < 200; i++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(do_hoard(argc, argv));
		(void)waitpid(pid, NULL, 0);
	}
	return 0;
}

static int do_reserve(int argc, char **argv)
{
	size_t bytes = (size_t)1 << 40;
	(void)argc;
	(void)argv;
	/* As run-time systems do: addresses first, memory later. */
	char *map =
		mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	tell("addresses", map == MAP_FAILED ? -1 : 0);
	if (map != MAP_FAILED && mprotect(map, 4096, PROT_READ | PROT_WRITE) == 0)
		map[0] = 1;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		-1, 0);
	tell("reserve", map == MAP_FAILED ? -1 : 0);
	if (map != MAP_FAILED)
		map[bytes - 1] = 1;
	return 0;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winfinite-recursion"
static __attribute__((noinline)) int dig(volatile char *above)
{
	volatile char here[4096];
	here[0] = above[0];
	return dig(here) + here[0];
}
#pragma GCC diagnostic pop

static int do_recurse(int argc, char **argv)
{
	volatile char top[1] = { 0 };
	(void)argc;
	(void)argv;
	return dig(top);
}

static int do_lock(int argc, char **argv)
{
	struct rlimit limit = { 0 };
	(void)argc;
	(void)argv;
	(void)getrlimit(RLIMIT_MEMLOCK, &limit);
	tell_number(
		"memlock-kib", limit.rlim_cur == RLIM_INFINITY ? -1 : (long)(limit.rlim_cur >> 10));
	char *map =
		mmap(NULL, 256 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	TELL("mlock", mlock(map, 256 * MIB));
	TELL("mlock-onfault", mlock2(map, 256 * MIB, MLOCK_ONFAULT));
	TELL("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT));
	TELL("unlimited",
		setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }));
	TELL("memfd_secret", syscall(SYS_memfd_secret, 0));
	char *huge = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	tell("hugetlb", huge == MAP_FAILED ? -1 : 0);
	return 0;
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t got = write(fd, text, strlen(text));
	int sys = errno;
	(void)close(fd);
	errno = sys;
	return got < 0 ? -1 : 0;
}

/* Tries to become the last one the kernel kills, then gives it every reason to kill. */
static int do_immortal(int argc, char **argv)
{
	TELL("oom_score_adj", write_text("/proc/self/oom_score_adj", "-1000"));
	TELL("oom_adj", write_text("/proc/self/oom_adj", "-17"));
	return do_hoard(argc, argv);
}

static int do_advise(int argc, char **argv)
{
	static const int advices[] = { MADV_DONTNEED, MADV_FREE, MADV_COLD, MADV_PAGEOUT,
		MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_MERGEABLE, MADV_UNMERGEABLE, MADV_WILLNEED,
		MADV_POPULATE_WRITE, MADV_DONTFORK, MADV_WIPEONFORK };
	char *map =
		mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)argc;
	(void)argv;
	TELL("hwpoison", madvise(map, 4096, MADV_HWPOISON));
	TELL("soft-offline", madvise(map, 4096, MADV_SOFT_OFFLINE));
	for (unsigned i = 0;; i++) {
		memset(map, (int)i, 32 * MIB);
		(void)madvise(map, 32 * MIB, advices[i % COUNT_OF(advices)]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct act acts[] = {
		{ "advise", do_advise },
		{ "child-hoard", do_child_hoard },
		{ "hoard", do_hoard },
		{ "immortal", do_immortal },
		{ "lock", do_lock },
		{ "oom-loop", do_oom_loop },
		{ "recurse", do_recurse },
		{ "reserve", do_reserve },
		{ "thread-hoard", do_thread_hoard },
	};
	return play(acts, COUNT_OF(acts), argc, argv);
}
