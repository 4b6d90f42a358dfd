/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the room share: calls, and the tables of what is served. */
#pragma once

#include <json-c/json.h>

#include "base/buf.h"
#include "mcp/mcp.h"
#include "model/result.h"
#include "model/trace.h"

enum {
	MCP_BYTES_MAX = 24 << 20, /* one message, or a batch of them */
	MCP_DEPTH_MAX = 32,
	MCP_BATCH_MAX = 32,
	MCP_TEXT_MAX = 256,           /* an id, a name, a version */
	MCP_LISTENERS_MAX = 64,       /* subscriptions that are open at once */
	MCP_ANSWER_MAX = 20 << 20,    /* of one message, or of a batch */
	MCP_REFUSALS_MAX = 256 << 10, /* in place of those that do not fit */
	MCP_RESULT_MAX = 256 << 20,   /* of work, from whoever does it */
};

/* Codes of JSON-RPC and of the protocol. */
enum mcp_code {
	MCP_PARSE_ERROR = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_METHOD_NOT_FOUND = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL_ERROR = -32603,
	MCP_RESOURCE_NOT_FOUND = -32002, /* before 2026-07-28 */
	MCP_HEADER_MISMATCH = -32020,
	MCP_MISSING_CAPABILITY = -32021,
	MCP_UNSUPPORTED_VERSION = -32022,
};

/* ---- what is served ---------------------------------------------------------------------------
 */

/* A change that clients may listen for. */
enum mcp_change { MCP_TOOLS_CHANGED = 0, MCP_PROMPTS_CHANGED, MCP_RESOURCES_CHANGED, MCP_CHANGES };

enum { MCP_PARAMS_MAX = 12, MCP_TOOLS_MAX = 64 };

/* An argument of a tool: a field of its job, whose schema and check it has, or a text of its own.
 */
struct mcp_param {
	const char *name;
	const char *help; /* NULL: that of the field */
	bool is_needed;
	bool is_own; /* no field, although one may have its name */
};

/* The work of a call is done; NULL: whoever did it died. */
typedef void mcp_finish(struct mcp_call *call, const char *result, size_t len);

struct mcp_tool {
	const char *name, *title, *description;
	struct mcp_param params[MCP_PARAMS_MAX];
	bool is_read_only, is_destructive, is_idempotent, is_open_world;
	bool is_system;   /* one of the machine itself, for lists of tools from many places */
	bool needs_roots; /* there is nothing for it to do without directories to look in */

	/* its job: what the arguments say, and these */
	enum work_kind kind;
	const char *verb;     /* NULL: none */
	const char *language; /* NULL: as asked for */
	bool waits;           /* for its turn in a session */
	const char *mode;     /* meta.execution_mode of its results; NULL: as they say */

	/* the schema of what it returns (owned by the caller); NULL: it has none */
	struct json_object *(*describe)(void);
	/* begins; answers now or when its work is done. -1: the arguments are wrong. NULL: it is
	 * its job */
	int (*begin)(struct mcp_call *call, struct json_object *arguments, struct err *err);
	mcp_finish *finish;
};

enum { MCP_LEGACY = 1, MCP_MODERN = 2, MCP_BOTH = 3 };

struct mcp_method {
	const char *name;
	int eras;
	bool is_cacheable;
	int64_t ttl_ms;       /* 0: it is different for everybody, and at any time */
	const char *named_by; /* the member of params that a header repeats; NULL: none */
	void (*answer)(struct mcp_call *call);
};

struct mcp_service {
	const char *name, *title, *instructions;
	const struct mcp_tool *tools;
	size_t tool_count;
	const struct mcp_method *methods; /* beside those that every server has */
	size_t method_count;
	bool has_changes; /* its lists change while it serves */
	/* adds to the capabilities; NULL: nothing */
	void (*put_capabilities)(struct json_object *capabilities, bool is_modern);
};

/* Alone in its file: the conformance suite's server brings another one. */
extern const struct mcp_service mcp_service;

/* ---- calls ------------------------------------------------------------------------------------
 */

struct mcp {
	const struct mcp_workshop *workshop;
	const struct strings *roots;
	struct mcp_call *calls;
	size_t listener_count, busy;
	uint64_t counts[MCP_TOOLS_MAX], errors[MCP_TOOLS_MAX];
};

