/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotcell-relay stands between the line of a session and a program that cannot receive descriptors.
 * The program, the *child*, keeps one set of pipes for its whole life. Each turn brings streams and
 * a channel of its own; while it lasts, bytes go from the child's pipes to them and back:
 *
 *     turn's stdin ──► a pipe of this turn, which the child opens as /proc/RELAY/fd/N
 *     child's stdout and stderr ──► turn's, spliced: what is not taken waits in the child's pipe
 *     channel ◄─► a talk: how requests become the child's, and its answers events (talk.h)
 *
 * So the end of one turn's stdin is an end of file and no more, a client that reads slowly slows
 * the child, one that is gone harms nobody, and what a background process says between turns is
 * said in the next one. What the child wrote before it spoke is passed on before its words are.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "relay/order.h"
#include "wire/frame.h"

/* Output on its way from the child to the turn. */
struct flow {
	int from;     /* owned; -1: it has ended */
	int to;       /* owned; -1: nobody reads it, it is thrown away */
	bool is_full; /* `to` takes no more at the moment */
	bool is_owed; /* only `owed` more bytes belong to what is being waited for */
	int64_t owed;
};

struct turn {
	bool is_on;
	int64_t number; /* 0: the child is starting */
	int channel;    /* owned; -1: the client has gone */
	bool is_deaf;   /* the client says no more */
	struct frames requests;
	struct buf answers; /* for the channel, not sent yet */

	int in;        /* owned; the turn's stdin, -1: at its end */
	int in_read;   /* owned; what the child opens */
	int in_write;  /* owned */
	char *in_data; /* owned */
	size_t in_at, in_len;

	bool is_ending;       /* everything was said; it ends when everything has arrived */
	bool is_interrupted;  /* the child was told to stop */
	bool wants_interrupt; /* it shall be, as soon as it can be */
	int insisted;         /* how often */
};

struct talk;

struct relay {
	int line_fd;   /* owned */
	int signal_fd; /* owned */
	pid_t pid;     /* of the child, and of its group */
	int pid_fd;    /* owned */
	const char *program;
	struct flow flows[2];
	struct turn turn;
	const struct talk *talk;
	void *state;        /* the talk's */
	int64_t executions; /* 0: the child counts */
	bool is_over;
	char why[256]; /* once it is */
};

enum { RELAY_FRAME_MAX = 8 << 20, RELAY_FRAME_DEPTH = 32 };

/* Serves the line until the child or the keeper leaves. The exit status. */
int relay_serve(struct relay *relay);

/* ---- for the talks ---- */

/* Has one JSON object (taken) sent to the client. */
struct json_object;
void relay_answer(struct relay *relay, struct json_object *json);

/* The same for a text that is one. */
void relay_answer_text(struct relay *relay, const char *text, size_t len);

/* The last event of a turn. */
void relay_answer_done(struct relay *relay, int code);

/* What the child has written so far must be passed on before anything else is. */
void relay_owe(struct relay *relay);
bool relay_is_owing(const struct relay *relay);

/* The turn ends as soon as all of it has arrived. */
void relay_end_turn(struct relay *relay);

/* The session cannot go on. */
void relay_break(struct relay *relay, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
