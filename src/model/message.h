/* SPDX-License-Identifier: Apache-2.0 */
/* What a runner said, checked: one message of the channel. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum message_kind {
	MESSAGE_NONE = 0,
	MESSAGE_DISPLAY,       /* something to show */
	MESSAGE_RESULT,        /* the value of the last expression */
	MESSAGE_ERROR,         /* an uncaught error */
	MESSAGE_INPUT_REQUEST, /* the program waits for a line */
	MESSAGE_STATUS,
	MESSAGE_DONE,
	/* answers to questions that a session is asked */
	MESSAGE_COMPLETIONS,
	MESSAGE_INSPECTION,
	MESSAGE_COMPLETENESS,
	MESSAGE_REPORT,  /* what the guard found, before any of the code ran */
	MESSAGE_REFUSED, /* what the guard stopped while it ran */
	MESSAGE_KIND_COUNT,
};

extern const char *const message_names[MESSAGE_KIND_COUNT + 1]; /* as in "event" */

struct json_object;

struct message {
	enum message_kind kind;
	struct json_object *json; /* owned; the whole message as it came, of the right shape */
};

/* Reads one message. An error says what is wrong with it. */
int message_read(struct message *message, const char *data, size_t len, struct err *err);
void message_done(struct message *message);

/* Whether it is an event for those who follow a run, or an affair between runner and supervisor. */
bool message_is_event(const struct message *message);

/* Of MESSAGE_REFUSED: the module that was not imported, NULL when it was something else. */
const char *message_refused_module(const struct message *message);

/* Of MESSAGE_DONE; in a session also how many executions there were, and whether it was
 * interrupted. */
int message_exit_code(const struct message *message);
int64_t message_execution_count(const struct message *message);
bool message_is_interrupted(const struct message *message);

/* The message as an event of a stream: a JSON line with its newline (owned by the caller). */
char *message_to_json(const struct message *message, const char *id, int64_t seq);
