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
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
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
	bool is_branch;
	unsigned long number;
};

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
	const char *fork = strstr(text, "\"fork\"");
	const char *branch = strstr(text, "\"branch\"");
	call->is_branch = branch && strstr(branch, "true");
	if (fork) {
		char *end = NULL;
		fork += strcspn(fork, "0123456789");
		call->number = strtoul(fork, &end, 10);
		call->is_fork = end != fork;
	}
	return true;
}

static int take_line(const struct copy_line *line, int fd, unsigned long number)
{
	if (dup3(fd, line->place, O_CLOEXEC) < 0 || close(fd) < 0)
		return -1;
	return say(line->place, "forked", number, line->notes);
}

/* A copy that waits makes another. Nothing has changed in it, so there is nothing to look for, and
 * the two of them share all they have. Returns in both. */
static void copy_again(
	struct copy_line *line, const struct thread_note *note, const struct call *call)
{
	char packet[WORD_MAX];
	auto_fd int fd = -1;
	size_t fd_count = 1;
	ssize_t n = io_recv(line->place, packet, sizeof(packet), &fd, &fd_count);
	if (n <= 0 || fd_count != 1)
		return;
	pid_t pid = clone_sibling(note->tid_at);
	if (pid == 0) {
		thread_note_restore(note);
		if (take_line(line, take_fd(&fd), call->number) < 0)
			_exit(1);
		line->is_branch = call->is_branch;
	} else if (pid < 0) {
		(void)say(line->place, "refused", call->number, ",\"why\":[\"no other process\"]");
	}
}

/* A copy waits here, and not in the interpreter: until it has a turn it has touched nothing and
 * shares all its memory. One that nobody will speak to any more ends. */
static void await_turn(struct copy_line *line, const struct thread_note *note)
{
	struct call call;
	for (;;) {
		if (!look(line->place, &call))
			_exit(0);
		/* a branch that has not drawn its own numbers yet must do so before it is copied */
		if (!call.is_fork || line->is_branch)
			return;
		copy_again(line, note, &call);
	}
}

pid_t interpreter_copy(struct copy_line *line, const struct fork_hooks *hooks, struct err *err)
{
	struct thread_note note;
	TRY(thread_note_take(&note, err));
	hooks->before();
	pid_t pid = clone_sibling(note.tid_at);
	int saved_errno = errno;
	if (pid == 0) {
		thread_note_restore(&note);
		if (take_line(line, line->fd, line->number) < 0)
			_exit(1);
		await_turn(line, &note);
		hooks->after_in_child();
		return 0;
	}
	hooks->after_in_parent();
	return pid < 0 ? err_sys(err, saved_errno, "copy the process") : pid;
}

bool interpreter_had_children(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_CHILDREN, &usage) < 0 || usage.ru_minflt > 0;
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
