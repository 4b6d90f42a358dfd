/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper owns zygotes and cells: it takes a slot and cgroups, has a zygote raise a cell, feeds
 * it, watches it, judges how it ended and leaves nothing behind. `hotcell run` links it and keeps
 * its one cell itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/load.h"
#include "jail/jail.h"
#include "model/message.h"
#include "model/policy.h"
#include "model/result.h"
#include "model/spec.h"

enum { STREAM_OUT = 0, STREAM_ERR, STREAM_COUNT };

/* How a run is doing. */
struct pulse {
	int64_t elapsed_us, timeout_ms;
	int64_t memory;       /* bytes; -1: not known */
	int64_t output_bytes; /* of both streams */
};

/* Where output goes while it comes. `render` turns a chunk into what is written to
 * fds[stream]; both streams may share one descriptor. A slow reader slows the cell, never the
 * deadline. */
struct outlet {
	int fds[STREAM_COUNT]; /* -1: nowhere */
	void (*render)(
		void *context, int stream, const char *data, size_t len, struct buf *pending);
	/* What a runner said, as an event; NULL: nobody follows. */
	void (*announce)(void *context, const struct message *message, struct buf *pending);
	/* Called a few times each second after the first, while nothing waits to be written; NULL:
	 * nobody looks. */
	void (*tick)(void *context, const struct pulse *pulse);
	/* Called while others are served first, with their number, and when it is this task's turn;
	 * NULL: nobody looks. */
	void (*queued)(void *context, unsigned int ahead);
	void (*begun)(void *context);
	void *context;
};

/* What a message of a runner means for its cell. */
struct heard {
	bool is_nonsense; /* the runner is not heard any more */
	bool is_done;     /* the program has ended, with this exit code */
	int exit_code;
	bool is_interrupted; /* because somebody interrupted it */
	int64_t waited_us;   /* for a person: the deadline does not count it */
};

/* Who hears what the cell's runner says. `hear` gets one message; what it appends to `pending`
 * goes to the outlet's stdout. */
struct ear {
	struct heard (*hear)(void *context, const char *data, size_t len, struct buf *pending);
	void *context;
};

/* Where a cell that compiles makes its program, and the cell that runs it finds it. */
#define BUILD_NAME "hotcell-build"
#define BUILD_FILE "main"
#define BUILD_DIR "/tmp/" BUILD_NAME
#define BUILD_PATH BUILD_DIR "/" BUILD_FILE

/* One execution, resolved: what the cell will be given. */
struct task {
	const struct spec *spec;
	const struct strings *argv;
	/* the code's file and its arguments, for a cell in which the rest of argv runs already */
	const struct strings *own_argv;
	const char *program; /* file name of the code in /home/user, or NULL */
	const char *code;
	size_t code_len;
	bool needs_full_proc;
	enum cell_form form;            /* of the cell it is meant for */
	const struct strings *standing; /* and what stands ready in it; NULL: nothing */
	struct outlet outlet;
	struct ear ear;      /* without hear() the program gets no channel */
	const char *policy;  /* what the runner is told of the guard, as JSON; NULL: nothing */
	bool is_build;       /* it makes BUILD_PATH, and its stdout goes where its stderr goes */
	const int *build;    /* what an earlier cell made: put at BUILD_PATH; NULL: nothing */
	struct ahead *ahead; /* where its cell may be held already; NULL: nowhere */
	int interrupt_fd;    /* readable: end the run as interrupted; -1: none */
	/* Asked when it is readable, where more than interrupts comes from there; NULL: it is one.
	 */
	bool (*is_interrupt)(void *context);
	void *interrupt_context;
	/* Called when nothing is left but to wait for the program; NULL: nobody uses the time. */
	void (*meanwhile)(void *context);
	void *meanwhile_context;
};

/* Whether what came from the task's interrupt_fd is an interrupt. */
static inline bool task_is_interrupt(const struct task *task)
{
	return !task->is_interrupt || task->is_interrupt(task->interrupt_context);
}

struct keeper;
struct json_object;