struct mcp_exchange {
	struct mcp *mcp;
	struct mcp_listener listener;
	bool is_listened, is_batch, is_being_taken;
	size_t pending; /* calls */
	enum mcp_end end;
	struct buf answers;
};

struct mcp_call {
	struct mcp *mcp;
	struct mcp_exchange *exchange;
	struct mcp_call *next, *prev;
	struct mcp_peer *peer;
	enum mcp_version version;
	uint64_t client;
	char *group;                 /* owned, or NULL */
	struct json_object *id;      /* owned; NULL: a notification, or it could not be read */
	struct json_object *message; /* owned; what was asked */
	struct json_object *params;  /* of it; NULL: none */
	const struct mcp_method *method;
	const struct mcp_tool *tool;
	bool is_cancelled, is_working;
	mcp_finish *finish;
	void *work;               /* of whoever does it */
	struct json_object *kept; /* owned; of work in several steps, or NULL */

	struct json_object *token; /* of params: progress is wanted; NULL: not */
	int64_t said_us, progress, output;
	int64_t begun_s;        /* since 1970 */
	char trace[TRACE_SIZE]; /* what the call is part of; "": not known */

	bool is_listening; /* the answer comes at the end of all notifications */
	bool wants[MCP_CHANGES];
};

static inline bool mcp_is_modern(const struct mcp_call *call)
{
	return call->version >= MCP_2026_07_28;
}

/* call.c: all of these take the JSON they are given. The first two are the end of the call. */
void mcp_answer(struct mcp_call *call, struct json_object *result);
void mcp_refuse(struct mcp_call *call, enum mcp_code code, struct json_object *data,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void mcp_notify(struct mcp_call *call, const char *method, struct json_object *params);
void mcp_tell_progress(struct mcp_call *call, int64_t progress, int64_t total, const char *text);
int mcp_work_on(struct mcp_call *call, enum work_kind kind, const char *job, mcp_finish *finish,
	struct err *err);
void mcp_cancel(struct mcp_call *call);
void mcp_drop(struct mcp_call *call); /* ends without a word */

/* era.c: which version a message speaks, and whether its headers agree. 0, or the code of what is
 * wrong, with what a refusal says. */
int mcp_classify(const struct mcp_context *context, struct mcp_call *call,
	struct json_object **ret_data, struct err *err);
int mcp_check_headers(
	const struct mcp_context *context, const struct mcp_call *call, struct err *err);

/* methods.c */
extern const struct mcp_method mcp_methods[];
extern const size_t mcp_method_count;

/* listen.c */
void mcp_listen(struct mcp_call *call);
void mcp_tell_change(struct mcp *mcp, enum mcp_change change);

/* tools.c */
void mcp_list_tools(struct mcp_call *call);
void mcp_call_tool(struct mcp_call *call);
void mcp_finish_tool(struct mcp_call *call, struct json_object *content,
	struct json_object *structured, bool is_error); /* takes both */
void mcp_finish_text(struct mcp_call *call, bool is_error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
struct json_object *mcp_new_text(const char *text); /* a block of content */

/* job.c */
int mcp_begin_job(struct mcp_call *call, struct json_object *arguments, struct err *err);

/* The result as JSON (owned by the caller); NULL: there is none, and the call was answered. */
struct json_object *mcp_read_result(struct mcp_call *call, const char *result, size_t len);
void mcp_finish_with(struct mcp_call *call, const char *text, struct json_object *structured);

/* check.c, languages.c, session.c */
struct json_object *mcp_describe_check(void);
struct json_object *mcp_describe_languages(void);
struct json_object *mcp_describe_session(void);
struct json_object *mcp_describe_sessions(void);
struct json_object *mcp_describe_point(void);
struct json_object *mcp_describe_end(void);
mcp_finish mcp_finish_check, mcp_finish_languages, mcp_finish_new, mcp_finish_fork,
	mcp_finish_sessions, mcp_finish_checkpoint, mcp_finish_rollback, mcp_finish_kill;

/* resources.c: files of sessions */
enum { MCP_RESOURCE_METHODS = 3 };
extern const struct mcp_method mcp_resource_methods[MCP_RESOURCE_METHODS];
mcp_finish mcp_finish_turn;

/* content.c */
struct json_object *mcp_describe_result(void);
mcp_finish mcp_finish_run;

/* Ends a call with an ExecutionResult. `links`, a list of blocks, is taken; NULL: none. */
void mcp_tell_result(struct mcp_call *call, struct json_object *result, struct json_object *links);
