/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions, as the keeper holds them.
 *
 * A session has a live process, its runner, in a cell. Sessions that were branched off one another
 * share a cell: they are a family, have one /home/user among them and are served one at a time.
 * What needs the cell for itself is an errand: a turn of a client, a checkpoint, a rollback, a
 * branch. A family has at most one under way; turns that may wait do so in order, everything else
 * is refused while one is. Verbs that only look or end something are no errands and never wait.
 *
 * A session belongs to a tenant, and so do its branches. A request says whose sessions it means,
 * and there are no others for it: two tenants may each have one of the same name.
 *
 * Nothing here waits for a cell: an errand is driven on by what happens, the runner's words on its
 * line, init's word that a process ended, a scribe's that files are copied, and the clock.
 */
#pragma once

#include <time.h>

#include "base/loop.h"
#include "keeper/line.h"
#include "keeper/pool.h"
#include "keeper/request.h"
#include "keeper/scribe.h"
#include "loan/loan.h"

enum {
	SESSION_POINTS_MAX = 64,
	SESSION_TOMBS = 256, /* ended sessions that are remembered */
	SESSION_CALLERS = 4096,
};

/* ---- the front, for the lender -----------------------------------------------------------------
 */

struct sessions_host {
	size_t most; /* sessions at once */
	void *context;
	/* A pool of this policy, to take a cell from. */
	struct pool *(*find_pool)(void *context, const char *text, size_t len, struct err *err);
	void (*changed)(void *context, size_t count); /* so many sessions are held now */
};

struct sessions;

int sessions_open(
	const struct sessions_host *host, struct sessions **ret_sessions, struct err *err);
void sessions_close(struct sessions *sessions); /* ends them all */

/* Readable when there is something to do: then sessions_serve(). */
int sessions_fd(const struct sessions *sessions);
void sessions_serve(struct sessions *sessions);

/* Does what is due, and says how long there is nothing to do. */
int sessions_tick(struct sessions *sessions);

/* A client's connection, its request and its descriptors; takes what it needs of the message. */
void sessions_take(struct sessions *sessions, struct loan_message *message);

void sessions_set_most(struct sessions *sessions, size_t most); /* those beyond it stay */
size_t sessions_count(const struct sessions *sessions);

/* ---- what the files of this share --------------------------------------------------------------
 */

struct session;
struct family;
struct errand;

/* A process that serves a line. */
struct runner {
	struct family *family;
	struct session *session;   /* whose live process it is, or whose point's */
	struct point *point;       /* NULL: it is the live one, or being born */
	struct errand *birth;      /* the errand that made it, until it has spoken; else NULL */
	bool is_early;             /* nobody asked for it yet (session_ahead.c) */
	uint32_t order;            /* the number under which it was asked for */
	struct json_object *notes; /* owned; what it told then; NULL: nothing */
	struct watch watch;
	int fd;         /* owned; our end of the line */
	int pidfd;      /* owned; -1 until it has spoken */
	pid_t pid;      /* of the host */
	int32_t number; /* in the cell */
	int slot;       /* in the cell's table of those watched; -1 */
};

struct point {
	struct point *next;                /* the newest first */
	uint32_t id;                       /* of the copy of its files too */
	uint32_t parent;                   /* the point its state came from; 0: none */
	char name[SESSION_NAME_BYTES + 1]; /* empty: none */
	bool is_automatic;
	uint64_t execution; /* how many had been before it */
	time_t created;
	struct runner *runner; /* owned; NULL: files only, or lost */
	bool is_lost;          /* its process ended */
};

struct session {
	struct session *next, *prev; /* in the order in which they were made */
	struct session *sibling;     /* the next of its family */
	struct sessions *sessions;
	struct family *family;
	uint64_t serial;
	char id[16];
	char tenant[SESSION_NAME_BYTES + 1]; /* empty: our user's own */
	char name[SESSION_NAME_BYTES + 1];
	char language[SESSION_LANGUAGE_BYTES + 1];
	char *limits; /* owned; JSON text */
	char *guard;  /* owned; JSON text; NULL: the guard's defaults */
	enum session_memory memory;
	time_t created, last_used;
	int64_t idle_s, lifetime_s;
	int64_t used_us, ends_us; /* when it was last used, when it ends in any case */
	int64_t lost_us;          /* when it is given up, because its line hung up; 0: it did not */
	uint64_t executions;
	uint32_t number;         /* of the last turn or copy that its runner was asked for */
	unsigned int late_count; /* answers that came when nobody waited for them */
	size_t undo;             /* automatic points to keep; 0: none are made */
	bool is_warm, is_started;
	bool is_told;         /* its runner looks at code itself */
	bool wants_check;     /* a turn of it says that its code was looked at */
	struct caller *owner; /* it ends when this one leaves; NULL: it does not */
	struct runner *live;  /* owned; NULL only while it is brought back */
	struct point *points; /* owned */
	size_t point_count;
	uint32_t current; /* the point its state comes from; 0: none */
	bool is_at_point; /* and it is still the same */
	uint32_t files;   /* the copy of its files, while another's are in place; 0: none */
	uint32_t base;    /* the copy that is nearest to what is in place; 0: none */

