/* SPDX-License-Identifier: Apache-2.0 */
/* One cell as its supervisor sees it, from the request to the verdict. */
#pragma once

#include "keeper/apart.h"
#include "keeper/beginning.h"
#include "keeper/berth.h"
#include "keeper/capture.h"
#include "keeper/cgroup.h"
#include "keeper/changes.h"
#include "keeper/elsewhere.h"
#include "keeper/foresight.h"
#include "keeper/host.h"
#include "keeper/keeper.h"
#include "keeper/kit.h"
#include "keeper/machine.h"
#include "keeper/network.h"
#include "keeper/sample.h"
#include "keeper/workspace.h"
#include "keeper/zygote.h"
#include "wire/frame.h"

struct cell;

struct keeper {
	bool is_resident;
	enum jail_mode mode;
	bool is_probe;
	bool has_swept;
	struct zygote zygote;
	struct host host;         /* the interpreter of guests */
	struct host next_host;    /* the one that will replace it */
	int network_fd;           /* owned; for the only cell of one that keeps no zygote */
	int changes_fd;           /* owned; of what its template has copies of; -1: of nothing */
	struct networks networks; /* that may be used again */
	struct beginnings beginnings; /* of the next cells */
	bool is_apart;                /* zygote and interpreter have a processor each */
	struct cgroup_site site;
	bool has_looked;           /* for a site; there may be none */
	uint64_t wanted;           /* bit per step: what its cells raise */
	struct cgroup spare_group; /* of the cell whose zygote was born in it; without limits yet */
	bool has_spare_group;
	struct slot slot; /* one zygote, one slot: its cells follow each other */
	bool has_slot;
	bool is_lender;       /* its cells are there at once: each has a slot of its own */
	struct berths berths; /* of such cells that are dead */
	struct kit spare_kit; /* for the next cell */
	bool is_warm;         /* what it borrowed stood ready */
	int loan_fd; /* owned; the loan of a keeper that borrowed its cell; -1: it is its own
		      */
	struct ahead *ahead;            /* of a client that stays and so keeps its seat; or NULL */
	struct strings commands;        /* what the template is restricted to */
	struct template_page *template; /* owned; NULL of one that borrowed its cell */
	const struct cell_page *base;   /* whose report tells how the template was raised: its, or
					 * that of the cell that was borrowed */
	struct cell *parked;            /* owned; raised, and waiting at its gate for a task */
	struct cell
		*last; /* owned; dead and judged, its traces are removed off the answer's path */
};

/* Why we ended a cell; the first reason stands. */
enum cell_cause {
	CAUSE_NONE = 0, /* it ended by itself */
	CAUSE_TIMEOUT,
	CAUSE_CPU,
	CAUSE_MEMORY,
	CAUSE_OUTPUT,
	CAUSE_INTERRUPT,
	CELL_CAUSE_COUNT,
};

/* What a cell is raised with; the rest of a task may come later. */
struct walls {
	int64_t memory, pids, cpus_milli, disk, inodes, cpu_time_ms;
	bool has_full_proc;
	enum cell_form form;
};

/* A turn of ours in a session's cell. */
struct turn {
	int fd; /* borrowed; to the keeper */
	struct buf *frames;
	size_t said; /* of the frames, so far */
	struct turn_end end;
	int wait_status;
	bool is_oom;
	bool is_over;                /* the keeper says so */
	struct cgroup_usage earlier; /* before the turn */
	int64_t earlier_read, earlier_written;
	int64_t next_sample_us;
};

/* Neither on the stack nor cleared: a page that is not touched costs nothing. */
enum { CELL_CHUNK = 65536, STDIN_CHUNK = 16384 };

struct cell {
	struct walls walls;
	const struct task *task; /* NULL while it is parked */
	struct turn *turn;       /* borrowed; NULL: not a session's cell */
	struct keeper *keeper;
	struct result *result;
	struct cell_page *page; /* owned */
	int page_fd;            /* owned; the same as a file, of a cell that is lent */
	struct slot slot;       /* a lender's; fd -1: the keeper's */
	struct cgroup group;
	bool has_group;
	struct workspace workspace;
	struct network *network; /* owned; NULL: nobody is in it after this cell */

	/* all owned; -1 when closed */
	int pidfd, status_fd, gate_fd, listener_fd, mounts_fd;
	int out_fds[STREAM_COUNT];
	int stdin_fd, stdin_source_fd;
	int channel_fd;
	bool is_gate_channel;        /* that will be the gate, once nothing else is said there */
	int io_fds[SAMPLE_ACCOUNTS]; /* of init and payload, opened while nobody waited; of a
				      * guest only its own */
	int procs_fd;                /* the list of its group, likewise; -1: opened when needed */
	struct elsewhere elsewhere;  /* what was started in it, while its client holds it */
	int delivery[GATE_FD_COUNT]; /* for the program: open only until they are sent */
	size_t handed_count;         /* of these, that its payload has ahead of its job */
	struct buf job;              /* what it executes */
	struct foreseen foreseen;

	struct capture captures[STREAM_COUNT];
	struct buf pending[STREAM_COUNT]; /* rendered, not yet written to the outlet */
	struct frames frames;             /* what the runner said and nobody heard yet */
	char *chunk;                      /* owned; CELL_CHUNK bytes for whatever is being read */
	char *stdin_chunk;                /* owned; STDIN_CHUNK bytes, when stdin has a source */
	size_t stdin_len, stdin_at;

