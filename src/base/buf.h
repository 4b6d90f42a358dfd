/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer that is born with a cap: anything sized by an outsider lives in one. */
#pragma once

#include <stddef.h>

struct buf {
	char *data; /* owned; always NUL-terminated once something was appended */
	size_t len;
	size_t room;
	size_t cap;
};

void buf_init(struct buf *buf, size_t cap);
void buf_done(struct buf *buf);

/* All-or-nothing: 0, or -ENOSPC when the cap would be passed (the buffer is unchanged). */
int buf_append(struct buf *buf, const void *data, size_t len);
int buf_printf(struct buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads fd to its end: 0, -ENOSPC past the cap, or -errno. */
int buf_read(struct buf *buf, int fd);

/* The text, never NULL. */
const char *buf_text(const struct buf *buf);

#define auto_buf __attribute__((cleanup(buf_done)))
