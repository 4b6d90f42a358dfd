/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/frame.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

enum { HEADER_LEN = 4 };

void frames_init(struct frames *frames, size_t max_len)
{
	*frames = (struct frames){ .max_len = max_len };
	buf_init(&frames->bytes, max_len + HEADER_LEN);
}

void frames_done(struct frames *frames)
{
	buf_done(&frames->bytes);
	*frames = (struct frames){ 0 };
}

static void drop_taken(struct frames *frames)
{
	struct buf *bytes = &frames->bytes;
	if (frames->taken == 0)
		return;
	bytes->len -= frames->taken;
	memmove(bytes->data, bytes->data + frames->taken, bytes->len);
	frames->taken = 0;
}

size_t frames_room(const struct frames *frames)
{
	return frames->bytes.cap - (frames->bytes.len - frames->taken);
}

int frames_push(struct frames *frames, const void *data, size_t len)
{
	drop_taken(frames);
	return buf_append(&frames->bytes, data, len);
}

int frames_next(struct frames *frames, const char **ret_data, size_t *ret_len)
{
	drop_taken(frames);
	const struct buf *bytes = &frames->bytes;
	if (bytes->len < HEADER_LEN)
		return 0;
	const unsigned char *head = (const unsigned char *)bytes->data;
	size_t len = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
	if (len == 0 || len > frames->max_len)
		return -EBADMSG;
	if (bytes->len - HEADER_LEN < len)
		return 0;
	*ret_data = bytes->data + HEADER_LEN;
	*ret_len = len;
	frames->taken = HEADER_LEN + len;
	return 1;
}

int frame_write(int fd, const void *data, size_t len)
{
	auto_buf struct buf frame;
	const uint32_t head = htobe32((uint32_t)len);
	buf_init(&frame, sizeof(head) + len);
	(void)buf_append(&frame, &head, sizeof(head));
	(void)buf_append(&frame, data, len);
	for (size_t at = 0; at < frame.len;) {
		/* who reads may be gone, which is no reason for us to end */
		ssize_t n = send(fd, frame.data + at, frame.len - at, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}