	bool has_message; /* perhaps: frames are to be looked at */
	bool is_open;     /* the gate: the payload has its job */
	bool is_dead;     /* was seen to be: see cell_is_dead() */
	bool is_ahead;    /* raised while nobody waits for it */
	bool is_warm;     /* such a one that was told that its turn comes soon */
	bool is_roused;   /* or that its job comes now */
	bool is_ready, has_ended;
	bool is_waiting; /* what was started in it has said that nothing is missing but a job */
	bool is_done;    /* its runner said so: what is left of it is not waited for */
	int exec_errno;
	int denied_calls;
	enum cell_cause cause;
	struct init_message end;
	int64_t started_us, ended_us, deadline_us;
	int64_t awake_us;       /* until then we wait without sleeping; 0: never */
	bool is_crowded;        /* at our last look somebody else wanted the processor */
	int64_t earlier_cpu_us; /* used while it stood ready: nobody's job */
	int64_t sampled_cpu_us, sampled_memory, sampled_processes;
	int64_t next_pulse_us; /* 0: not ready yet */
};

/* keeper.c: one that has borrowed its cell. */
struct keeper *keeper_for_loan(enum jail_mode mode, const struct spec *spec);

/* borrow.c: ends its loan. Whether its client stays: then the connection is for the next one. */
bool borrow_end(struct keeper *keeper);
void ahead_keep_seat(struct ahead *ahead, int *conn_fd); /* takes it */

/* cell.c: who owns what we put into the cell's workspace. */
void cell_own_workspace(struct cell *cell);

/* cell.c: how many descriptors go through its gate. */
size_t cell_delivery_count(const struct cell *cell);

/* Tells init that the result is out. */
void cell_note_answer(struct cell *cell);

/* How many of those that its group counts are no processes of the cell's own: 1 or 0. */
int64_t cell_inits(const struct cell *cell);

/* keeper.c: the first time, removes what killed supervisors left. */
void keeper_sweep(struct keeper *keeper);

/* cell.c: a cell that is not raised yet, and raising it: whoever asked need not wait. */
struct cell *cell_new(
	struct keeper *keeper, const struct spec *spec, bool needs_full_proc, enum cell_form form);
int cell_raise(struct cell *cell, struct err *err);

/* cell.c: what the program of its task will be given, ready to go through the gate of a cell that
 * need not be there yet. */
int cell_make_delivery(struct cell *cell, struct err *err);

/* cell.c: closes our copies of what was delivered. */
void cell_let_go(struct cell *cell);

/* cell.c: executes a program in a cell that is being raised, which will wait for its job. */
int cell_start(struct cell *cell, const struct strings *argv, struct err *err);

/* cell.c: the same for a session's, whose end of the line is the cell's; ours is the caller's. */
int cell_start_session(struct cell *cell, const struct strings *argv, const struct strings *env,
	int *ret_line_fd, struct err *err);

/* cell.c: gives such a program its job. */
int cell_send_job(struct cell *cell, struct err *err);

/* supervise.c: from the gate's GO to the death of the cell's last process. */
int cell_supervise(struct cell *cell, struct err *err);

/* supervise.c: one round of the watch: waits until something happens, and sees to it. */
int cell_watch(struct cell *cell, struct err *err);

/* supervise.c: takes what is left in pipes and channel. */
void cell_drain(struct cell *cell);

/* turn.c: hears the keeper of a session, and says the next part of what its runner is to hear. */
void turn_hear(struct cell *cell);
void turn_say(struct cell *cell);

/* cell.c: makes streams and channel; the program's ends are in cell->delivery. */
int cell_make_streams(struct cell *cell, struct err *err);

/* cell.c: what the client's next task will most likely want, for a cell whose task is not known
 * yet. What is missing is made when it is. */
void cell_foresee(struct cell *cell, const struct ahead *ahead);
void cell_assign(struct cell *cell, const struct task *task, struct result *result);
void cell_report(const struct cell *cell, struct report *report);

/* supervise.c: sends what is to be delivered. The gate opens in advance: the payload passes it once
 * its own walls and init's are up. */
int cell_open_gate(struct cell *cell, struct err *err);

/* supervise.c: from now on the cell's end does not take its mounts down, which takes long. */
void cell_hold_mounts(struct cell *cell);

/* supervise.c: hear one message, of the cell's init and of its payload at the gate. */
void cell_hear_init(struct cell *cell);
void cell_hear_gate(struct cell *cell);

/* supervise.c: takes what a parked cell said so far. False: nothing. */
bool cell_collect(struct cell *cell);

/* supervise.c: whether all is done that can be done before there is a job. What was started in it
 * may still be at it when the cell is ready. */
bool cell_stands(const struct cell *cell);

/* supervise.c: tells a guest that stands that its turn comes soon: it takes the pages it will need
 * (interpreter/habit.c). False: there is nobody to tell. */
bool cell_warm(struct cell *cell);

/* supervise.c: opens what its user will read when it is done; for a cell that stands. */
void cell_open_gauges(struct cell *cell);

/* supervise.c: waits for init's word where the workspace is. */
int cell_await_workspace(struct cell *cell, struct err *err);

/* supervise.c: ends every process of the cell, and waits for it. */
void cell_strike(struct cell *cell);
void cell_kill(struct cell *cell);

/* supervise.c: whether that has happened. */
bool cell_is_dead(struct cell *cell);

/* cell.c: why the cell could not be raised. Returns -1. */
int cell_failure(const struct cell *cell, struct err *err);

/* cell.c: removes every trace of a dead cell. NULL is fine. */
void cell_free(struct cell *cell);

/* verdict.c: fills the result from how the cell ended and what the kernel counted. */
void cell_judge(struct cell *cell);

/* verdict.c: meta.isolation from the report. */
void cell_describe(const struct cell *cell, const struct report *report);
