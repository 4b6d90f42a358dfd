/* SPDX-License-Identifier: Apache-2.0 */
/* What is said to a payload at its gate. */
#include "unit/test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/io.h"
#include "base/own.h"
#include "zygote/parts.h"
#include "zygote/zygote.h"

static struct raising raising;
static struct delivery delivery;
static int ours = -1;

static void set_up(void)
{
	int pair[2];
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ours = pair[0];
	raising.fds[CELL_FD_GATE] = pair[1];
}

static void say(enum gate_kind kind, size_t fd_count)
{
	const struct gate_message message = { .kind = kind };
	const int fds[GATE_FD_COUNT] = { STDIN_FILENO };
	ASSERT_EQ(io_send(ours, &message, sizeof(message), fds, fd_count), 0);
}

TEST(the_word_comes_with_its_descriptors)
{
	set_up();
	say(GATE_GO, GATE_FD_COUNT);
	ASSERT_EQ(payload_await_word(&raising, &delivery), 0);
	ASSERT_EQ(delivery.count, GATE_FD_COUNT);
}

TEST(who_is_roused_waits_for_the_word_all_the_same)
{
	set_up();
	say(GATE_ROUSE, 0);
	say(GATE_ROUSE, 0);
	say(GATE_WARM, 0);
	say(GATE_ROUSE, 0);
	say(GATE_GO, 2);
	ASSERT_EQ(payload_await_word(&raising, &delivery), 1);
	ASSERT_EQ(payload_await_word(&raising, &delivery), 0);
	ASSERT_EQ(delivery.count, 2);
}

TEST(who_is_roused_for_nothing_goes_back_to_sleep)
{
	int status = 0;
	set_up();
	say(GATE_ROUSE, 0);
	pid_t pid = fork();
	if (pid == 0) {
		own_close(&ours);
		_exit(payload_await_word(&raising, &delivery) == 0 ? 0 : 1);
	}
	(void)poll(NULL, 0, 50);
	ASSERT_EQ(waitpid(pid, &status, WNOHANG), 0);
	say(GATE_GO, 1);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
}

TEST(whatever_else_is_said_is_the_end)
{
	set_up();
	say(GATE_ROUSE, 1);
	ASSERT_EQ(payload_await_word(&raising, &delivery), -1);
	say(GATE_WARM, 1);
	ASSERT_EQ(payload_await_word(&raising, &delivery), -1);
	say(GATE_READY, 0);
	ASSERT_EQ(payload_await_word(&raising, &delivery), -1);
	ASSERT_EQ(io_send(ours, "x", 1, NULL, 0), 0);
	ASSERT_EQ(payload_await_word(&raising, &delivery), -1);
	say(GATE_ROUSE, 0);
	own_close(&ours); /* who roused it is gone */
	ASSERT_EQ(payload_await_word(&raising, &delivery), -1);
}
