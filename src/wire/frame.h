/* SPDX-License-Identifier: Apache-2.0 */
/* Frames: four bytes of length, big endian, then that many bytes. What a runner says comes in
 * frames, in pieces of any size. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

struct frames {
	struct buf bytes; /* what came and was not taken yet */
	size_t taken;     /* of these, by the last frames_next() */
	size_t max_len;   /* of one frame */
};

void frames_init(struct frames *frames, size_t max_len);
void frames_done(struct frames *frames);

/* Adds what came. At most `max_len` bytes and a header wait at any time. */
int frames_push(struct frames *frames, const void *data, size_t len);

/* The next whole frame, valid until the next call: 1; 0: more must come first; -EBADMSG: its
 * length is 0 or past the bound, and nothing after it can be made out. */
int frames_next(struct frames *frames, const char **ret_data, size_t *ret_len);

/* Writes one frame to a socket, whole. 0 or -errno. */
int frame_write(int fd, const void *data, size_t len);

/* How many bytes may be pushed now. */
size_t frames_room(const struct frames *frames);
