/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP in the daemon: its listeners, and what an answer needs. libmicrohttpd reads and writes; its
 * epoll descriptor is one of those our own loop watches. */
#pragma once

#include <json-c/json.h>
#include <microhttpd.h>

#include "access/access.h"
#include "base/buf.h"
#include "base/loop.h"
#include "mcp/mcp.h"
#include "model/result.h"
#include "model/trace.h"
#include "server/form.h"
#include "server/queue.h"
#include "worker/worker.h"

enum {
	ROUTE_PARAMS = 2,
	BODY_MAX = 24 << 20,    /* of a request */
	STREAM_HIGH = 1 << 20,  /* of events that wait for their reader: the run is held up */
	STREAM_LOW = 256 << 10, /* and goes on */
	REQUEST_ID_SIZE = 32,
};

struct http;
struct listener_socket;
struct http_counts;

/* What is known of whoever asks. */
struct tenant {
	uint64_t key;    /* for the fair queue */
	bool is_trusted; /* the daemon's own user, who may name paths of the host */
	char name[65];   /* whose sessions and records it sees; empty: the daemon's own user */
	char token[65];  /* the name of the token it asked with; empty: none */
	unsigned int scopes;
	struct holder *holder; /* of the token; NULL: none */
};

enum answer_state {
	ANSWER_NONE = 0,
	ANSWER_WAITING, /* the connection is suspended until there is something to send */
	ANSWER_READY,
	ANSWER_SENT, /* handed over: libmicrohttpd is sending it */
};

/* A file on its way in. */
struct upload {
	int fd; /* owned; it has no name yet */
	int64_t size;
	struct err err; /* why it cannot be had; ERR_NONE: it can */
};

struct request {
	struct http *http;
	struct listener_socket *listener;
	struct MHD_Connection *connection;
	const struct route *route;
	struct tenant tenant;
	char id[REQUEST_ID_SIZE];
	char trace[TRACE_SIZE]; /* the traceparent it came with; "": none that makes sense */
	const char *method;
	char *path;                 /* owned */
	char *params[ROUTE_PARAMS]; /* owned; what stands for each {…} of the route's path */
	struct buf body;
	bool is_too_large;
	bool is_local;   /* came over the unix socket */
	bool is_exposed; /* came to a port that other machines can reach */
	int64_t begun_us;
	uint64_t sent; /* bytes of the answer's body */

	enum answer_state state;
	unsigned int status;
	struct MHD_Response *response; /* owned until it is sent */

	struct buf stream;  /* of an answer that grows */
	size_t stream_sent; /* of these */
	bool is_stream, is_stream_over;
	bool is_suspended;
	bool is_foreign;   /* a page of somewhere else asks */
	bool is_watching;  /* is told how things are, again and again */
	bool is_beginning; /* its route has begun, and waits */

	struct request *next, *prev; /* of all there are */
	struct watch hangup;         /* while suspended libmicrohttpd does not look */
	struct run *run;             /* what it waits for; NULL: nothing */
	struct question *question;   /* owned; the same */
	struct batch *batch;         /* the same, for many runs */
	struct upload upload;
	struct json_object *gathered; /* owned; of an answer that comes in parts, or NULL */
	struct asker *asker;          /* the same, for a message of MCP */
};

struct route {
	const char *method;
	const char *path; /* {name} is one part of it, {path...} all that is left */
	enum scope scope; /* what whoever asks with a token needs */
	const char *summary;
	const struct form *body;  /* what its body may say; NULL: nothing */
	const struct form *query; /* what stands behind its path; NULL: nothing */
	const char *answers;      /* the name of what it answers, in the description; NULL: none */
	unsigned int status;      /* of that; 0: 200 */
	bool takes_many;          /* so many bodies, as an array or as lines */
	bool takes_bytes;         /* any body */
	bool has_events;          /* by Accept */
	void (*answer)(struct request *request); /* when all of the body is there */
	/* Before the body comes, and for each piece of it; NULL: it is kept in the request. False:
	 * it is more than could be answered, and the connection is closed. */
	void (*begin)(struct request *request);
	bool (*take)(struct request *request, const char *data, size_t len);
};

extern const struct route http_routes[];
extern const size_t http_route_count;

/* ---- answers (answer.c) -----------------------------------------------------------------------
 */

