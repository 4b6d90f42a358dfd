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
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* The copy waits here, and not in the interpreter: until somebody speaks to it, it has touched
 * nothing and shares all its memory. One that nobody will speak to any more ends. */
static void await_call(const struct copy_line *line)
{
	struct pollfd called = { .fd = line->place, .events = POLLIN };
	if (dup3(line->fd, line->place, O_CLOEXEC) < 0 || close(line->fd) < 0 ||
		send(line->place, line->word, line->word_len, MSG_NOSIGNAL) < 0)
		_exit(1);
	while (poll(&called, 1, -1) < 0 && errno == EINTR)
		;
	if (!(called.revents & POLLIN))
		_exit(0);
}

pid_t interpreter_copy(
	const struct copy_line *line, const struct fork_hooks *hooks, struct err *err)
{
	struct thread_note note;
	TRY(thread_note_take(&note, err));
	hooks->before();
	pid_t pid = clone_sibling(note.tid_at);
	int saved_errno = errno;
	if (pid == 0) {
		thread_note_restore(&note);
		await_call(line);
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
