/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network namespace takes the kernel 0.4 ms. So does a C library, before main(), that asks a
 * virtual processor what it can do. `hotcell` is linked to begin here, ahead of its library: for
 * `hotcell run`, when nobody lends cells, a child makes the network on another processor meanwhile,
 * and without privilege a user namespace to make it in. The zygote is then born in both.
 *
 * There is no library yet, no relocation, no thread-local storage: what is here uses its stack, its
 * own variables and system calls, and the Makefile sees to it that it calls nobody else. When
 * anything fails, no network is there when it is asked for (network.c), and the cell gets one as if
 * nobody had tried.
 */
#include "jail/early.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/place.h"

int jail_maker;

#if defined(__x86_64__)

struct text {
	char bytes[PLACE_MAX + 64];
	size_t len;
};

static long call(long number, long a, long b, long c)
{
	__asm__ volatile("syscall"
			 : "+a"(number)
			 : "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return number;
}

static void add(struct text *text, const char *more)
{
	while (*more && text->len < sizeof(text->bytes) - 1)
		text->bytes[text->len++] = *more++;
	text->bytes[text->len] = '\0';
}

static void add_number(struct text *text, unsigned long number)
{
	char digits[24];
	size_t at = sizeof(digits) - 1;
	digits[at] = '\0';
	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	add(text, &digits[at]);
}

/* What follows `start`, or NULL when `text` does not begin with it. */
static const char *after(const char *text, const char *start)
{
	while (*start)
		if (*text++ != *start++)
			return NULL;
	return text;
}

static const char *find_variable(const char *const *env, const char *name)
{
	const char *value = NULL;
	for (; *env && !value; env++)
		value = after(*env, name);
	return value;
}

static bool is_word(const char *text, const char *word)
{
	const char *rest = after(text, word);
	return rest && *rest == '\0';
}

static bool is_there(const char *path)
{
	return call(SYS_access, (long)path, F_OK, 0) == 0;
}

/* Whoever borrows a cell needs no network. A socket that is left over is taken for a daemon's, and
 * then the run takes a little longer. */
static bool is_lent(const char *const *env, long uid)
{
	struct text path;
	const char *given = find_variable(env, "HOTCELL_SOCKET=");
	const char *dir = find_variable(env, "XDG_RUNTIME_DIR=");
	path.len = 0;
	if (find_variable(env, "HOTCELL_ON_DEMAND="))
		return true;
	if (given && given[0])
		return is_there(given);
	if (uid == 0) {
		add(&path, PLACE_RUN PLACE_NAME);
	} else if (dir && dir[0] == '/') {
		add(&path, dir);
		add(&path, PLACE_NAME);
	} else {
		add(&path, PLACE_TMP);
		add_number(&path, (unsigned long)uid);
	}
	add(&path, PLACE_SOCKET);
	return is_there(path.bytes);
}

static bool is_cold(const char *const *argv)
{
	for (; *argv && !is_word(*argv, "--"); argv++)
		if (is_word(*argv, "--cold"))
			return true;
	return false;
}

/* In a copy of our memory, but with our descriptors: what it opens is ours, and its exit status
 * tells which. */
static void make_network(long uid)
{
	long flags = CLONE_NEWNET | (uid == 0 ? 0 : CLONE_NEWUSER);
	long fd = -1;
	if (call(SYS_unshare, flags, 0, 0) == 0)
		fd = call(SYS_openat, AT_FDCWD, (long)"/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	for (;;)
		(void)call(SYS_exit_group, fd < 0 || fd > MAKER_FAILED ? MAKER_FAILED : fd, 0, 0);
}

/* See base/cpus.h. */
static void send_away(long child)
{
	unsigned long cpus[16] = { 0 };
	unsigned int here = 0;
	long size = call(SYS_sched_getaffinity, 0, sizeof(cpus), (long)cpus);
	if (size <= 0 || call(SYS_getcpu, (long)&here, 0, 0) < 0 || here >= 8 * (size_t)size)
		return;
	cpus[here / 64] &= ~(1UL << here % 64);
	(void)call(SYS_sched_setaffinity, child, size, (long)cpus);
}

/* The child must not open anything in the place of a standard descriptor that is closed. */
static bool is_standard(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (call(SYS_fcntl, fd, F_GETFD, 0) < 0)
			return false;
	return true;
}

/* `stack` is as the kernel left it: a number, as many words and NULL, the environment and NULL. */
__attribute__((used)) static void begin(const long *stack)
{
	long argc = stack[0];
	const char *const *argv = (const char *const *)&stack[1];
	long uid = call(SYS_geteuid, 0, 0, 0);
	if (argc < 2 || !is_word(argv[1], "run") || !is_standard() ||
		(!is_cold(argv) && is_lent(&argv[argc + 1], uid)))
		return;
	/* no signal at its end, which a caller that ignores SIGCHLD would let nobody hear of */
	long child = call(SYS_clone, CLONE_FILES, 0, 0);
	if (child == 0)
		make_network(uid);
	if (child > 0)
		send_away(child);
	jail_maker = child > 0 ? (int)child : 0;
}

__asm__(".text\n"
	".globl jail_start\n"
	".hidden jail_start\n"
	".type jail_start, @function\n"
	"jail_start:\n"
	"	endbr64\n"
	"	mov %rsp, %rbx\n"
	"	mov %rdx, %r12\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call begin\n"
	"	mov %rbx, %rsp\n"
	"	mov %r12, %rdx\n"
	"	jmp _start\n"
	".size jail_start, .-jail_start\n");

#endif
