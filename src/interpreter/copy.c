/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running interpreter once more. The copy is a child of whoever the original is a child of, so
 * that it can outlive it; no libc function makes such a one, and of what libc would tell the kernel
 * in a new process the copy does what is left to do by itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "interpreter/habit.h"
#include "interpreter/interpreter.h"
#include "interpreter/parts.h"

/* clone3 would be the same everywhere, but a cell has none. */
static pid_t clone_sibling(void *tid_at)
{
	const unsigned long flags =
		CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;
#ifdef __x86_64__
	return (pid_t)syscall(SYS_clone, flags, NULL, NULL, tid_at, NULL);
#else
	return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, tid_at);
#endif
}

enum { WORD_MAX = 4096 };

static int say(int line_fd, const char *verb, unsigned long number, const char *rest)
{
	char word[WORD_MAX];
	int len = snprintf(word, sizeof(word), "{\"%s\":%lu%s}", verb, number, rest);
	if (len < 0 || (size_t)len >= sizeof(word))
		return -1;
	return send(line_fd, word, (size_t)len, MSG_NOSIGNAL) == len ? 0 : -1;
}

/* What the keeper wants of a copy that waits. */
struct call {
	bool is_fork;
	bool is_branch;     /* without a fork: it is one itself from now on */
	bool is_spare;      /* the copy does not wait here, */
	unsigned long like; /* and will do what this process has done */
	unsigned long number;
};

/* What follows a key of the packet; NULL: it has none. */
static const char *value_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	return at ? at + strlen(key) + strspn(at + strlen(key), ": ") : NULL;
}

static bool is_true(const char *text, const char *key)
{
	const char *value = value_of(text, key);
	return value && strncmp(value, "true", strlen("true")) == 0;
}

/* False: there is none. */
static bool read_number(const char *text, const char *key, unsigned long *ret_number)
{
	char *end = NULL;
	const char *value = value_of(text, key);
	if (!value)
		return false;
	*ret_number = strtoul(value, &end, 10);
	return end != value;
}

/* Looks at the packet and leaves it where it is: what is not a plain request for another copy is
 * the interpreter's to read. False: there will be none. */
static bool look(int line_fd, struct call *call)
{
	char text[256];
	struct pollfd called = { .fd = line_fd, .events = POLLIN };
	*call = (struct call){ 0 };
	while (poll(&called, 1, -1) < 0 && errno == EINTR)
		;
	if (!(called.revents & POLLIN))
		return false;
	ssize_t n = recv(line_fd, text, sizeof(text) - 1, MSG_PEEK | MSG_DONTWAIT);
	if (n <= 0)
		return false;
	text[n] = '\0';
	call->is_fork = read_number(text, "\"fork\"", &call->number);
	call->is_branch = is_true(text, "\"branch\"");
	call->is_spare = is_true(text, "\"spare\"");
	(void)read_number(text, "\"like\"", &call->like);
	return true;
}

static int take_line(const struct copy_line *line, int fd, unsigned long number)
{
	if (dup3(fd, line->place, O_CLOEXEC) < 0 || close(fd) < 0)
		return -1;
	return say(line->place, "forked", number, line->notes);
}

/* A copy that waits makes another. Nothing has changed in it, so there is nothing to look for, and
 * the two of them share all they have. Returns in both; true: this one is to go on at once. */
static bool copy_again(
	struct copy_line *line, const struct thread_note *note, const struct call *call)
{
	char packet[WORD_MAX];
	auto_fd int fd = -1;
	size_t fd_count = 1;
	ssize_t n = io_recv(line->place, packet, sizeof(packet), &fd, &fd_count);
	if (n <= 0 || fd_count != 1)
		return false;
	if (call->is_spare)
		habit_note_turn((pid_t)call->like);
	pid_t pid = clone_sibling(note->tid_at);
	if (pid == 0) {
		thread_note_restore(note);
		if (take_line(line, take_fd(&fd), call->number) < 0)
			_exit(1);
		line->is_branch = call->is_branch;
		habit_follow_all();
		return call->is_spare;
	}
	if (pid < 0)
		(void)say(line->place, "refused", call->number, ",\"why\":[\"no other process\"]");
	return false;
}

/* Reads what was only looked at. */
static void skip(int line_fd)
{
	char packet[WORD_MAX];
	(void)recv(line_fd, packet, sizeof(packet), MSG_DONTWAIT);
}

/* A copy waits here, and not in the interpreter: until it has a turn it has touched nothing and
 * shares all its memory. One that nobody will speak to any more ends. */
