/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "loan/loan.h"

static char dir[] = "/tmp/hotcell-unit-XXXXXX";
static char path[sizeof(dir) + 16];

static void make_path(void)
{
	ASSERT(mkdtemp(dir) != NULL);
	(void)snprintf(path, sizeof(path), "%s/s.sock", dir);
}

static void remove_path(void)
{
	(void)unlink(path);
	ASSERT_EQ(rmdir(dir), 0); /* nothing else is in it */
}

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

TEST(a_message_arrives_as_it_was_sent)
{
	int ends[2];
	struct loan_message message;
	open_pair(ends);
	ASSERT_EQ(loan_send(ends[0], LOAN_ASK, 7, "policy", 6, &ends[0], 1), 0);
	ASSERT_EQ(loan_receive(ends[1], &message), 1);
	ASSERT_EQ(message.kind, LOAN_ASK);
	ASSERT_EQ(message.number, 7);
	ASSERT_EQ(message.len, 6);
	ASSERT_STR(message.text, "policy");
	ASSERT_EQ(message.fd_count, 1);
	ASSERT(fcntl(message.fds[0], F_GETFD) & FD_CLOEXEC);
	int fd = message.fds[0];
	loan_message_done(&message);
	ASSERT_EQ(fcntl(fd, F_GETFD), -1);
}

TEST(the_longest_text_arrives_and_a_longer_one_is_not_sent)
{
	int ends[2];
	struct loan_message message;
	auto_free char *text = xcalloc(LOAN_TEXT_MAX + 1, 1);
	memset(text, 'x', LOAN_TEXT_MAX + 1);
	open_pair(ends);
	ASSERT_EQ(loan_send(ends[0], LOAN_ASK, 0, text, LOAN_TEXT_MAX + 1, NULL, 0), -EMSGSIZE);
	ASSERT_EQ(loan_send(ends[0], LOAN_ASK, 0, text, LOAN_TEXT_MAX, NULL, 0), 0);
	ASSERT_EQ(loan_receive(ends[1], &message), 1);
	ASSERT_EQ(message.len, LOAN_TEXT_MAX);
	loan_message_done(&message);
}

TEST(a_peer_who_is_gone_and_one_who_is_silent_differ)
{
	int ends[2];
	struct loan_message message;
	open_pair(ends);
	ASSERT_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	ASSERT_EQ(loan_receive(ends[1], &message), -EAGAIN);
	(void)close(ends[0]);
	ASSERT_EQ(loan_receive(ends[1], &message), 0);
}

TEST(a_packet_that_is_no_message_is_refused_and_its_descriptors_are_closed)
{
	int ends[2];
	struct loan_message message;
	open_pair(ends);
	int before = count_fds();
	ASSERT_EQ(io_send(ends[0], "nonsense", 8, &ends[0], 1), 0);
	ASSERT_EQ(loan_receive(ends[1], &message), -EBADMSG);
	ASSERT_EQ(io_send(ends[0], "", 0, &ends[0], 1), 0);
	ASSERT_EQ(loan_receive(ends[1], &message), 0);
	ASSERT_EQ(count_fds(), before);
}

TEST(listening_makes_a_socket_of_this_user_alone_and_connecting_finds_it)
{
	struct err err = { 0 };
	struct stat st;
	uid_t uid = 0;
	pid_t pid = 0;
	int listener = -1;
	make_path();
	ASSERT_EQ(loan_connect(path), -ENOENT);
	ASSERT_OK(loan_listen(path, &listener, &err));
	ASSERT_EQ(stat(path, &st), 0);
	ASSERT_EQ(st.st_mode & 0777, 0600);
	int fd = loan_connect(path);
	ASSERT(fd >= 0);
	ASSERT(loan_is_trusted(fd, &uid, &pid));
	ASSERT_EQ(uid, geteuid());
	ASSERT_EQ(pid, getpid());
	ASSERT_FAIL(loan_listen(path, &listener, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "already");
	remove_path();
}

TEST(a_dead_socket_is_replaced_and_a_file_is_not)
{
	struct err err = { 0 };
	int listener = -1;
	make_path();
	ASSERT_OK(loan_listen(path, &listener, &err));
	(void)close(listener);
	ASSERT_EQ(loan_connect(path), -ECONNREFUSED);
	ASSERT_OK(loan_listen(path, &listener, &err));
	(void)unlink(path);
	(void)close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	ASSERT_FAIL(loan_listen(path, &listener, &err), ERR_INVALID);
	ASSERT_HAS(err.text, "no socket");
	ASSERT_EQ(access(path, F_OK), 0);
	remove_path();
}

TEST(a_path_too_long_for_a_socket_is_refused)
{
	struct err err = { 0 };
	char name[200];
	int listener = -1;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ASSERT_EQ(loan_connect(name), -ENAMETOOLONG);
	ASSERT_FAIL(loan_listen(name, &listener, &err), ERR_INVALID);
}

/* Everybody finds the socket dead; whoever comes second must find the first one alive. */
TEST(of_many_who_listen_at_once_one_does)
{
	enum { PROCESSES = 8, ROUNDS = 40 };
	struct err err = { 0 };
	make_path();
	for (int round = 0; round < ROUNDS; round++) {
		int start[2], verdicts[2], end[2];
		int winners = 0;
		pid_t pids[PROCESSES];
		ASSERT(pipe(start) == 0 && pipe(verdicts) == 0 && pipe(end) == 0);
		int dead = -1;
		ASSERT_OK(loan_listen(path, &dead, &err));
		(void)close(dead);
		for (int i = 0; i < PROCESSES; i++) {
			pids[i] = fork();
			if (pids[i] != 0)
				continue;
			char byte;
			int listener = -1;
			(void)close(start[1]);
			(void)close(end[1]);
			(void)read(start[0], &byte, 1);
			byte = loan_listen(path, &listener, &err) == 0 ? 'y' : 'n';
			(void)write(verdicts[1], &byte, 1);
			(void)read(end[0], &byte, 1);
			_exit(0);
		}
		(void)close(start[1]);
		for (int i = 0; i < PROCESSES; i++) {
			char byte = 0;
			ASSERT_EQ(read(verdicts[0], &byte, 1), 1);
			winners += byte == 'y';
		}
		ASSERT_EQ(winners, 1);
		int fd = loan_connect(path);
		ASSERT(fd >= 0);
		(void)close(fd);
		(void)close(end[1]);
		for (int i = 0; i < PROCESSES; i++)
			ASSERT_EQ(waitpid(pids[i], NULL, 0), pids[i]);
		(void)close(start[0]);
		(void)close(verdicts[0]);
		(void)close(verdicts[1]);
		(void)close(end[0]);
	}
	remove_path();
}

TEST(the_socket_is_where_the_environment_says_and_the_keepers_beside_it)
{
	char found[256], keeper[300];
	ASSERT_EQ(setenv("HOTCELL_SOCKET", "/x/y.sock", 1), 0);
	loan_socket_path(found, sizeof(found));
	ASSERT_STR(found, "/x/y.sock");
	loan_keeper_path(found, keeper, sizeof(keeper));
	ASSERT_STR(keeper, "/x/y.sock.keeper");
	ASSERT_EQ(setenv("HOTCELL_SOCKET", "", 1), 0);
	loan_socket_path(found, sizeof(found));
	ASSERT_HAS(found, "/hotcelld.sock");
}
