/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"

void buf_init(struct buf *buf, size_t cap)
{
	*buf = (struct buf){ .cap = cap };
}

void buf_done(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){ 0 };
}

static void make_room(struct buf *buf, size_t len)
{
	size_t want = buf->len + len + 1;
	if (want <= buf->room)
		return;
	size_t room = buf->room ? buf->room : 256;
	while (room < want)
		room *= 2;
	buf->data = xrealloc(buf->data, room, 1);
	buf->room = room;
}

int buf_append(struct buf *buf, const void *data, size_t len)
{
	if (len > buf->cap - buf->len)
		return -ENOSPC;
	make_room(buf, len);
	if (len)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
	return 0;
}

int buf_printf(struct buf *buf, const char *fmt, ...)
{
	va_list ap;
	auto_free char *text = NULL;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	return buf_append(buf, text, (size_t)n);
}

int buf_read(struct buf *buf, int fd)
{
	char chunk[16384];
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		int r = buf_append(buf, chunk, (size_t)n);
		if (r < 0)
			return r;
	}
}

const char *buf_text(const struct buf *buf)
{
	return buf->data ? buf->data : "";
}
