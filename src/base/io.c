/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"

enum { OPEN_TRIES = 1000 };

int io_write(int fd, const void *data, size_t len)
{
	const char *at = data;
	while (len > 0) {
		ssize_t n = write(fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_write_until(int fd, const char *text, size_t len, int interrupt_fd)
{
	while (len > 0) {
		struct pollfd fds[] = {
			{ .fd = fd, .events = POLLOUT },
			{ .fd = interrupt_fd, .events = POLLIN },
		};
		if (poll(fds, COUNT_OF(fds), -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents)
			return -EINTR;
		/* a pipe that polls writable takes this much without blocking */
		ssize_t n = write(fd, text, len < PIPE_BUF ? len : PIPE_BUF);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int io_write_at(int dir_fd, const char *path, const char *text)
{
	auto_fd int fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	size_t len = strlen(text);
	ssize_t n = write(fd, text, len);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

ssize_t io_read_at(int dir_fd, const char *path, char *text, size_t size)
{
	auto_fd int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	size_t len = 0;
	while (len < size - 1) {
		ssize_t n = read(fd, text + len, size - 1 - len);
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	return (ssize_t)len;
}

int io_open_in_root(int root_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;
	/* a step up is not taken while something, anywhere, is being renamed or mounted */
	errno = EAGAIN;
	for (int try = 0; try < OPEN_TRIES && fd < 0 && errno == EAGAIN; try++)
		fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	return fd;
}

bool io_has_room(int fd, size_t more)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd + more < limit.rlim_cur / 8;
}

int io_send(int sock, const void *data, size_t len, const int *fds, size_t fd_count)
{
	union {
		char space[CMSG_SPACE(sizeof(int) * IO_FDS_MAX)];
		struct cmsghdr align;
	} control;
	struct iovec part = { .iov_base = (void *)data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };
	if (fd_count > IO_FDS_MAX)
		return -EINVAL;
	if (fd_count > 0) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(head), fds, sizeof(int) * fd_count);
	}
	ssize_t n;
	do {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EMSGSIZE;
}

static size_t collect_fds(struct msghdr *msg, int *fds, size_t room, bool *ret_too_many)
{
	size_t count = 0;
	*ret_too_many = false;
	for (struct cmsghdr *head = CMSG_FIRSTHDR(msg); head; head = CMSG_NXTHDR(msg, head)) {
		if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
			continue;
		size_t here = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < here; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof(fd));
			if (count < room)
				fds[count++] = fd;
			else
				(void)close(fd);
			*ret_too_many |= i >= room;
		}
	}
	return count;
}

ssize_t io_recv(int sock, void *data, size_t size, int *fds, size_t *fd_count)
{
	union {
		char space[CMSG_SPACE(sizeof(int) * IO_FDS_MAX)];
		struct cmsghdr align;
	} control;
	struct iovec part = { .iov_base = data, .iov_len = size };
	struct msghdr msg = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	size_t room = fd_count ? *fd_count : 0;
	ssize_t n;
	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	bool is_cut = false;
	size_t count = collect_fds(&msg, fds, room, &is_cut);
	is_cut |= (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
	if (fd_count)
		*fd_count = count;
	if (is_cut) {
		for (size_t i = 0; i < count; i++)
			(void)close(fds[i]);
		if (fd_count)
			*fd_count = 0;
		return -EBADMSG;
	}
	return n;
}
