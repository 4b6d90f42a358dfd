/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>

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