/* All take what they are given. A request is answered once, now or later. */
void answer_text(struct request *request, unsigned int status, const char *type, char *text);
void answer_json(struct request *request, unsigned int status, struct json_object *json);

/* The one shape of errors; `code` is stable, `field` and `fix` may be NULL. */
void answer_error(struct request *request, unsigned int status, const char *code, const char *field,
	const char *fix, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* The same for one that may be asked again after so many seconds. */
void answer_later(struct request *request, const char *code, int64_t seconds, const char *fix,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));

void answer_draining(struct request *request);

/* What a spec or a session said, with the field and the fix that are in its words. */
void answer_err(struct request *request, unsigned int status, const struct err *err);

/* What a worker or the keeper refused, with the status that says why. */
void answer_refusal(struct request *request, const struct err *err);

void answer_queue_full(struct request *request);

/* An answer that grows while somebody reads it. */
void stream_begin(struct request *request, const char *type);
void stream_put(struct request *request, const char *data, size_t len);
void stream_end(struct request *request);
bool stream_is_full(const struct request *request);

/* ---- the parts --------------------------------------------------------------------------------
 */

/* access.c: who asks. Where they return false they have answered. */
bool access_admit(struct request *request); /* who it is */
bool access_allow(struct request *request); /* whether they may ask for that, so often */
bool access_fits(struct request *request, const struct spec *spec);
bool access_counts(enum work_kind kind); /* among what they may have at once */
bool access_begin(struct request *request, enum work_kind kind); /* of these: it ends with … */
int access_submit(const struct tenant *tenant, enum work_kind kind, struct err *err); /* the same */
void access_end(struct http *http, const struct tenant *tenant, int64_t cpu_us);
void access_bound(const struct tenant *tenant, struct work_wish *wish); /* what it may have */
bool access_has_scope(const struct tenant *tenant, enum scope scope);
void access_tick(struct http *http);
bool access_has_one_owner(struct http *http); /* are all clients one and the same to us? */
int access_check_listener(struct http *http, const char *listen, struct err *err);

/* run.c: executions that requests wait for */
void run_cancel(struct run *run);    /* whoever asked is gone */
void run_resume(struct run *run);    /* the reader has caught up */
void run_interrupt(struct run *run); /* it is to end, and whoever asked is told */
void run_next(struct http *http);

/* question.c: asking the keeper, at once and without a worker */

/* Of those that are NULL: it was refused, and *err says why. The answer is the listener's, and so
 * is the descriptor that came with it, -1: none. */
typedef void question_hear(
	struct request *request, struct json_object *answer, int fd, const struct err *err);

/* Takes `json`, and says whose it is. */
void question_ask(struct request *request, struct json_object *json, question_hear *hear);
/* The same for how things are, as a client at the socket is told. */
void question_account(struct request *request, question_hear *hear);
void question_drop(struct question *question); /* nobody waits for it any more */

/* Work that is heard of as from a worker, the last word included, and not as an answer. It waits
 * for its turn until run_next(). Takes `job`. NULL: too many wait, or a token forbids it. */
struct run *run_submit(struct http *http, const struct tenant *tenant, enum work_kind kind,
	char *job, const struct listener *listener, struct err *err);

/* mcp.c */
void mcp_serve(struct http *http);
void mcp_tick(struct http *http, int64_t now_us); /* tells those who wait that we are here */
void asker_leave(struct asker *asker);            /* whoever asked is gone; NULL: nobody did */

/* trace.c: what a request is known by, in its answer and in the log */
void trace_begin(struct request *request);
void trace_answer(const struct request *request, struct MHD_Response *response);
void trace_log(const struct request *request);

/* origin.c: pages in a browser */
void origin_allow(const struct request *request, struct MHD_Response *response);
bool origin_asks(struct request *request); /* beforehand what it may; it was answered */

/* events.c */
int64_t events_next_us(const struct http *http);
void events_tick(struct http *http, int64_t now_us);
void events_leave(struct request *request);

/* metrics.c */
void metrics_open(struct http_counts *counts);
void metrics_close(struct http_counts *counts);
void metrics_count_request(struct request *request); /* it is over */