	/* copies that are made before anybody asks for them */
	struct runner *ahead;   /* owned; of the live process as it is now; NULL: none */
	struct runner *spare;   /* owned; of a point's process; NULL: none */
	struct point *spare_of; /* that point */
	bool has_pointed;       /* it was copied since its last turn, */
	bool is_pointing;       /* or since the one before, and so will be again */
	unsigned int backs;     /* turns for which going back is likely */
	int64_t prepare_us;     /* when there is time for that; 0: there is nothing to do */
	struct runner *retired; /* owned; stopped, and ended then, too; NULL: none */
};

enum errand_kind {
	ERRAND_NONE = 0,
	ERRAND_START, /* a new session is on its way */
	ERRAND_TURN,
	ERRAND_CHECKPOINT,
	ERRAND_ROLLBACK,
	ERRAND_BRANCH,
	ERRAND_FILES, /* a client reaches for its files, which are in place meanwhile */
};

enum errand_phase {
	PHASE_WAITING = 0,
	PHASE_ASIDE,   /* the files of the one before are put aside */
	PHASE_BACK,    /* and its own brought back */
	PHASE_POINT,   /* a point is made */
	PHASE_FORK,    /* a point's process copies itself */
	PHASE_RESTORE, /* the files of a point are brought back */
	PHASE_RUN,     /* a turn runs, or a new session starts */
};

struct errand {
	struct errand *next; /* that waits */
	enum errand_kind kind;
	enum errand_phase phase;
	struct family *family;
	struct session *session;
	struct caller *caller; /* NULL: nobody waits for it any more */
	pid_t client;          /* who asked */
	int fds[4];            /* owned; of a turn: stdin, stdout, stderr, channel */
	bool is_question;      /* a turn that executes nothing */
	bool is_undo;          /* a rollback that uses its point up */
	bool wants_workspace;
	uint32_t number;
	unsigned int pending; /* answers that are awaited */
	bool has_failed;
	bool is_copy_lost;                 /* it hung up; the original may still say why */
	struct err err;                    /* why it failed */
	char name[SESSION_NAME_BYTES + 1]; /* of the point or the branch */
	struct point *point;               /* gone back to */
	uint32_t id;                       /* of the point being made, or gone back to */
	struct runner *copy;               /* owned; being born */
	struct json_object *notes;         /* owned, or NULL */
	struct json_object *evicted;       /* owned, or NULL */
	int64_t since_us;
	int64_t interrupt_us; /* when it is interrupted; 0: not */
	int64_t signal_us;    /* when its runner is looked at, which has yet to take it; 0: not */
	int64_t kill_us;      /* when it is killed; 0: not */
};

/* How a process ended. */
struct ending {
	const char *why;
	int wait_status;
	bool is_oom;
	bool does_recover; /* the session goes back to its last point, when it has one */
};

struct family {
	struct family *next;
	struct sessions *sessions;
	struct pool *pool;
	bool owns_pool;
	struct cell *cell; /* owned */
	pid_t init_pid;
	struct watch status, gate, listener, death;
	struct session *members;
	struct session *in_place; /* whose files are at /home/user; NULL: nobody's who lives */
	uint32_t last_id;         /* of a copy of files */
	struct errand *errand;    /* owned; under way */
	struct errand *waiting;   /* owned; in order */
	int64_t oom_kills;        /* that are known */
	int denied_calls;         /* between turns */
	bool is_dying;
};

struct caller {
	struct caller *next, *prev;
	struct sessions *sessions;
	struct watch watch;
	int fd; /* owned */
	struct errand *errand;
	struct session *owned; /* ends when this one leaves */
};

struct tomb {
	char tenant[SESSION_NAME_BYTES + 1];
	char name[SESSION_NAME_BYTES + 1];
	char why[192];
	time_t when;
};

struct sessions {
	struct sessions_host host;
	struct loop loop;
	struct scribes scribes;
	struct session *first, *last;
	size_t count;
	uint64_t last_serial;
	struct family *families;
	struct caller *callers;
	size_t caller_count;
	struct tomb tombs[SESSION_TOMBS];
	size_t tomb_at;
	int64_t next_us; /* when something is due; INT64_MAX: nothing */
};

