/* SPDX-License-Identifier: Apache-2.0 */
/* Behaviours 61-71: floods, closed and shared standard streams, terminals that are not there. */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "hostile.h"

static char block[1 << 20];

/* flood FDS GIB STEP: writes so many GiB round robin to the descriptors ("1", "2" or "12"). */
static int do_flood(int argc, char **argv)
{
	const char *fds = argc > 1 ? argv[1] : "1";
	long long left = (long long)number_arg(argc, argv, 2, 10) << 30;
	size_t step = (size_t)number_arg(argc, argv, 3, sizeof(block));
	memset(block, 'y', sizeof(block));
	for (size_t turn = 0; left > 0; turn++) {
		ssize_t got = write(fds[turn % strlen(fds)] - '0', block, step);
		if (got < 0)
			return 3;
		left -= got;
	}
	return 0;
}

static int do_closed(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (int fd = 0; fd < 3; fd++)
		(void)close(fd);
	wait_forever();
	return 0;
}

static int do_held_open(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("last words\n");
	(void)fflush(stdout);
	if (fork() == 0) {
		(void)setsid();
		wait_forever();
	}
	return 0;
}

/* Gives its streams to a process it does not tell anything else, and leaves. */
static int do_pass_on(int argc, char **argv)
{
	int ends[2];
	(void)argc;
	(void)argv;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return 1;
	if (fork() == 0) {
		char letter = 0;
		char room[CMSG_SPACE(3 * sizeof(int))];
		struct iovec part = { .iov_base = &letter, .iov_len = 1 };
		struct msghdr message = { .msg_iov = &part,
			.msg_iovlen = 1,
			.msg_control = room,
			.msg_controllen = sizeof(room) };
		(void)setsid();
		for (int fd = 0; fd < 3; fd++)
			(void)close(fd);
		(void)recvmsg(ends[0], &message, 0);
		for (;;) {
			(void)!write(1, "from the heir\n", 14);
			nap_ms(10);
		}
	}
	char room[CMSG_SPACE(3 * sizeof(int))] = { 0 };
	struct iovec part = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = room,
		.msg_controllen = sizeof(room) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(3 * sizeof(int));
	memcpy(CMSG_DATA(header), (int[]){ 0, 1, 2 }, 3 * sizeof(int));
	TELL("pass", sendmsg(ends[1], &message, 0));
	nap_ms(50);
	return 0;
}

static int do_ignore_stdin(int argc, char **argv)
{
	nap_ms(number_arg(argc, argv, 1, 300));
	printf("did not read\n");
	return 0;
}

static int do_bytes(int argc, char **argv)
{
	static const char nasty[] = "\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\0\xff\xfe\xc3(\n";
	(void)argc;
	(void)argv;
	for (int i = 0; i < 256; i++)
		(void)putchar(i);
	(void)fwrite(nasty, 1, sizeof(nasty) - 1, stdout);
	(void)fflush(stdout);
	(void)!write(2, nasty, sizeof(nasty) - 1);
	return 0;
}

static int do_fcntl(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (int fd = 0; fd < 3; fd++) {
		int flags = fcntl(fd, F_GETFL);
		TELL("setown", fcntl(fd, F_SETOWN, getpid()));
		(void)fcntl(fd, F_SETSIG, SIGURG);
		(void)fcntl(fd, F_SETPIPE_SZ, 4096);
		TELL("setfl", fcntl(fd, F_SETFL, flags | O_NONBLOCK | O_ASYNC));
	}
	TELL("setown-init", fcntl(1, F_SETOWN, 1));
	for (int i = 0; i < 1000; i++) {
		char line[32];
		int len = snprintf(line, sizeof(line), "line %d\n", i);
		while (write(1, line, (size_t)len) < 0 && errno == EAGAIN)
			nap_ms(1);
	}
	return 0;
}

static int do_seek(int argc, char **argv)
{
	struct stat st;
	(void)argc;
	(void)argv;
	TELL("seek", lseek(1, 0, SEEK_SET));
	TELL("truncate", ftruncate(1, 0));
	TELL("pwrite", pwrite(1, "x", 1, 0));
	TELL("regular", fstat(1, &st) == 0 && S_ISREG(st.st_mode) ? 0 : -1);
	/* Opening it anew by its path gives a fresh description, but of the same pipe. */
	TELL("read-own-stdout", open("/proc/self/fd/1", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	return 0;
}

static int do_terminal(int argc, char **argv)
{
	char letter = 'x';
	(void)argc;
	(void)argv;
	for (int fd = 0; fd < 3; fd++) {
		char what[32];
		(void)snprintf(what, sizeof(what), "isatty-%d", fd);
		TELL(what, isatty(fd) == 1 ? 0 : -1);
		(void)snprintf(what, sizeof(what), "sti-%d", fd);
		TELL(what, ioctl(fd, TIOCSTI, &letter));
		(void)snprintf(what, sizeof(what), "linux-%d", fd);
		TELL(what, ioctl(fd, TIOCLINUX, &letter));
		(void)snprintf(what, sizeof(what), "sctty-%d", fd);
		TELL(what, ioctl(fd, TIOCSCTTY, 0));
	}
	TELL("dev-tty", open("/dev/tty", O_RDWR | O_CLOEXEC));
	TELL("dev-console", open("/dev/console", O_RDWR | O_CLOEXEC));
	TELL("dev-tty1", open("/dev/tty1", O_RDWR | O_CLOEXEC));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct act acts[] = {
		{ "bytes", do_bytes },
		{ "closed", do_closed },
		{ "fcntl", do_fcntl },
		{ "flood", do_flood },
		{ "held-open", do_held_open },
		{ "ignore-stdin", do_ignore_stdin },
		{ "pass-on", do_pass_on },
		{ "seek", do_seek },
		{ "terminal", do_terminal },
	};
	return play(acts, COUNT_OF(acts), argc, argv);
}
