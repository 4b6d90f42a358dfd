/* SPDX-License-Identifier: Apache-2.0 */
/* A child hands its calls of socket(), mount() and chroot() to a listener, as a cell does; we
 * answer them with the watcher and look at what the child was told. */
#include "unit/test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/io.h"
#include "keeper/watch.h"

static struct result result;

static int listen_to_myself(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_chroot, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = COUNT_OF(code), .filter = code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(
		SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* Runs `calls` in a child and watches it to its end; returns the child's exit status. */
static int watch(int (*calls)(void))
{
	int ends[2], listener_fd = -1, status;
	size_t count = 1;
	char byte = 0;
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int fd = listen_to_myself();
		if (fd < 0 || io_send(ends[1], "x", 1, &fd, 1) < 0)
			_exit(TEST_SKIPPED);
		(void)close(fd);
		_exit(calls());
	}
	(void)close(ends[1]);
	if (io_recv(ends[0], &byte, 1, &listener_fd, &count) != 1) {
		(void)waitpid(pid, NULL, 0);
		SKIP("the kernel has no listeners for system calls");
	}
	struct pollfd waiting = { .fd = listener_fd, .events = POLLIN };
	for (int n = 0; n >= 0;) {
		ASSERT(poll(&waiting, 1, 10000) == 1);
		n = watch_answer(listener_fd, &result);
		ASSERT(n <= LIMIT_DENIED_CALLS);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT(WIFEXITED(status));
	(void)close(listener_fd);
	(void)close(ends[0]);
	return WEXITSTATUS(status);
}

static void check_denial(size_t i, const char *layer, const char *operation, const char *target,
	const char *option, unsigned int count)
{
	const struct denial *denial = &result.denials[i];
	ASSERT(i < result.denial_count);
	ASSERT_STR(denial->layer, layer);
	ASSERT_STR(denial->operation, operation);
	if (target)
		ASSERT_STR(denial->target, target);
	ASSERT_STR(denial->option, option);
	ASSERT_STR(denial->evidence, "kernel");
	ASSERT_EQ(denial->count, count);
}

static bool is_refused(int r, int sys)
{
	return r == -1 && errno == sys;
}

static int call_sockets(void)
{
	if (!is_refused(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), ENETUNREACH))
		return 1;
	if (!is_refused(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), ENETUNREACH))
		return 2;
	if (!is_refused(socket(AF_INET6, SOCK_DGRAM, 0), ENETUNREACH))
		return 3;
	if (socket(AF_PACKET, SOCK_RAW, 0) != -1 || socket(77, 9, 0) != -1)
		return 4;
	return 0;
}

TEST(sockets_are_refused_and_described)
{
	result_init(&result);
	ASSERT_EQ(watch(call_sockets), 0);
	ASSERT_EQ(result.denial_count, 4);
	check_denial(0, "network", "socket", "AF_INET stream", "--net loopback", 2);
	check_denial(1, "network", "socket", "AF_INET6 datagram", "--net loopback", 1);
	check_denial(2, "network", "socket", "AF_PACKET raw", "", 1);
	check_denial(3, "network", "socket", "family 77 ", "", 1);
	result_done(&result);
}

static int call_mounts(void)
{
	if (!is_refused(mount("none", "/", "tmpfs", 0, NULL), EPERM))
		return 1;
	return is_refused(chroot("/"), EPERM) ? 0 : 2;
}

TEST(calls_are_refused_by_name_with_their_note)
{
	result_init(&result);
	ASSERT_EQ(watch(call_mounts), 0);
	ASSERT_EQ(result.denial_count, 2);
	check_denial(0, "seccomp", "mount", "mounts file systems", "", 1);
	check_denial(1, "seccomp", "chroot", "changes the root directory", "", 1);
	result_done(&result);
}

static int call_nothing(void)
{
	return getppid() > 0 ? 0 : 1;
}

TEST(a_program_that_behaves_is_not_heard_of)
{
	result_init(&result);
	ASSERT_EQ(watch(call_nothing), 0);
	ASSERT_EQ(result.denial_count, 0);
	result_done(&result);
}

static int call_often(void)
{
	for (int i = 0; i < 3 * LIMIT_DENIED_CALLS; i++)
		if (!is_refused(chroot("/"), EPERM))
			return 1;
	return 0;
}

TEST(equal_calls_are_one_denial_with_a_count)
{
	result_init(&result);
	ASSERT_EQ(watch(call_often), 0);
	ASSERT_EQ(result.denial_count, 1);
	check_denial(0, "seccomp", "chroot", NULL, "", 3 * LIMIT_DENIED_CALLS);
	result_done(&result);
}
