/* SPDX-License-Identifier: Apache-2.0 */
/* What is said to a payload at its gate. */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/io.h"
#include "base/own.h"
#include "zygote/parts.h"
#include "zygote/zygote.h"

enum { CPU = 7 };

static struct raising raising;
static struct delivery delivery;
static struct buf job;
static int ours = -1;

/* The payload of a test has a job in "/" of this many bytes at least. */
static void write_job(size_t least)
{
	struct strings argv = { 0 };
	struct strings env = { 0 };
	auto_free char *word = xcalloc(1, least + 1);
	memset(word, 'x', least);
	strings_add(&argv, word);
	buf_init(&job, LIMIT_JOB_BYTES);
	ASSERT_EQ(job_write(&job, "/", &argv, &env), 0);
	strings_done(&argv);
}

static void clean_up(void)
{
	buf_done(&job);
	free(delivery.job);
}

static void make_gate(void)
{
	int pair[2];
	own_close(&ours);
	own_close(&raising.fds[CELL_FD_GATE]);
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	ours = pair[0];
	raising.fds[CELL_FD_GATE] = pair[1];
}

static void set_up(size_t least)
{
	ours = raising.fds[CELL_FD_GATE] = -1;
	make_gate();
	write_job(least);
	ASSERT_EQ(atexit(clean_up), 0);
}

static void say(enum gate_kind kind, size_t fd_count)
{
	const struct gate_message message = { .kind = kind, .cpu = CPU };
	const int fds[GATE_FD_COUNT + 1] = { STDIN_FILENO };
	ASSERT_EQ(io_send(ours, &message, sizeof(message), fds, fd_count), 0);
}

static void send_job(uint32_t has, size_t fd_count)
{
	const int fds[GATE_FD_COUNT] = { STDIN_FILENO };
	ASSERT_EQ(job_send(ours, &job, has, fds, fd_count), 0);
}

static void go(size_t fd_count)
{
	send_job(0, fd_count);
}

static int hear(void)
{
	free(delivery.job);
	return payload_await_word(&raising, &delivery);
}

TEST(the_word_comes_with_its_job_and_descriptors)
{
	set_up(1);
	go(GATE_FD_COUNT);
	go(GATE_FD_CHANNEL);
	go(0);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(hear(), GATE_GO);
		ASSERT_EQ(delivery.count, i == 2 ? 0 : GATE_FD_COUNT - i);
		ASSERT_EQ(delivery.job_fd, -1);
		ASSERT_EQ(delivery.job_size, job.len);
		ASSERT_EQ(memcmp(delivery.job, job.data, job.len), 0);
	}
}

TEST(a_job_too_long_for_the_word_comes_in_a_file_that_nobody_changes)
{
	set_up(JOB_SHORT);
	go(GATE_FD_CHANNEL);
	go(0);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(hear(), GATE_GO);
		ASSERT_EQ(delivery.count, i == 0 ? GATE_FD_CHANNEL : 0);
		ASSERT(!delivery.job && delivery.job_fd >= 0);
		ASSERT_EQ(pwrite(delivery.job_fd, "x", 1, 0), -1);
		ASSERT_EQ(ftruncate(delivery.job_fd, 0), -1);
		ASSERT_EQ(lseek(delivery.job_fd, 0, SEEK_END), job.len);
	}
}

TEST(the_longest_job_that_fits_needs_no_file)
{
	set_up(1);
	size_t rest = JOB_SHORT - job.len;
	buf_done(&job);
	write_job(1 + rest);
	ASSERT_EQ(job.len, JOB_SHORT);
	go(0);
	ASSERT_EQ(hear(), GATE_GO);
	ASSERT(delivery.job && delivery.job_fd < 0);
	buf_done(&job);
	write_job(2 + rest);
	go(0);
	ASSERT_EQ(hear(), GATE_GO);
	ASSERT(!delivery.job && delivery.job_fd >= 0);
}

TEST(descriptors_may_come_ahead_of_the_job)
{
	set_up(1);
	say(GATE_HAND, GATE_FD_COUNT);
	say(GATE_HAND, GATE_FD_CHANNEL);
	go(0);
	ASSERT_EQ(hear(), GATE_HAND);
	ASSERT_EQ(delivery.count, GATE_FD_COUNT);
	ASSERT_EQ(delivery.cpu, CPU);
	ASSERT_EQ(hear(), GATE_HAND);
	ASSERT_EQ(delivery.count, GATE_FD_CHANNEL);
	ASSERT_EQ(hear(), GATE_GO);
}

TEST(who_is_roused_waits_for_the_word_all_the_same)
{
	set_up(1);
	say(GATE_ROUSE, 0);
	say(GATE_ROUSE, 0);
	say(GATE_WARM, 0);
	say(GATE_ROUSE, 0);
	go(0);
	ASSERT_EQ(hear(), GATE_WARM);
	ASSERT_EQ(hear(), GATE_GO);
}

