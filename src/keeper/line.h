/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line: the SEQPACKET socket between the keeper and the runner of a session. Each packet is one
 * JSON text with descriptors. What comes from the runner comes from untrusted code: it is bounded,
 * of one of a few shapes or nothing, and never waited for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct json_object;

enum {
	LINE_TEXT_MAX = 4096,
	LINE_NOTES_MAX = 32, /* what a runner has to say about a copy of itself */
	LINE_NOTE_BYTES = 200,
};

enum line_kind {
	LINE_NONE = 0,
	LINE_READY,   /* it serves */
	LINE_IDLE,    /* turn `number` is over */
	LINE_FORKED,  /* said by a copy: it is the one that was asked for with this number */
	LINE_REFUSED, /* said by the original: there will be no copy, or no point */
	LINE_DONE,    /* a point or a rollback of its own */
	LINE_KIND_COUNT,
};

struct line_word {
	enum line_kind kind;
	uint32_t number;
	struct json_object *notes; /* owned; an array of texts, or NULL */
	pid_t pid;                 /* who said it, as the kernel says */
};

/* A line: our end does not block and learns who speaks. */
int line_make(int *ret_ours, int *ret_theirs, struct err *err);

/* 0 or -errno; -EAGAIN: the runner does not listen. */
int line_send(int fd, const char *text, const int *fds, size_t fd_count);

/* Whether the runner has not taken all that was sent yet. */
bool line_is_unread(int fd);

/* Reads one packet. 0, or -EBADMSG: it is none of ours. */
int line_parse(const char *data, size_t len, struct line_word *word);

/* 1; 0: nobody has the other end any more; -EAGAIN; -EBADMSG. */
int line_receive(int fd, struct line_word *word);
void line_word_done(struct line_word *word);