enum keeper_life {
	KEEPER_ONCE = 0, /* one cell, then it closes */
	KEEPER_RESIDENT, /* one cell after the other: the zygote prepares the next */
	KEEPER_LENDER,   /* many cells at once, each with a slot of its own */
	KEEPER_PROBE,    /* for keeper_probe() alone */
};

/* Starts a zygote and has it raise the template for this spec's root and mounts. `runtime` is the
 * directory of the language's runner, or NULL. What a killed supervisor left is removed with the
 * first run, while init is at work. */
int keeper_open(const struct spec *spec, const char *runtime, enum keeper_life life,
	struct keeper **ret_keeper, struct err *err);

/* The next cell of a client that stays, held before it is needed: a run then begins with neither
 * daemon nor keeper. Of one policy at a time, the last that was borrowed. The keeper may have it
 * back when it is not used for some seconds; who comes then borrows as anybody else. Starts as
 * AHEAD_NONE. */
struct ahead {
	int seat_fd;                 /* owned; the last loan's connection, kept for the next; -1 */
	int conn_fd;                 /* owned; where it was asked for and did not come yet; or -1 */
	struct keeper *keeper;       /* owned; has it; or NULL */
	char *text;                  /* owned; the policy of the last cell, and of the next */
	struct policy policy;        /* the same; nothing before there is a text */
	struct policy_places places; /* where it led when its text was written, */
	bool has_places;             /* if that is known */
	char *socket;                /* owned; where */
	int64_t refused_us;          /* when it was last asked for in vain; 0: never */
	struct load load;            /* open once a cell was held */
	bool is_brisk; /* the last run was over so soon that sleeping meanwhile was a waste */
	char *program; /* owned; the name of the last program's file; NULL: none */
	int build_fd;  /* owned; what a compiler had made of it; -1: nothing */
};
#define AHEAD_NONE                                                                 \
	{                                                                          \
		.seat_fd = -1, .conn_fd = -1, .load = { .fd = -1 }, .build_fd = -1 \
	}

/* Asks for it, and waits for nothing. For when the last result has been told. */
void ahead_ask(struct ahead *ahead);

/* Where the answer comes from, and the word that the cell is wanted back; -1: nothing is to be
 * heard. Borrowed. */
int ahead_fd(const struct ahead *ahead);

/* Takes what came from there: a cell is made ready as far as that can be before its job is known,
 * and one that is wanted back is let go of. Waits for nothing. */
void ahead_collect(struct ahead *ahead);

/* Has its payload wake up while its job is written, where a processor is idle. Once is enough. */
void ahead_rouse(const struct ahead *ahead);
void ahead_done(struct ahead *ahead);

/* Who asks for a cell that stands ready. */
struct borrower {
	int interrupt_fd; /* readable: no longer wanted; -1: none */
	void (*queued)(void *context, unsigned int ahead); /* as in struct outlet */
	void *context;
	const struct task *task; /* what it is for: the client gets ready while it waits; or NULL */
	struct ahead *ahead;     /* of a client that stays; or NULL */
};

/* Whether every cell has this variable, "NAME=VALUE", by itself. */
bool keeper_has_variable(const char *variable);

/* Borrows a cell of this policy: a keeper for one task, as KEEPER_ONCE is. 1: there it is; 0:
 * nobody lends here; -1: it was refused. */
int keeper_borrow(const struct policy *policy, const struct borrower *borrower,
	struct keeper **ret_keeper, struct err *err);

/* Raises a cell ahead of its task: everything is done but the job. The next run takes it when its
 * limits are the same. What the last cell left is removed first. */
int keeper_park(struct keeper *keeper, const struct spec *spec, bool needs_full_proc,
	enum cell_form form, struct err *err);

/* Starts an interpreter that stands ready to become the payload of cells: the program and its
 * arguments, of which the first is the text that makes it a zygote. */
int keeper_host(struct keeper *keeper, const struct strings *argv, struct err *err);

/* Whether it does by now: it takes a moment, it may fail, and it may die. */
bool keeper_is_host(const struct keeper *keeper);

/* Waits until it does; an error says why it will not. */
int keeper_await_host(const struct keeper *keeper, struct err *err);

/* Once in a while: replaces an interpreter that died, or that served long enough. */
void keeper_renew_host(struct keeper *keeper, const struct strings *argv);

