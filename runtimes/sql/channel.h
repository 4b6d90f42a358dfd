/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runner's end of the channel: what it finds on descriptor 3 when a supervisor wants to hear
 * more than output. A frame is 4 bytes of length, big endian, and one JSON object. Losing the
 * channel loses frames and nothing else.
 */
#pragma once

#include "sql/rows.h"

enum { CHANNEL_FRAME_MAX = 8 << 20 };

struct channel {
	int fd; /* -1: nobody listens */
};

/* Takes descriptor 3 over, if it is a socket. */
void channel_open(struct channel *channel);
void channel_close(struct channel *channel);

void channel_send(struct channel *channel, const struct buf *frame);

/* The MIME bundle of one result: a table, text and HTML. */
void channel_write_rows(struct buf *buf, const struct rows *rows, const char *null_text);

struct failing {
	const char *kind; /* "syntax" or "runtime" */
	const char *name; /* "SQLITE_ERROR" */
	const char *value;
	const char *file;
	int64_t line;   /* 0: unknown */
	int64_t column; /* 0: unknown */
	const char *source;
	size_t source_len;
};

void channel_send_error(struct channel *channel, const struct failing *failing);
