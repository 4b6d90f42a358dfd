/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Model Context Protocol: a message in, answers out. What carries the messages is none of this
 * room's business, nor who does the work: both are callbacks. Two eras are served side by side. In
 * the legacy one (2024-11-05 to 2025-11-25) a client begins with `initialize`; in the modern one
 * (2026-07-28) every request says for itself which version it speaks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "worker/worker.h"

struct mcp;
struct mcp_call;     /* one request, until it is answered */
struct mcp_exchange; /* what came at once, one message or a batch, until all of it is answered */

enum mcp_version {
	MCP_VERSION_NONE = 0,
	MCP_2024_11_05,
	MCP_2025_03_26,
	MCP_2025_06_18,
	MCP_2025_11_25,
	MCP_2026_07_28,
	MCP_VERSION_COUNT,
};

extern const char *const mcp_version_names[MCP_VERSION_COUNT];
enum mcp_version mcp_version_find(const char *name); /* NONE: it is unknown */

/* Who sits at the other end of a lasting connection, and what was agreed upon with it. */
struct mcp_peer {
	enum mcp_version version; /* NONE: it has not said initialize */
};

/* What is known of a message beside its text. Texts are borrowed for the length of the call. */
struct mcp_context {
	struct mcp_peer *peer; /* borrowed for as long as the exchange lasts; NULL: none */
	uint64_t client;       /* whose: nobody else's message cancels it */
	const char *group;     /* of one client's calls; NULL: none can be cancelled by message */

	const char *trace; /* the traceparent it came with, valid; NULL: none */

	/* where a message has headers, they must say what it says; NULL: not there */
	bool has_headers;
	const char *version_header, *method_header, *name_header;
};

/* How an exchange ended. Whoever has statuses to give finds one for each. */
enum mcp_end {
	MCP_END_ANSWERED = 0,
	MCP_END_ACCEPTED,       /* there is nothing to answer */
	MCP_END_INVALID,        /* refused before anything was done */
	MCP_END_UNKNOWN_METHOD, /* a modern client asked for what is not there */
};

/* Who hears the answers. `say` comes any number of times before `end`, which comes once; its
 * message may be NULL. Messages are single lines without their newline. */
struct mcp_listener {
	void (*say)(void *context, const char *message, size_t len);
	void (*end)(void *context, enum mcp_end how, const char *message, size_t len);
	void *context;
};

/* Who does the work: begins a job, which is then told with mcp_hear() as a worker tells it, the
 * last event included. -1: it cannot, and there will be no word. `cancel` asks for its end. */
struct mcp_workshop {
	int (*begin)(void *context, struct mcp_call *call, enum work_kind kind, const char *job,
		size_t len, struct err *err);
	void (*cancel)(void *context, struct mcp_call *call);
	void *context;
};

struct strings;

/* `roots` are the directories whose files may be run; NULL: none. All is borrowed. */
struct mcp *mcp_open(const struct mcp_workshop *workshop, const struct strings *roots);
void mcp_close(struct mcp *mcp); /* no word about a job comes after it */

/* How many calls somebody works for. */
size_t mcp_busy(const struct mcp *mcp);

/* Takes a message. The listener may hear all there is to hear before this returns: then it is NULL.
 */
struct mcp_exchange *mcp_take(struct mcp *mcp, const struct mcp_context *context, const char *text,
	size_t len, const struct mcp_listener *listener);

/* Nobody reads the answers any more: the listener hears the end, now or later, and nothing else.
 * What a modern client asked for is cancelled. */
void mcp_leave(struct mcp_exchange *exchange);

/* From whoever does the work, as to a struct listener of workers. */
void mcp_hear(struct mcp_call *call, const char *line, size_t len, bool is_last);

/* The context of the listener who hears the answer. */
void *mcp_owner(const struct mcp_call *call);

/* What whoever does the work keeps with a call. */
void mcp_set_work(struct mcp_call *call, void *work);
void *mcp_work(const struct mcp_call *call);

/* How often each tool was called, for metrics. False: there is none of that number. */
bool mcp_count(const struct mcp *mcp, size_t number, const char **ret_tool, uint64_t *ret_calls,
	uint64_t *ret_errors);
