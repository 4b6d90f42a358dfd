/* SPDX-License-Identifier: Apache-2.0 */
#include "loan/loan.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/place.h"

enum { LOAN_MAGIC = 0x68634c6f, BACKLOG = 1024, LOCK_MS = 5000 };

struct loan_head {
	uint32_t magic;
	uint32_t kind;
	uint32_t number;
	uint32_t len;
};

int loan_send(int sock, enum loan_kind kind, uint32_t number, const void *text, size_t len,
	const int *fds, size_t fd_count)
{
	char packet[sizeof(struct loan_head) + LOAN_TEXT_MAX];
	const struct loan_head head = { LOAN_MAGIC, (uint32_t)kind, number, (uint32_t)len };
	if (len > LOAN_TEXT_MAX)
		return -EMSGSIZE;
	memcpy(packet, &head, sizeof(head));
	if (len > 0)
		memcpy(packet + sizeof(head), text, len);
	return io_send(sock, packet, sizeof(head) + len, fds, fd_count);
}

static int check(const struct loan_head *head, size_t len)
{
	bool is_sound = len >= sizeof(*head) && head->magic == LOAN_MAGIC &&
			head->kind > LOAN_NONE && head->kind < LOAN_KIND_COUNT &&
			head->len <= LOAN_TEXT_MAX && head->len == len - sizeof(*head);
	return is_sound ? 0 : -EBADMSG;
}

int loan_parse(const void *packet, size_t len, struct loan_message *message)
{
	struct loan_head head = { 0 };
	memcpy(&head, packet, len < sizeof(head) ? len : sizeof(head));
	if (check(&head, len) < 0)
		return -EBADMSG;
	message->kind = (enum loan_kind)head.kind;
	message->number = head.number;
	message->len = head.len;
	message->text = xcalloc(head.len + 1, 1);
	memcpy(message->text, (const char *)packet + sizeof(head), head.len);
	return 0;
}

int loan_receive(int sock, struct loan_message *message)
{
	char packet[sizeof(struct loan_head) + LOAN_TEXT_MAX];
	*message = (struct loan_message){ .fd_count = COUNT_OF(message->fds) };
	ssize_t n = io_recv(sock, packet, sizeof(packet), message->fds, &message->fd_count);
	for (size_t i = n < 0 ? 0 : message->fd_count; i < COUNT_OF(message->fds); i++)
		message->fds[i] = -1;
	if (n < 0)
		message->fd_count = 0;
	int r = n > 0 ? loan_parse(packet, (size_t)n, message) : (int)n;
	if (n <= 0 || r < 0)
		loan_message_done(message); /* also what came without a byte */
	return n > 0 && r == 0 ? 1 : r;
}

void loan_message_done(struct loan_message *message)
{
	free(message->text);
	for (size_t i = 0; i < message->fd_count; i++)
		own_close(&message->fds[i]);
	*message = (struct loan_message){ 0 };
}

int loan_refusal(const struct loan_message *message, struct err *err)
{
	enum err_code code = message->number > ERR_NONE && message->number < ERR_CODE_COUNT
				     ? (enum err_code)message->number
				     : ERR_BROKEN;
	return err_set(err, code, "%.*s", (int)(sizeof(err->text) - 1),
		message->len > 0 ? message->text : "the daemon refused");
}

void loan_socket_path(char *path, size_t size)
{
	const char *given = getenv("HOTCELL_SOCKET");
	char dir[PLACE_MAX];
	if (given && given[0]) {
		(void)snprintf(path, size, "%s", given);
		return;
	}
	place_run_dir(dir, sizeof(dir));
	(void)snprintf(path, size, "%s" PLACE_SOCKET, dir);
}

void loan_keeper_path(const char *socket_path, char *path, size_t size)
{
	(void)snprintf(path, size, "%s.keeper", socket_path);
}

static int fill_address(const char *path, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	(void)snprintf(address->sun_path, sizeof(address->sun_path), "%s", path);
	return 0;
}

bool loan_is_trusted(int sock, uid_t *ret_uid, pid_t *ret_pid)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(peer);
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return false;
	*ret_uid = peer.uid;
	*ret_pid = peer.pid;
	return peer.uid == geteuid() || peer.uid == 0;
}

int loan_connect(const char *path)
{
	struct sockaddr_un address;
	uid_t uid = 0;
	pid_t pid = 0;
	int r = fill_address(path, &address);
	if (r < 0)
		return r;
	auto_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	if (!loan_is_trusted(fd, &uid, &pid))
		return -EPERM;
	return take_fd(&fd);
}

/* Two that start at once must not each take the other's new socket for a dead one. The lock is on
 * the directory, so that there is no file to leave behind. */
static int lock_directory_of(const char *path, int *ret_fd, struct err *err)
{
	auto_free char *copy = xstrdup(path);
	const char *dir = dirname(copy);
	auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "open '%s', the directory of the socket", dir);
	for (int64_t end_us = clock_us() + LOCK_MS * 1000; flock(fd, LOCK_EX | LOCK_NB) < 0;) {
		if (errno != EWOULDBLOCK || clock_us() > end_us)
			return err_sys(err, errno, "lock '%s', the directory of the socket", dir);
		(void)poll(NULL, 0, 1);
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Makes room at the path, when nobody listens there. */
static int clear_path(const char *path, struct err *err)
{
	struct stat st;
	int other = loan_connect(path);
	if (other >= 0) {
		(void)close(other);
		return err_set(err, ERR_INVALID, "somebody serves at '%s' already", path);
	}
	if (other == -EPERM)
		return err_set(err, ERR_INVALID, "'%s' is another user's", path);
	if (lstat(path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, ERR_INVALID, "'%s' is there and is no socket", path);
	if (other == -ECONNREFUSED)
		(void)unlink(path); /* whoever listened there is dead */
	return 0;
}

int loan_listen(const char *path, int *ret_fd, struct err *err)
{
	struct sockaddr_un address;
	auto_fd int lock = -1;
	if (fill_address(path, &address) < 0)
		return err_set(err, ERR_INVALID, "--socket: '%s' is too long for a socket", path);
	TRY(lock_directory_of(path, &lock, err));
	TRY(clear_path(path, err));
	auto_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(err, errno, "make a socket");
	mode_t before = umask(0177);
	int r = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	r = r < 0 ? -errno : 0;
	(void)umask(before);
	if (r < 0 || listen(fd, BACKLOG) < 0)
		return err_sys(err, r < 0 ? -r : errno, "listen at '%s'", path);
	*ret_fd = take_fd(&fd);
	return 0;
}
