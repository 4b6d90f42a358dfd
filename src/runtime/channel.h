/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's side of the channel: what a runner says, bounded, becomes part of the result. */
#pragma once

#include "model/message.h"
#include "model/result.h"

struct channel {
	struct result *result;
	size_t output_bytes; /* of rich values kept */
	unsigned left_out;   /* rich values that did not fit */
};

/* Takes one message. -1: it is none, and its speaker is not worth hearing further. A message that
 * is sound but too much is left out: then message->kind is MESSAGE_NONE. *message is the
 * caller's, to be given to message_done(). */
int channel_take(struct channel *channel, const char *data, size_t len, struct message *message,
	struct err *err);

/* After the last message: says in the result what was left out. */
void channel_end(struct channel *channel);
