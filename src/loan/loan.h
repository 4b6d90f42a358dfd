/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a cell is borrowed: the one protocol among a client, the daemon and the keeper.
 *
 * The client connects to the daemon and asks, naming the policy its cell must have been raised
 * under. The daemon admits it, when it is its turn, by passing the connection on to the keeper.
 * The keeper answers the client itself, with the descriptors of a cell that stands ready: the
 * client drives the cell from then on, as it would drive one of its own, and neither its code nor
 * its output ever passes through daemon or keeper. The loan lasts as long as the connection: when
 * the client hangs up, for whatever reason, the keeper ends the cell.
 *
 * A client that stays keeps its seat: it gives its cell back without hanging up, and asks the
 * keeper for the next one over the same connection, as long as nobody waits at the daemon.
 *
 * A message is a head and a text in one packet, with descriptors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/io.h"

enum loan_kind {
	LOAN_NONE = 0,
	/* from a client */
	LOAN_ASK,  /* text: the policy; from the daemon to the keeper with the client's connection,
		    * or over that connection from one that kept its seat. number: LOAN_AHEAD when
		    * the client has no use for the cell yet, LOAN_ONCE when it may not stay */
	LOAN_INFO, /* what is going on; number 1: with every cell that is lent; answered by
		    * LOAN_INFO with JSON, which the daemon joins from its own and the keeper's */
	/* to a client */
	LOAN_QUEUED,  /* number: how many are served before; told again when it changes */
	LOAN_GRANTED, /* text: struct loan_terms; with enum loan_fd */
	LOAN_REFUSED, /* text: why, for the person who asked; number: enum err_code */
	/* from the daemon to the keeper */
	LOAN_WARM,  /* text: a policy; number: that many cells should stand ready */
	LOAN_ADOPT, /* a new daemon asks what is lent; answered by one LOAN_LENT for each loan, then
		     * LOAN_ADOPT with their number */
	LOAN_LENT,  /* with the connection of the client */
	LOAN_END,   /* end everything and leave; number 1: unless sessions are held, whose number
		     * is the answer then */
	/* among all of them */
	LOAN_SESSION,  /* text: a request to a session, JSON; from the daemon to the keeper with the
			* client's connection before the client's descriptors. Answered by
			* LOAN_SESSION with JSON, LOAN_GRANTED (a turn) or LOAN_REFUSED. From the
			* keeper to the daemon: number of sessions held */
	LOAN_SETTINGS, /* from the daemon to the keeper: its limits and its log, JSON */
	LOAN_REVOKE,   /* from the daemon to the keeper: what clients hold ahead is had back, and
			* none of them keeps its seat */
	LOAN_RETURN,   /* from a client to the keeper: its cell has served, and its seat is kept */
	LOAN_KIND_COUNT,
};

enum {
	LOAN_TEXT_MAX = 64 << 10, /* a policy with many mounts is long */
	LOAN_AHEAD = 1,           /* bits of a number */
	LOAN_ONCE = 2,
};

struct loan_message {
	enum loan_kind kind;
	uint32_t number;
	char *text; /* owned; NUL-terminated beyond its end */
	size_t len;
	int fds[IO_FDS_MAX]; /* owned; -1 where none came */
	size_t fd_count;
};

/* 0 or -errno; -EAGAIN when a socket that does not block is full. */
int loan_send(int sock, enum loan_kind kind, uint32_t number, const void *text, size_t len,
	const int *fds, size_t fd_count);

/* Checks one packet and makes a message of it, without its descriptors. 0 or -EBADMSG. */
int loan_parse(const void *packet, size_t len, struct loan_message *message);

/* Receives one message, checked. 1; 0: the peer is gone; -EAGAIN; -EBADMSG: it is none. */
int loan_receive(int sock, struct loan_message *message);
void loan_message_done(struct loan_message *message);

/* What a LOAN_REFUSED says. Returns -1. */
int loan_refusal(const struct loan_message *message, struct err *err);

/* Where the daemon listens: HOTCELL_SOCKET, else a path in a directory of this user alone. */
void loan_socket_path(char *path, size_t size);

/* Where its keeper does. */
void loan_keeper_path(const char *socket_path, char *path, size_t size);

/* Connects to a socket of one's own user: whoever else listens there is refused. The descriptor is
 * the caller's; -errno, -EPERM: it is somebody else's. */
int loan_connect(const char *path);

/* Listens there. A socket nobody listens on any more is replaced; of two who try it at once one is
 * refused. */
int loan_listen(const char *path, int *ret_fd, struct err *err);

/* Whether the peer is this process's own user, or root. */
bool loan_is_trusted(int sock, uid_t *ret_uid, pid_t *ret_pid);

/* Starts one of our programs to outlive us: in a session of its own, at the root directory, without
 * our streams (but stderr, when it is kept), our other descriptors and our secrets. It is the
 * caller's child until the caller ends. */
int loan_start(const char *program, char *const args[], bool keeps_stderr, pid_t *ret_pid,
	struct err *err);

/* Connects to the daemon; when nobody listens there, starts one that leaves when it is not needed,
 * and waits until it listens. Of many who do so at once all reach the same one. */
int loan_connect_or_start(const char *path, int *ret_fd, struct err *err);
