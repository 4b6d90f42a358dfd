/* SPDX-License-Identifier: Apache-2.0 */
/* How the relay speaks with its child: as with a shell, or in frames. */
#pragma once

#include <poll.h>

#include "relay/relay.h"

enum { TALK_FDS = 2 };

struct talk {
	/* Descriptors that the child is started with: 0, 3 and 4; -1: none. They are closed after.
	 */
	int (*open)(struct relay *relay, int *ret_stdin, int *ret_frames, int *ret_alarm);

	/* A turn begins; relay->turn.number 0: the child starts. */
	void (*begin)(struct relay *relay);

	/* A whole request of the client. */
	void (*take)(struct relay *relay, const char *data, size_t len);

	/* What to wait for, and that it has happened. */
	size_t (*watch)(struct relay *relay, struct pollfd *fds);
	void (*wake)(struct relay *relay, const struct pollfd *fds, size_t count);

	/* Whether the child can be interrupted now; does it. */
	bool (*ready)(struct relay *relay);
	void (*interrupt)(struct relay *relay);

	/* A moment after an interrupt, and again for a while: for whom it came too early. */
	void (*insist)(struct relay *relay, bool is_last);

	/* The child has died: what more there is to say about it than how, NULL: nothing. */
	const char *(*explain)(struct relay *relay, bool is_signal);
};

extern const struct talk talk_framed;
extern const struct talk talk_shell;
