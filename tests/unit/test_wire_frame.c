/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <sys/socket.h>

#include "wire/frame.h"

static const char two[] = "\0\0\0\2hi\0\0\0\1x";

TEST(frames_come_whole_from_pieces_of_any_size)
{
	for (size_t piece = 1; piece < sizeof(two); piece++) {
		struct frames frames;
		char seen[16] = "";
		const char *data = NULL;
		size_t len = 0;
		frames_init(&frames, 16);
		for (size_t at = 0; at < sizeof(two) - 1; at += piece) {
			size_t rest = sizeof(two) - 1 - at;
			ASSERT_EQ(frames_push(&frames, two + at, rest < piece ? rest : piece), 0);
			while (frames_next(&frames, &data, &len) == 1) {
				(void)strncat(seen, data, len);
				(void)strcat(seen, ".");
			}
		}
		ASSERT_STR(seen, "hi.x.");
		frames_done(&frames);
	}
}

TEST(frames_refuse_a_length_of_none_or_too_much)
{
	static const char *const bad[] = { "\0\0\0\0", "\0\0\0\21", "\377\377\377\377" };
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct frames frames;
		const char *data = NULL;
		size_t len = 0;
		frames_init(&frames, 16);
		ASSERT_EQ(frames_push(&frames, bad[i], 4), 0);
		ASSERT_EQ(frames_next(&frames, &data, &len), -EBADMSG);
		frames_done(&frames);
	}
}

TEST(frames_hold_no_more_than_one_frame)
{
	struct frames frames;
	const char *data = NULL;
	size_t len = 0;
	frames_init(&frames, 2);
	ASSERT_EQ(frames_room(&frames), 6);
	ASSERT_EQ(frames_push(&frames, "\0\0\0\2hi", 6), 0);
	ASSERT_EQ(frames_room(&frames), 0);
	ASSERT_EQ(frames_push(&frames, "x", 1), -ENOSPC);
	ASSERT_EQ(frames_next(&frames, &data, &len), 1);
	ASSERT_EQ(frames_room(&frames), 6);
	ASSERT_EQ(frames_push(&frames, "x", 1), 0);
	frames_done(&frames);
}

/* Reads frames until the other end closes, and counts their bytes; all must be 'x'. */
static size_t read_all(int fd, size_t max_len, size_t *ret_frames)
{
	struct frames frames;
	char chunk[4096];
	size_t total = 0;
	ssize_t n = 0;
	frames_init(&frames, max_len);
	*ret_frames = 0;
	do {
		const char *data = NULL;
		size_t len = 0;
		size_t room = frames_room(&frames);
		n = read(fd, chunk, room < sizeof(chunk) ? room : sizeof(chunk));
		ASSERT(n >= 0);
		ASSERT_EQ(frames_push(&frames, chunk, (size_t)n), 0);
		while (frames_next(&frames, &data, &len) == 1) {
			for (size_t i = 0; i < len; i++)
				ASSERT_EQ(data[i], 'x');
			total += len;
			(*ret_frames)++;
		}
	} while (n > 0);
	frames_done(&frames);
	return total;
}

TEST(frame_write_writes_the_length_and_the_bytes)
{
	int ends[2];
	char bytes[16];
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	ASSERT_EQ(frame_write(ends[1], "hi", 2), 0);
	ASSERT_EQ(frame_write(ends[1], "x", 1), 0);
	ASSERT_EQ(read(ends[0], bytes, sizeof(bytes)), sizeof(two) - 1);
	ASSERT_EQ(memcmp(bytes, two, sizeof(two) - 1), 0);
}

TEST(frame_write_writes_all_of_a_frame_that_no_buffer_holds)
{
	enum { LONG = 3 << 20 };
	int ends[2];
	int status = 0;
	size_t count = 0;
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		auto_free char *text = xcalloc(LONG, 1);
		memset(text, 'x', LONG);
		(void)close(ends[0]);
		int r = frame_write(ends[1], text, LONG);
		_exit(r == 0 ? frame_write(ends[1], text, 1) : 3);
	}
	(void)close(ends[1]);
	ASSERT_EQ(read_all(ends[0], LONG, &count), LONG + 1);
	ASSERT_EQ(count, 2);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
}

TEST(frame_write_says_that_nobody_reads_and_nobody_ends)
{
	int ends[2];
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	ASSERT(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	(void)close(ends[0]);
	ASSERT_EQ(frame_write(ends[1], "hi", 2), -EPIPE);
	ASSERT_EQ(frame_write(-1, "hi", 2), -EBADF);
}
