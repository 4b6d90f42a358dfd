/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/io.h"

static void open_pair(int ends[2])
{
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static int count_fds(void)
{
	int count = 0;
	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

TEST(io_recv_gets_the_message_and_its_descriptor)
{
	int ends[2], got[2] = { -1, -1 };
	size_t count = 2;
	char text[16] = "";
	struct stat sent, received;
	open_pair(ends);
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ASSERT_EQ(io_send(ends[0], "hello", 5, &file, 1), 0);
	ASSERT_EQ(io_recv(ends[1], text, sizeof(text), got, &count), 5);
	ASSERT_EQ(count, 1);
	ASSERT_STR(text, "hello");
	ASSERT_EQ(fstat(file, &sent), 0);
	ASSERT_EQ(fstat(got[0], &received), 0);
	ASSERT_EQ(sent.st_rdev, received.st_rdev);
	ASSERT(got[0] != file);
	ASSERT(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
}

TEST(io_send_carries_the_most_descriptors_and_refuses_more)
{
	int ends[2], fds[IO_FDS_MAX + 1], got[IO_FDS_MAX];
	size_t count = IO_FDS_MAX;
	char byte;
	open_pair(ends);
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		fds[i] = 0;
	ASSERT_EQ(io_send(ends[0], "x", 1, fds, IO_FDS_MAX + 1), -EINVAL);
	ASSERT_EQ(io_send(ends[0], "x", 1, fds, IO_FDS_MAX), 0);
	ASSERT_EQ(io_recv(ends[1], &byte, 1, got, &count), 1);
	ASSERT_EQ(count, IO_FDS_MAX);
}

TEST(io_recv_refuses_a_cut_message_and_closes_its_descriptors)
{
	int ends[2], got[2];
	int file = 0;
	size_t count = 2;
	char text[4];
	open_pair(ends);
	int before = count_fds();
	ASSERT_EQ(io_send(ends[0], "longer", 6, &file, 1), 0);
	ASSERT_EQ(io_recv(ends[1], text, sizeof(text), got, &count), -EBADMSG);
	ASSERT_EQ(count, 0);
	ASSERT_EQ(count_fds(), before);
}

TEST(io_recv_refuses_more_descriptors_than_asked_for)
{
	int ends[2], got[1];
	int files[2] = { 0, 0 };
	size_t count = 1;
	char text[4];
	open_pair(ends);
	int before = count_fds();
	ASSERT_EQ(io_send(ends[0], "x", 1, files, 2), 0);
	ASSERT_EQ(io_recv(ends[1], text, sizeof(text), got, &count), -EBADMSG);
	ASSERT_EQ(count, 0);
	ASSERT_EQ(count_fds(), before);
}

TEST(io_recv_without_room_keeps_no_descriptor)
{
	int ends[2];
	int file = 0;
	char text[4];
	open_pair(ends);
	int before = count_fds();
	ASSERT_EQ(io_send(ends[0], "x", 1, &file, 1), 0);
	(void)io_recv(ends[1], text, sizeof(text), NULL, NULL);
	ASSERT_EQ(count_fds(), before);
}

TEST(io_recv_returns_zero_when_the_peer_is_gone)
{
	int ends[2];
	size_t count = 0;
	char text[4];
	open_pair(ends);
	ASSERT_EQ(close(ends[0]), 0);
	ASSERT_EQ(io_recv(ends[1], text, sizeof(text), NULL, &count), 0);
}

TEST(io_send_to_a_gone_peer_is_an_error_not_a_signal)
{
	int ends[2];
	open_pair(ends);
	ASSERT_EQ(close(ends[1]), 0);
	ASSERT_EQ(io_send(ends[0], "x", 1, NULL, 0), -EPIPE);
}

TEST(io_write_writes_all_of_it)
{
	char text[16];
	char path[] = "/tmp/hotcell-test-XXXXXX";
	int fd = mkstemp(path);
	ASSERT(fd >= 0);
	(void)unlink(path);
	ASSERT_EQ(io_write(fd, "0123456789", 10), 0);
	ASSERT_EQ(pread(fd, text, sizeof(text), 0), 10);
	ASSERT_EQ(io_write(-1, "x", 1), -EBADF);
}

TEST(io_read_at_cuts_to_the_room_and_ends_with_nul)
{
	char dir[] = "/tmp/hotcell-test-XXXXXX";
	char text[4];
	ASSERT(mkdtemp(dir));
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(dir_fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_EQ(io_write(fd, "abcdef", 6), 0);
	ASSERT_EQ(io_read_at(dir_fd, "f", text, sizeof(text)), 3);
	ASSERT_STR(text, "abc");
	ASSERT_EQ(io_write_at(dir_fd, "f", "XY"), 0);
	ASSERT_EQ(io_read_at(dir_fd, "f", text, sizeof(text)), 3);
	ASSERT_STR(text, "XYc");
	ASSERT_EQ(io_read_at(dir_fd, "none", text, sizeof(text)), -ENOENT);
	ASSERT_EQ(io_write_at(dir_fd, "none", "x"), -ENOENT);
	ASSERT_EQ(symlinkat("f", dir_fd, "link"), 0);
	ASSERT_EQ(io_write_at(dir_fd, "link", "x"), -ELOOP);
	(void)unlinkat(dir_fd, "f", 0);
	(void)unlinkat(dir_fd, "link", 0);
	(void)rmdir(dir);
}

/* A link that goes up makes the kernel give up as soon as anything is renamed or mounted. */
TEST(io_open_in_root_succeeds_while_files_are_renamed)
{
	char dir[] = "/tmp/hotcell-test-XXXXXX";
	ASSERT(mkdtemp(dir) && chdir(dir) == 0);
	ASSERT_EQ(mkdir("a", 0755) | mkdir("b", 0755) | symlink("../b", "a/link"), 0);
	ASSERT(mkdir("x", 0755) == 0);
	auto_fd int root_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ASSERT(root_fd >= 0);
	pid_t pid = fork();
	for (int i = 0; pid == 0; i++)
		(void)rename(i % 2 ? "y" : "x", i % 2 ? "x" : "y");
	int failed = 0;
	for (int i = 0; i < 20000; i++) {
		auto_fd int fd = io_open_in_root(root_fd, "/a/link", O_PATH);
		failed += fd < 0;
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	(void)(rmdir("x") | rmdir("y") | unlink("a/link") | rmdir("a") | rmdir("b") | rmdir(dir));
	ASSERT_EQ(failed, 0);
}