/* session.c */
struct session *session_find(struct sessions *sessions, const char *tenant, const char *name);
struct session *session_add(struct family *family, const struct session *like, const char *name);
void session_end(struct session *session, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void session_use(struct session *session);
void sessions_due(struct sessions *sessions, int64_t at_us);

/* session_caller.c */
void caller_tell(struct caller *caller, struct json_object *answer, int fd);  /* takes answer */
void caller_tell_files(struct caller *caller, const struct session *session); /* where they are */
void caller_refuse(struct caller *caller, const struct err *err);
void caller_drop(struct caller *caller);
pid_t caller_pid(const struct caller *caller);

/* session_info.c */
/* What whoever wants a turn has to look for in its code first. */
struct json_object *session_describe_check(const struct session *session);

enum detail {
	DETAIL_LIST = 0, /* one of many */
	DETAIL_MADE,     /* all but what takes long to find out */
	DETAIL_WHOLE,
};

struct json_object *session_describe(const struct session *session, enum detail detail);
struct json_object *point_describe(const struct point *point, bool is_whole);

/* session_family.c */
int family_open(struct sessions *sessions, const struct session_request *request,
	struct family **ret_family, struct runner **ret_runner, bool *ret_is_warm, struct err *err);
void family_settle(struct family *family); /* its program has begun: takes what it needs to know */
void family_end(struct family *family);    /* nobody is left in it */
void family_free(struct family *family);   /* waits for its death, where it is not dead yet */
void family_watch_calls(struct family *family, bool is_ours); /* who answers forbidden calls */
struct runner *runner_new(struct family *family, int fd); /* takes fd; NULL: cannot be watched */
void runner_free(struct runner *runner);                  /* ends its process */
void runner_rest(struct runner *runner);                  /* whatever it says or does is no news */
int runner_meet(struct runner *runner, pid_t pid);        /* its first word came from there */
void runner_signal(const struct runner *runner, int signal);

/* session_job.c */
struct errand *errand_new(enum errand_kind kind, struct session *session, struct caller *caller);
void errand_free(struct errand *errand);
int errand_submit(
	struct errand *errand, bool waits, bool is_forced, struct err *err); /* takes errand on 0 */
void errand_next(struct family *family);
void errand_hear(struct runner *runner, const struct line_word *word);
void errand_lose_live(struct session *session, const struct ending *ending);
void errand_forget_caller(struct errand *errand);
void errand_interrupt(struct errand *errand, int64_t now_us);
void errand_signal(struct errand *errand, int64_t now_us); /* its code is to stop */
void errand_tick(struct errand *errand, int64_t now_us);
int64_t errand_due_us(const struct errand *errand);
void errand_drop_of(struct session *session, const char *why); /* it ended */
void errand_answer(
	struct errand *errand, struct json_object *answer, int fd); /* takes both; it is over */
void errand_fail(struct errand *errand);                            /* the same, with errand->err */
void errand_set_deadline(struct errand *errand, int64_t at_us);
void errand_run_turn(struct errand *errand);
void errand_take_notes(struct errand *errand, struct json_object *notes); /* NULL: none */
void errand_take_answer(struct errand *errand); /* one of those it waited for */

/* session_ahead.c */
void ahead_plan(struct session *session);    /* it is idle: will soon make what is asked for next */
void ahead_prepare(struct session *session); /* and does */
void ahead_retire(struct session *session, struct runner *runner); /* takes it; it runs no more */
void ahead_end_turn(struct session *session, bool is_question);
bool ahead_take(struct errand *errand, bool is_branch); /* as the copy it asks for */
bool ahead_take_spare(struct errand *errand);           /* as what it goes back to */
void ahead_hear(struct runner *runner, const struct line_word *word);
void ahead_drop(struct session *session); /* its state is another now */
void ahead_drop_spare(struct session *session, const struct point *point); /* NULL: of any */
bool ahead_lose(struct session *session, int32_t number);        /* a process ended; was it one? */
bool ahead_is_refused(struct session *session, uint32_t number); /* by whom it was asked of */

/* session_point.c */
enum copy_kind {
	COPY_POINT = 0,
	COPY_BRANCH,
	COPY_AHEAD, /* a point that nobody asked for yet */
	COPY_SPARE, /* of a point: it goes on at once, and waits for its turn */
	COPY_KIND_COUNT,
};

/* Asks `original` for a copy of itself, and returns what will be it. NULL: it cannot be asked. */
struct runner *copy_ask(struct session *session, const struct runner *original, enum copy_kind kind,
	struct err *err);
void point_begin(struct errand *errand, bool is_branch); /* files and process are copied */
void point_finish(struct errand *errand);                /* both are, or have failed */
struct point *point_find(const struct session *session, const struct session_request *request);
struct point *point_of(const struct session *session, uint32_t id); /* NULL: there is none */
void point_drop(struct session *session, struct point *point);
void point_lose(struct point *point);
void rollback_begin(struct errand *errand);
void rollback_go_on(struct errand *errand);