static void await_turn(struct copy_line *line, const struct thread_note *note)
{
	struct call call;
	for (;;) {
		if (!look(line->place, &call))
			_exit(0);
		if (!call.is_fork && call.is_branch) {
			skip(line->place);
			line->is_branch = true;
			continue;
		}
		/* a branch that has not drawn its own numbers yet must do so before it is copied */
		if (!call.is_fork || line->is_branch || copy_again(line, note, &call))
			return;
	}
}

pid_t interpreter_copy(struct copy_line *line, struct err *err)
{
	struct thread_note note;
	TRY(thread_note_take(&note, err));
	if (line->is_ahead)
		habit_note_own_turn();
	pid_t pid = clone_sibling(note.tid_at);
	int saved_errno = errno;
	if (pid == 0) {
		thread_note_restore(&note);
		if (take_line(line, line->fd, line->number) < 0)
			_exit(1);
		await_turn(line, &note);
		return 0;
	}
	if (line->is_ahead)
		habit_follow_turn();
	return pid < 0 ? err_sys(err, saved_errno, "copy the process") : pid;
}

bool interpreter_had_children(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_CHILDREN, &usage) < 0 || usage.ru_minflt > 0;
}

static bool is_timed(void)
{
	static const int timers[] = { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF };
	for (size_t i = 0; i < COUNT_OF(timers); i++) {
		struct itimerval timer;
		if (getitimer(timers[i], &timer) < 0 || timer.it_value.tv_sec != 0 ||
			timer.it_value.tv_usec != 0)
			return true;
	}
	return false;
}

/* A process that has no children at all, not even dead ones, has nothing to wait for. */
static bool has_children(void)
{
	siginfo_t info;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

static bool has_threads(void)
{
	enum { ENTRIES = 2 }; /* of an empty directory */
	struct stat st;
	return stat("/proc/self/task", &st) < 0 || st.st_nlink != ENTRIES + 1;
}

static bool is_shared(void)
{
	char name[1];
	uint64_t address = 0;
	auto_fd int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	return fd < 0 || interpreter_next_shared(fd, &address, name, sizeof(name)) != 0;
}

static bool is_among(long fd, const int *own_fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (own_fds[i] == fd)
			return true;
	return fd <= STDERR_FILENO;
}

struct dir_entry {
	uint64_t inode;
	int64_t next;
	uint16_t len;
	uint8_t type;
	char name[];
};

bool interpreter_has_descriptors(const int *own_fds, size_t count)
{
	_Alignas(struct dir_entry) char entries[4096];
	auto_fd int dir_fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long n = -1;
	while (dir_fd >= 0 && (n = syscall(SYS_getdents64, dir_fd, entries, sizeof(entries))) > 0)
		for (long at = 0; at < n;) {
			const struct dir_entry *entry = (const struct dir_entry *)(entries + at);
			long fd = strtol(entry->name, NULL, 10); /* 0 for "." and ".." */
			if (fd != dir_fd && !is_among(fd, own_fds, count))
				return true;
			at += entry->len;
		}
	return n < 0;
}

bool interpreter_is_plain(const int *own_fds, size_t count)
{
	return !has_threads() && !has_children() && !interpreter_had_children() && !is_timed() &&
	       !interpreter_has_descriptors(own_fds, count) && !is_shared();
}

/* From Linux 6.11 on; older headers do not have it. */
struct mapping_query {
	uint64_t size;
	uint64_t flags;
	uint64_t address;
	uint64_t start;
	uint64_t end;
	uint64_t vma_flags;
	uint64_t page_size;
	uint64_t offset;
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t name_size;
	uint32_t build_id_size;
	uint64_t name_address;
	uint64_t build_id_address;
};

enum {
	QUERY_WRITABLE = 2,
	QUERY_SHARED = 8,
	QUERY_OR_NEXT = 16,
};

int interpreter_next_shared(int maps_fd, uint64_t *address, char *name, uint32_t name_size)
{
	struct mapping_query query = {
		.size = sizeof(query),
		.flags = QUERY_WRITABLE | QUERY_SHARED | QUERY_OR_NEXT,
		.address = *address,
		.name_size = name_size,
		.name_address = (uint64_t)(uintptr_t)name,
	};
	name[0] = '\0';
	if (ioctl(maps_fd, _IOWR('f', 17, struct mapping_query), &query) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (query.name_size == 0)
		name[0] = '\0';
	*address = query.end;
	return 1;
}
