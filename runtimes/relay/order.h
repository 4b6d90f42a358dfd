/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's end of the line: the SEQPACKET socket over which the keeper tells a runner what to do
 * next, and hears what became of it. Each packet is one JSON object of at most 4 KiB.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum order_kind {
	ORDER_NONE = 0, /* not understood: nothing was asked for */
	ORDER_TURN,     /* serve a client, whose descriptors come along */
	ORDER_BRANCH,   /* be one: what was copied before anybody knew what for goes its own way */
	ORDER_FORK,
	ORDER_POINT,
	ORDER_ROLLBACK,
	ORDER_DROP,
	ORDER_BYE,
	ORDER_KIND_COUNT,
};

enum { ORDER_FDS = 4, ORDER_BYTES = 4096 };

/* How the descriptors of a turn are ordered. */
enum { TURN_IN = 0, TURN_OUT, TURN_ERR, TURN_CHANNEL };

struct order {
	enum order_kind kind;
	int64_t number;
	bool is_branch;     /* of a fork: the copy will go a way of its own */
	int fds[ORDER_FDS]; /* owned; -1: none */
};

/* Takes descriptor 3 over as the line, out of the way of what is started later. -1: it is none. */
int order_open_line(void);

/* Waits for the next packet: 1; 0: the keeper is gone. */
int order_receive(int line_fd, struct order *ret_order);
void order_done(struct order *order);

/* {"word":number} */
void order_answer(int line_fd, const char *word, int64_t number);

/* {"ready":true} */
void order_say_ready(int line_fd);

/* {"refused":number,"why":["why"]} */
void order_refuse(int line_fd, int64_t number, const char *why);

/* {"ended":"why"}: the last word of a session that is over. */
void order_say_ended(int line_fd, const char *why);