TEST(who_is_roused_for_nothing_goes_back_to_sleep)
{
	int status = 0;
	set_up(1);
	say(GATE_ROUSE, 0);
	pid_t pid = fork();
	if (pid == 0) {
		own_close(&ours);
		_exit(hear() == GATE_GO ? 0 : 1);
	}
	(void)poll(NULL, 0, 50);
	ASSERT_EQ(waitpid(pid, &status, WNOHANG), 0);
	go(0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
}

/* Nothing is heard after it. */
static void check_end(void)
{
	ASSERT_EQ(hear(), -1);
	make_gate();
}

TEST(whatever_else_is_said_is_the_end)
{
	set_up(1);
	for (size_t count = 0; count <= GATE_FD_COUNT + 1; count++) {
		if (count > 0) {
			say(GATE_ROUSE, count);
			check_end();
			say(GATE_WARM, count);
			check_end();
		}
		if (count != GATE_FD_CHANNEL && count != GATE_FD_COUNT) {
			say(GATE_HAND, count);
			check_end();
		}
		say(GATE_READY, count);
		check_end();
	}
	for (size_t count = 1; count < GATE_FD_CHANNEL; count++) {
		go(count);
		check_end();
	}
	say(GATE_GO, 0); /* without a job */
	check_end();
	send_job(GATE_IS_CHANNEL, GATE_FD_COUNT); /* with two channels */
	check_end();
	send_job(GATE_IS_CHANNEL, 0); /* with nothing but a channel */
	check_end();
	struct gate_word word = { .message = { .kind = GATE_WARM, .size = JOB_SHORT } };
	ASSERT_EQ(io_send(ours, &word, sizeof(word), NULL, 0), 0); /* with a job */
	check_end();
	ASSERT_EQ(io_send(ours, "x", 1, NULL, 0), 0);
	check_end();
	word.message = (struct gate_message){ .kind = GATE_GO, .size = 5 };
	ASSERT_EQ(io_send(ours, &word, sizeof(word.message) + 4, NULL, 0), 0); /* cut off */
	check_end();
	char long_word[sizeof(word) + 1] = { 0 };
	word.message.size = JOB_SHORT + 1;
	memcpy(long_word, &word, sizeof(word));
	ASSERT_EQ(io_send(ours, long_word, sizeof(long_word), NULL, 0), 0);
	check_end();
	say(GATE_ROUSE, 0);
	own_close(&ours); /* who roused it is gone */
	ASSERT_EQ(hear(), -1);
}

/* The two are the same socket, also where it must not block for the one. */
TEST(a_gate_may_be_the_channel_and_what_follows_the_job_is_left_in_it)
{
	char frame[8] = "";
	int gate_fd = -1;
	set_up(1);
	gate_fd = raising.fds[CELL_FD_GATE];
	say(GATE_WARM, 0);
	send_job(GATE_IS_CHANNEL, GATE_FD_CHANNEL);
	ASSERT_EQ(io_send(ours, "frame", 5, NULL, 0), 0);
	ASSERT_EQ(fcntl(gate_fd, F_SETFL, O_RDWR | O_NONBLOCK), 0);
	ASSERT_EQ(hear(), GATE_WARM);
	ASSERT_EQ(hear(), GATE_GO);
	ASSERT(delivery.has_channel);
	ASSERT_EQ(delivery.count, GATE_FD_CHANNEL);
	ASSERT_EQ(delivery_count(&delivery), GATE_FD_COUNT);
	ASSERT_EQ(memcmp(delivery.job, job.data, job.len), 0);
	ASSERT_EQ(read(gate_fd, frame, sizeof(frame)), 5);
	ASSERT_STR(frame, "frame");
}

TEST(a_gate_that_does_not_block_is_waited_at)
{
	int status = 0;
	set_up(1);
	ASSERT_EQ(fcntl(raising.fds[CELL_FD_GATE], F_SETFL, O_RDWR | O_NONBLOCK), 0);
	pid_t pid = fork();
	if (pid == 0)
		_exit(hear() == GATE_GO ? 0 : 1);
	(void)poll(NULL, 0, 50);
	ASSERT_EQ(waitpid(pid, &status, WNOHANG), 0);
	go(0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
}

TEST(a_job_that_makes_no_sense_is_not_taken)
{
	struct job taken;
	set_up(1);
	raising.has_fds = true;
	job.data[0] ^= 1;
	go(0);
	ASSERT_EQ(hear(), GATE_GO);
	ASSERT_EQ(payload_take_job(&raising, &delivery, &taken), -EBADMSG);
	raising.has_fds = false;
	job.data[0] ^= 1;
	go(0);
	ASSERT_EQ(hear(), GATE_GO);
	ASSERT_EQ(payload_take_job(&raising, &delivery, &taken), -EBADMSG); /* no descriptors */
	raising.has_fds = true;
	ASSERT_EQ(payload_take_job(&raising, &delivery, &taken), 0);
	ASSERT_STR(taken.argv[0], "x");
	job_done(&taken);
}

TEST(a_file_that_is_too_long_is_no_job)
{
	struct job taken;
	set_up(1);
	auto_fd int fd = memfd_create("job", MFD_CLOEXEC);
	const struct gate_message message = { .kind = GATE_GO };
	ASSERT_EQ(ftruncate(fd, LIMIT_JOB_BYTES + 1), 0);
	ASSERT_EQ(io_send(ours, &message, sizeof(message), &fd, 1), 0);
	raising.has_fds = true;
	ASSERT_EQ(hear(), GATE_GO);
	ASSERT_EQ(payload_take_job(&raising, &delivery, &taken), -EBADMSG);
}