/* batch.c: many runs that one request waits for */
void batch_go_on(struct batch *batch);     /* its reader has caught up; run_next() comes after it */
void batch_leave(struct batch *batch);     /* its client is gone; NULL: nobody's */
void batch_interrupt(struct batch *batch); /* what runs ends, and says so */
void batches_go_on(struct http *http);     /* something has ended: there may be room */

/* routes.c */
/* NULL: there is none; *ret_is_known: but for another method. `params` are the caller's. */
const struct route *route_find(
	const char *method, const char *path, char *params[ROUTE_PARAMS], bool *ret_is_known);

/* http.c */
const char *request_header(const struct request *request, const char *name);
const char *request_query(const struct request *request, const char *name); /* ?name=… */
int request_fd(const struct request *request); /* of the connection; borrowed */
void request_wake(struct request *request);    /* there is something to send */

/* Texts are borrowed until http_open() or http_reload() returns. */
struct http_settings {
	struct server *server;
	const char *listen;             /* ADDR:PORT; NULL: none */
	const char *public_name;        /* NAME,…: what others know this machine by; NULL: none */
	const char *tls_cert, *tls_key; /* paths; NULL: no TLS */
	bool is_plain;                  /* other machines may come without TLS */
	const char *socket_path;        /* of the daemon; HTTP is beside it */
	int64_t concurrency, queue;
	unsigned int connections; /* most at once, of all listeners */
};

enum { LATENCY_BUCKETS = 12, LANGUAGES_COUNTED = 48, LANGUAGE_SIZE = 32, CODES_COUNTED = 24 };

/* How long something took. */
struct histogram {
	uint64_t count, sum_us;
	uint64_t buckets[LATENCY_BUCKETS]; /* those up to its bound, and longer than the one before
					    */
};

/* Counted since the start. Names come from outside, so there is an end to how many are counted. */
struct http_counts {
	uint64_t errors, refused;
	uint64_t limited; /* past a limit of their token */
	struct language_count {
		char name[LANGUAGE_SIZE];
		uint64_t by_status[RUN_STATUS_COUNT]; /* of executions */
		struct histogram took;
	} languages[LANGUAGES_COUNTED];
	size_t language_count;
	struct route_count {
		uint64_t by_code[CODES_COUNTED]; /* as codes[] has them */
		struct histogram took;
	} * routes; /* owned; one for each route, and one for what is none */
	unsigned int codes[CODES_COUNTED];
	size_t code_count;
};

struct http {
	struct loop *loop;
	struct http_settings settings;     /* with its texts */
	struct listener_socket *listeners; /* owned */
	struct request *requests;
	struct batch *batches;
	struct workers *workers;
	struct mcp *mcp; /* owned */
	struct mcp_workshop workshop;
	size_t asker_count;
	int64_t alive_us;   /* when mcp_tick() is wanted; 0: not at all */
	struct queue queue; /* executions that wait for a worker */
	size_t running;
	uint32_t epoch; /* random: ids of requests differ from those of another daemon */
	uint64_t next_id;
	bool is_draining; /* nothing new begins */
	size_t watcher_count;
	int64_t watch_us;                      /* when those who watch are told next */
	struct porter *porter;                 /* owned */
	bool has_one_owner;                    /* as the keeper was told */
	bool is_porter_stuck, is_ledger_stuck; /* tokens cannot be read, their use not written */
	struct http_counts counts;
};

int http_open(struct loop *loop, const struct http_settings *settings, struct http **ret_http,
	struct err *err);
void http_close(struct http *http);

/* Nothing new begins; whether anything is under way; has that end, and say so to its client. */
void http_drain(struct http *http);
bool http_is_idle(const struct http *http);
void http_cancel(struct http *http);

/* What runs and waits, as JSON (the caller's). */
struct json_object *http_account(const struct http *http);

/* Whether a process is one of its workers, or the daemon itself, which asks for them. */
bool http_owns(const struct http *http, pid_t pid);

/* So many executions at once from now on, and so many that wait. */
void http_set_limits(struct http *http, int64_t concurrency, int64_t queue);

/* Takes the names of the machine and reads the certificate again; those who connect from now on get
 * it. The one there is stays when that does not work. */
int http_reload(struct http *http, const struct http_settings *settings, struct err *err);

/* When http_tick() is wanted at the latest; INT64_MAX: not at all. */
int64_t http_next_us(const struct http *http);
void http_tick(struct http *http);
