/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first look around of a guest that has its job. An interpreter could do it too, but whatever
 * it does makes copies of pages that it shares with its template, and that takes longer than the
 * work.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "interpreter/interpreter.h"
#include "interpreter/parts.h"

enum { CHANNEL_FD = 3, PATIENCE_MS = 10000, LINGER_MS = 2000 };

/* What the guest that we are must know again later. */
static struct {
	pid_t pid;
	int channel_fd;
	ino_t channel_inode;
} own = { .channel_fd = -1 };

/* Has the channel where no program looks for a descriptor too: 3 is to be the program's. */
static void place_channel(void)
{
	enum { HIGHEST = 1024 };
	struct stat st;
	long limit = sysconf(_SC_OPEN_MAX);
	own.channel_fd = -1;
	if (fstat(CHANNEL_FD, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	int fd = (int)(limit > 0 && limit < HIGHEST ? limit : HIGHEST) - 1;
	if (dup3(CHANNEL_FD, fd, O_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return;
	own.channel_fd = fd;
	own.channel_inode = st.st_ino;
}

static void open_source(struct arrival *arrival)
{
	struct stat st;
	arrival->source_fd = open(arrival->job.argv[0], O_RDONLY | O_CLOEXEC);
	if (arrival->source_fd >= 0 && fstat(arrival->source_fd, &st) == 0 && S_ISREG(st.st_mode))
		arrival->source_size = (size_t)st.st_size;
	else
		own_close(&arrival->source_fd);
}

struct dirent_head {
	uint64_t inode;
	int64_t offset;
	unsigned short size;
	unsigned char type;
	char name[];
};

/* Whether the working directory has no file but this one. */
static bool has_only(const char *file)
{
	_Alignas(struct dirent_head) char entries[512];
	auto_fd int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long size = fd < 0 ? -1 : syscall(SYS_getdents64, fd, entries, sizeof(entries));
	for (long at = 0; at < size;) {
		const struct dirent_head *entry = (const void *)&entries[at];
		if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0 &&
			strcmp(entry->name, file) != 0)
			return false;
		at += entry->size;
	}
	return size > 0 && syscall(SYS_getdents64, fd, entries, sizeof(entries)) == 0;
}

/* Whether there is nothing but the code's own file. Code comes with its job only where whoever
 * sends it put nothing else there, and the directory is as new as the cell. */
static bool is_alone(const struct job *job)
{
	return job->code || has_only(job->argv[0]);
}

/* Whatever was to be said was said before we began. */
static bool is_silent(int channel_fd)
{
	char first = 0;
	return recv(channel_fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

int interpreter_arrive(struct arrival *ret_arrival)
{
	struct arrival *arrival = ret_arrival;
	struct stat st;
	bool has_fds = false;
	*arrival = (struct arrival){ .source_fd = -1 };
	int r = guest_take_job(&arrival->job, &has_fds);
	if (r < 0)
		return r;
	if (has_fds)
		place_channel();
	own.pid = arrival->pid = getpid();
	arrival->channel_fd = own.channel_fd;
	arrival->channel_inode = own.channel_inode;
	if (r == 1)
		return 1;
	if (!arrival->job.argv[0])
		return -1;
	if (has_fds && own.channel_fd >= 0)
		(void)close(CHANNEL_FD);
	if (!arrival->job.code)
		open_source(arrival);
	arrival->is_alone = is_alone(&arrival->job);
	arrival->has_piped_input = fstat(STDIN_FILENO, &st) == 0 && S_ISFIFO(st.st_mode);
	arrival->is_told_more = arrival->channel_fd >= 0 && !is_silent(arrival->channel_fd);
	return 0;
}

bool interpreter_is_owner(void)
{
	return getpid() == own.pid;
}

bool interpreter_is_heard(void)
{
	struct stat st;
	return own.channel_fd >= 0 && interpreter_is_owner() && fstat(own.channel_fd, &st) == 0 &&
	       st.st_ino == own.channel_inode;
}

static bool say_done(int exit_code)
{
	char frame[64];
	int len = snprintf(
		frame + 4, sizeof(frame) - 4, "{\"event\":\"done\",\"exit_code\":%d}", exit_code);
	const uint32_t head = htonl((uint32_t)len);
	struct pollfd room = { .fd = own.channel_fd, .events = POLLOUT };
	memcpy(frame, &head, sizeof(head));
	len += (int)sizeof(head);
	if (!interpreter_is_heard())
		return false;
	for (int sent = 0; sent < len;) {
		ssize_t n = send(own.channel_fd, frame + sent, (size_t)(len - sent), MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (n < 0 && poll(&room, 1, PATIENCE_MS) == 0)
			return false;
		sent += n > 0 ? (int)n : 0;
	}
	return true;
}

void interpreter_say_done(int exit_code)
{
	struct pollfd end = { .fd = own.channel_fd, .events = POLLRDHUP };
	if (!say_done(exit_code))
		return;
	/* whoever heard it looks at us once more, and hangs up or ends the cell */
	while (poll(&end, 1, LINGER_MS) < 0 && errno == EINTR)
		;
}