/* Removes what the last cell left and prepares for the next, for when there is time; the next run
 * would do it first. */
void keeper_tidy(struct keeper *keeper);

/* Also removes what the last cell left; nothing of it remains. */
void keeper_close(struct keeper *keeper);

/* Runs one task in a fresh cell; the cell is dead on return, its traces go with the next run or
 * the close. -1 only when it never started: then the error is for the
 * person who asked. Otherwise the result holds the verdict, whatever it was. `report` (may be
 * NULL) receives what each step did, also when one failed. */
int keeper_run(struct keeper *keeper, const struct task *task, struct result *result,
	struct report *report, struct err *err);

/* Takes what the last cell, a build, left at BUILD_PATH: a file or a directory, open for reading.
 * It outlives the keeper. */
int keeper_take_build(struct keeper *keeper, int *ret_fd, struct err *err);

/* Copies it to the host, to a name that is not there yet. What a failure leaves is the caller's
 * to remove. */
int build_save(int build_fd, int dir_fd, const char *name, struct err *err);

/* Raises a cell that runs nothing, going past steps that fail, and reports each of them. */
int keeper_probe(struct report *report, enum jail_mode *ret_mode, struct err *err);

/* ---- turns in a session that another keeper holds -----------------------------------------------
 */

/* Whether it can be the name of a session or of a point. */
bool session_name_is_sound(const char *name);

struct turn_wish {
	int conn_fd;        /* to the daemon, or to the keeper it passed us on to */
	const char *ask;    /* JSON: what is asked for there */
	struct buf *frames; /* for the runner; what is added while the turn lasts goes to it too */
	int64_t grace_ms;   /* from an interrupt to the end */
	/* The turn is ours; `words`, JSON, tell of the session. Settles the task's spec. */
	int (*granted)(void *context, const char *words, size_t len, struct err *err);
	/* It is not, before its code was looked at; `words` say what for. Fills *err. */
	void (*unchecked)(void *context, const char *words, size_t len, struct err *err);
	void *context;
};

/* How it went with the session. */
struct turn_end {
	bool was_interrupted; /* by us: the time or another limit was over, or it was not wanted */
	bool has_died;        /* the session's process ended with the turn */
	char why[192];
	bool is_back; /* and it was brought back to this point */
	uint32_t back_id;
	char back_name[68];
};

/* Takes one turn: like keeper_run(), but the cell lives on. -1: nothing was run. */
int keeper_take_turn(const struct turn_wish *wish, const struct task *task,
	struct turn_end *ret_end, struct result *result, struct err *err);

/* ---- files of a session, for whoever has its workspace ------------------------------------------
 *
 * A path is below /home/user. Nothing there is trusted: it is shaped by code that may run
 * meanwhile. So no link is followed and nothing but a plain file is opened. ERR_MISSING: there is
 * none; ERR_INVALID: it is none that could be had.
 */

/* The path as it is used here (owned by the caller): relative, without "." and "..". */
int home_path(const char *given, char **ret_path, struct err *err);

/* For reading. */
int home_open(int workspace_fd, const char *path, int *ret_fd, struct err *err);

/* A new file that has no name yet, for writing; and its name, in one step in place of what had it.
 * Directories are made. */
int home_create(int workspace_fd, int *ret_fd, struct err *err);
int home_name(int workspace_fd, int fd, const char *path, struct err *err);

/* Why a file could not be written. Returns -1. */
int home_refuse_write(int sys, const char *path, struct err *err);

/* A file, a link, or a directory that is empty. */
int home_remove(int workspace_fd, const char *path, struct err *err);

/* What --out asks for, of a session whose code may run: as after a run. */
int home_collect(int workspace_fd, const struct spec *spec, struct result *result, struct err *err);

/* What is in the home of a workspace:
 * {"files":[{"path","kind","size","modified"},…],"count","bytes"}, the caller's. Of very many files
 * only the first are named. */
struct json_object *keeper_list_files(int workspace_fd);

/* The session's files, as far as the asker gave some: copies spec->files into the workspace that
 * came with a new session. */
int keeper_fill_workspace(int workspace_fd, const struct spec *spec, struct err *err);
