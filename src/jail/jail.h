/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jail turns a plan, which is pure data, into walls. One table of steps (jail_steps) says
 * which walls there are, in which order and in which process each is raised; raising a cell walks
 * it. The same table is what doctor lists, --explain prints, meta.isolation is made from and the
 * fail-closed test goes through, so none of them can forget a wall.
 *
 * Plan and report share one memory page between supervisor, zygote, init and payload: a step that
 * fails writes its name and errno there and the process ends, so the words a person reads are the
 * kernel's own. The payload loses the page when it executes the program.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "jail/filter.h"
#include "jail/job.h"
#include "model/limits.h"
#include "model/spec.h"

enum step_id {
	STEP_NONE = 0,
	/* in the zygote, once per template */
	STEP_USER_NAMESPACE,
	STEP_MOUNT_NAMESPACE,
	STEP_ROOTFS,
	STEP_DEVICES,
	STEP_HOST_MOUNTS,
	STEP_COMMANDS,
	STEP_PIVOT,
	/* in the zygote, for the next cell */
	STEP_NETWORK,
	STEP_LOOPBACK,
	/* by the clone that makes the cell's init */
	STEP_CELL_USER_NAMESPACE,
	STEP_CELL_MOUNT_NAMESPACE,
	STEP_PID_NAMESPACE,
	STEP_IPC_NAMESPACE,
	STEP_UTS_NAMESPACE,
	/* in the cell's init */
	STEP_CGROUP,
	STEP_CGROUP_NAMESPACE,
	STEP_NO_NESTED_NAMESPACES,
	STEP_HOSTNAME,
	STEP_SESSION,
	STEP_RLIMITS,
	/* in init, while the payload confines itself */
	STEP_WORKSPACE,
	STEP_PROC,
	STEP_INIT_GUARD,
	/* in the payload, before it executes the program */
	STEP_UID,
	STEP_CAPABILITIES,
	STEP_NO_NEW_PRIVS,
	STEP_SECCOMP,
	/* in the payload, once everything is mounted */
	STEP_LANDLOCK,
	STEP_ID_COUNT,
};

enum step_stage {
	STAGE_NONE = 0,
	STAGE_TEMPLATE,
	STAGE_NETWORK,
	STAGE_CLONE,
	STAGE_INIT,
	STAGE_MOUNT,
	STAGE_GUARD,
	STAGE_PAYLOAD,
	STAGE_LANDLOCK,
	STEP_STAGE_COUNT,
};

enum step_state {
	STEP_NOT_REACHED = 0,
	STEP_NOT_WANTED,
	STEP_RAISED,
	STEP_FAILED,
};

enum jail_mode {
	MODE_NONE = 0,
	MODE_ROOT,     /* CAP_SYS_ADMIN here: a uid of its own per cell, no user namespace */
	MODE_ROOTLESS, /* an ordinary user: a user namespace for the zygote and one for each cell */
};

enum cgroup_kind {
	CGROUP_NONE = 0,
	CGROUP_V1,
	CGROUP_V2,
};

struct plan_mount {
	char from[PATH_MAX];
	char to[1024];
	bool is_writable;
};

struct plan {
	uint32_t magic;
	enum jail_mode mode;
	uint64_t wanted;    /* bit per step */
	enum step_id fault; /* made to fail, for the fail-closed test */
	bool is_resident;   /* more cells will follow: have the next network ready */
	bool may_copy;      /* what is small, into the template: who asks hears of changes */
	bool is_probe;      /* walk every step, then leave instead of executing */
	bool is_restricted; /* only the template's programs can be executed */

	/* the cell */
	uint32_t uid, gid;           /* as seen inside */
	uint32_t host_uid, host_gid; /* the caller's */
	enum net_mode net;
	bool has_full_proc;
	bool has_guest; /* init forks no payload: one comes from an interpreter that stands ready */
	bool has_network; /* one is handed over; without, the cell makes its own */
	bool is_lent;     /* somebody else than its client ends it */
	enum cgroup_kind cgroup;
	uint32_t cgroup_fd_count;
	int64_t disk, inodes, pids, memory, cpu_time_ms;
	uint64_t processors; /* a bit for each that the program may run on; 0: as it is */
};

enum {
	LIMIT_PROGRAMS = LIMIT_COMMANDS + 1, /* and the interpreter */
	LIMIT_PROGRAM_PATH = 256,
};

struct step_outcome {
	enum step_state state;
	int32_t value; /* Landlock's ABI, whether calls are watched, … */
	uint32_t took_us;
	char detail[96]; /* what it did, for --explain; of a cell's steps after jail_tell_steps() */
};

struct report {
	struct step_outcome steps[STEP_ID_COUNT];
	enum step_id failed; /* STEP_NONE: nothing failed */
	int32_t failed_errno;
	char failed_text[256];
	uint32_t unmapped_mounts; /* bit per mount that kept its host owners */
	int64_t started_us;       /* when the payload went to execute the program */
	int32_t guest_pid; /* of a payload init did not fork, in the cell; 0: not there yet */
};

enum { LIMIT_WATCHED = 96 };

/* What a supervisor, or the keeper of a session, tells its init, at any time: the only process of
 * the cell that still has the page then. */
struct orders {
	uint32_t is_answered; /* nobody asks any more how the payload ended */
	uint32_t is_session;  /* init stays when its payload ends, for as long as anybody is left */
	int32_t watched[LIMIT_WATCHED]; /* pids in the cell whose end init tells; 0: none */
};

/* What supervisor, zygote and cell share. Small: every cell has its own. */
struct cell_page {
	struct plan plan;
	struct report report;
	struct orders orders;
	uint32_t hold; /* enum hold, of the keeper; nothing of the cell looks at it */
};

/* What a zygote's cells have in common; the zygote keeps it mapped. */
struct template_page {
	struct cell_page base;
	/* in the same page of memory, of which an init needs no other when both are 0 */
	uint32_t mount_count;
	uint32_t program_count;
	char rootfs[PATH_MAX];  /* "/" is the host's */
	char runtime[PATH_MAX]; /* shown at RUNTIME_DIR; empty: none */
	struct plan_mount mounts[LIMIT_MOUNTS];
	/* a restricted cell's programs, each as a path of the root file system, and the loader they
	 * ask the kernel for; empty: none needs one */
	char programs[LIMIT_PROGRAMS][LIMIT_PROGRAM_PATH];
	char loader[LIMIT_PROGRAM_PATH];
};
_Static_assert(offsetof(struct template_page, rootfs) <= 4096, "an init needs one page of it");

enum { PLAN_MAGIC = 0x68634c07 };

/* Where a cell's programs begin. */
#define HOME_DIR "/home/user"

/* Where a cell finds the runner of its language. */
#define RUNTIME_DIR "/run/hotcell"

/* Descriptors that come with a request to raise a cell, in this order; then the `tasks` files of
 * its v1 cgroups. */
enum cell_fd {
	CELL_FD_PAGE = 0,
	CELL_FD_GATE,
	CELL_FD_LOCK,
	CELL_FD_NETWORK,
	CELL_FD_COUNT,
	CELL_FD_CGROUP = CELL_FD_COUNT,
};

/* The program's descriptors, which come through the gate in this order. */
enum gate_fd {
	GATE_FD_STDIN = 0,
	GATE_FD_STDOUT,
	GATE_FD_STDERR,
	GATE_FD_CHANNEL, /* not every program has one */
	GATE_FD_COUNT,
};

/* Descriptors that come with a request for a guest, in this order; then the `tasks` files of its v1
 * cgroups, or the directory of its v2 cgroup. */
enum guest_fd {
	GUEST_FD_PAGE = 0,
	GUEST_FD_GATE,
	GUEST_FD_INIT, /* the pidfd of the init whose cell it enters */
	GUEST_FD_COUNT,
};

enum { CGROUP_FDS_MAX = 4 };

struct raising;

struct jail_step {
	enum step_stage stage;
	const char *name;  /* as in errors, --require, HOTCELL_FAULT and meta.isolation */
	const char *title; /* as in doctor and --explain */
	const char *fix;   /* what a person does when it is missing */
	uint64_t clone_flag;
	enum jail_mode only; /* MODE_NONE: both */
	bool is_optional;    /* may be left out with --without; the result says so */
	bool is_personal;    /* init's children inherit it, but a guest must do it for itself */
	int (*apply)(struct raising *raising, struct err *err);
};

extern const struct jail_step jail_steps[STEP_ID_COUNT]; /* [STEP_NONE] is empty */

const struct jail_step *jail_step_find(const char *name);
enum step_id jail_step_id(const struct jail_step *step);

/* Every step of this mode: the local set that --require defaults to. */
uint64_t jail_steps_of(enum jail_mode mode, enum net_mode net);

/* The same and those that this plan asks for by itself. */
uint64_t jail_steps_of_plan(const struct plan *plan);

/* Where programs are looked for, in this order, without the first slash; NULL-terminated. In a
 * restricted cell each of them is covered. */
extern const char *const jail_program_dirs[];

/* A process on its way into the cell; every stage works on one. */
struct raising {
	struct cell_page *page;
	uint64_t processors; /* of its plan, which a guest may have let go of */
	const struct template_page *template;
	int fds[CELL_FD_COUNT + CGROUP_FDS_MAX];
	int status_fd;           /* where the request came from: what init says goes there */
	int listener_fd;         /* the watcher's end of the seccomp filter */
	int io_fd;               /* its own /proc/self/io, of an init or a guest */
	int life_fd;             /* hangs up when the zygote dies */
	bool has_spare_network;  /* the zygote is in a network namespace nobody used yet */
	bool is_used_network;    /* an earlier cell was in the one that is handed over */
	bool has_user_namespace; /* an interpreter is in its zygote's already */
	bool is_guest;           /* we are the payload, and no init */
	bool is_born;            /* the zygote was born in the cell's namespaces */
	bool has_fds;            /* the program's descriptors are in their places, */
	bool is_home;            /* and so is the payload: it is in HOME_DIR */
	bool has_users;          /* its user has files of his own: in this directory */
	int users_fd;
	struct jail_trees *trees; /* private to the template stage */
	struct jail_programs *programs;
};

/* What init tells the supervisor. */
enum init_kind {
	INIT_NONE = 0,
	INIT_WORKSPACE, /* with a descriptor of the workspace */
	INIT_ENDED,     /* the payload ended, or in a session one that is watched: the rest is
			 * filled in */
	INIT_KIND_COUNT,
};

struct init_message {
	enum init_kind kind;
	int32_t wait_status;
	int32_t pid; /* whose, in the cell */
	int64_t cpu_us;
	int64_t max_rss_kb;
	int64_t read_bytes;
	int64_t write_bytes;
};

/* What goes over the gate between payload and supervisor. */
enum gate_kind {
	GATE_NONE = 0,
	GATE_READY,       /* with what `has` says */
	GATE_GO,          /* from the supervisor: the job, as job_send() sends it, with enum gate_fd
			   * unless the right ones were handed over; the last word */
	GATE_WARM,        /* from the supervisor to a guest: its turn comes soon */
	GATE_HAND,        /* from the supervisor: enum gate_fd, ahead of the job; it is on `cpu` */
	GATE_ROUSE,       /* from the supervisor: the word comes at once; a waste to sleep */
	GATE_EXEC_FAILED, /* sys holds the errno */
	GATE_KIND_COUNT,
};

/* What comes with GATE_READY, in this order. */
enum gate_gift {
	GATE_HAS_LISTENER = 1 << 0, /* of the filter */
	GATE_HAS_ACCOUNT = 1 << 1,  /* of a guest: its /proc/self/io */
	GATE_GIFTS_MAX = 2,
	/* With descriptors of a guest's program, in place of the last: what follows GATE_READY one
	 * way and GATE_GO the other are the runner's frames. */
	GATE_IS_CHANNEL = 1 << 2,
};

struct gate_message {
	enum gate_kind kind;
	int32_t sys;
	int32_t cpu;
	uint32_t has;  /* of enum gate_gift */
	uint32_t size; /* of the job that follows GATE_GO; 0: it is in a file, the last of the
			* descriptors */
};

struct gate_word {
	struct gate_message message;
	char job[JOB_SHORT];
};

/* What the supervisor asks of the zygote. */
enum zygote_request {
	ZYGOTE_NONE = 0,
	ZYGOTE_TEMPLATE, /* with the page; to an interpreter without privilege also with the pidfd
			  * of the zygote; no answer, a failure is in its report */
	ZYGOTE_INIT, /* with the new init's end of a socket, and the v2 cgroup, if any; answered by
		      * struct birth_notice */
	ZYGOTE_INIT_IN, /* the same; after the socket comes a network that an earlier cell left as
			 * it was */
	ZYGOTE_RAISE,   /* to an init, or to a zygote that becomes one; with enum cell_fd */
	ZYGOTE_GUEST,   /* to an interpreter: fork a payload into the cell of an init, with enum
			 * guest_fd; no answer: it comes to the gate, or the gate closes */
	ZYGOTE_REQUEST_COUNT,
};

/* Comes with the init's pidfd and, when it is the first in a network that others may be in after
 * it, with that; without any when it failed: the template's report tells why. */
struct birth_notice {
	enum zygote_request request;
	int32_t pid; /* as the zygote sees it */
};

/* What a person is told when a step failed: its name, why, and how to mend it. Returns -1. */
int jail_refuse(enum step_id id, int sys, const char *why, struct err *err);

/* The same when the clone itself failed: the likeliest culprit gets the blame. */
int jail_refuse_birth(enum jail_mode mode, int sys, struct err *err);

/* Walks the steps of one stage. On failure the report names the step. */
int jail_walk(struct raising *raising, enum step_stage stage, struct err *err);

/* ---- guests: guest.c */

/* An interpreter goes into the user namespace of the zygote whose cells it is to serve. 0 or
 * -errno. */
int jail_join_zygote(int zygote_pidfd);

/* Whether the caller is its process's only thread. */
bool jail_is_single_threaded(void);

/* An interpreter in its template gets what a cell would have, for what modules do while they load
 * must reach nobody: no network, the name of a cell, and a place of its own at /tmp, which guests
 * never see. 0 or -errno. */
int jail_seclude(void);

/* While modules load, an interpreter is nobody special: it keeps only what it takes to enter cells,
 * and does not have it in hand. 0 or -errno. */
int jail_lay_down(void);
int jail_take_up(void);

/* Sets those resource limits that every cell has, for the caller and all it forks from now on. */
int jail_hand_down_limits(struct err *err);

/* From now on the caller's children are born into the pid namespace of an init. 0 or -errno. */
int jail_fork_into(int init_pidfd);

/* The /proc in which an interpreter sees processes it forked. The descriptor is the caller's; or
 * -errno. */
int jail_open_proc(void);

/* Makes the caller, which init did not fork but has adopted, a process of init's cell: first what
 * init's children inherit, then its namespaces. Then init is told. */
int jail_join_personally(struct raising *raising, struct err *err);
int jail_join(struct raising *raising, int init_pidfd, struct err *err);

/* Init waits for that. Whoever asked for the cell bounds the wait. Returns the guest's pid. */
pid_t jail_await_guest(const struct raising *raising);

/* The clone flags of the wanted namespaces; a fault on one of them is reported here. */
int jail_clone_flags(struct raising *raising, uint64_t *ret_flags, struct err *err);

/* The same for a zygote that is to become the init of its only cell. */
uint64_t jail_birth_flags(enum jail_mode mode);

/* Marks the steps of STAGE_CLONE as raised, or as failed when errno says so. */
void jail_note_clone(struct raising *raising, int sys);

/* From now on the calling process dies with the zygote; an error when that is dead already. */
int jail_die_with_zygote(const struct raising *raising, struct err *err);

/* Moves the caller into a network namespace that nobody used yet: it takes the kernel long, so a
 * zygote has one ready before it is asked. 0 or -errno. */
int jail_spare_network(void);

/* A descriptor of the network namespace the caller is in, for which it needs no /proc but power
 * over it. The caller's; or -errno. */
int jail_open_network(void);

/* Moves the caller back into a network that it has been in. 0 or -errno. */
int jail_return_to_network(int network_fd);

/* Makes a network namespace for a cell that is being raised meanwhile, and stays out of it. The
 * descriptor is the caller's. 0 or -errno. */
int jail_make_network(int *ret_fd);

/* Takes the network that was begun before main(), when this program begins so (early.c); waits for
 * it. The descriptor is the caller's; -1: there is none. */
int jail_early_network(void);

/* Moves the caller into the user namespace that a network was made in, from where nobody comes
 * back, and into the network. 0 or -errno. */
int jail_enter_network(int network_fd);

/* Empties the caller's bounding set and leaves its groups: a cell inherits both empty. */
void jail_shed(void);

/* In an init, before all else: takes the files that name the cell's user, where they are not the
 * template's. */
int jail_take_users(struct raising *raising, struct err *err);

/* Waits until another process, as init for its payload, has raised this step. */
int jail_await(const struct raising *raising, enum step_id id, struct err *err);

/* Whether the init of such a cell is in none of its groups. All it does for what runs in the cell
 * is to bury orphans, which takes a fraction of what it takes to make one. */
bool jail_has_init_outside(enum cgroup_kind cgroup, bool has_guest);

/* Of a root file system, what is copied into a template that may copy; the last is NULL. What has
 * more entries is mounted all the same. */
enum { JAIL_COPIED_MAX = 2048 };
extern const char *const jail_copied_paths[];

/* A plan from outside the zygote: every count, string and enum in range? */
int jail_check_plan(const struct plan *plan, struct err *err);
int jail_check_template(const struct template_page *template, struct err *err);

/* Says in words what the steps of a cell did. */
void jail_tell_steps(const struct plan *plan, struct report *report);

/* Fills a page of zeros with what processes inside a cell need of its template: paths of the cell,
 * and nothing about the host. */
void jail_copy_inner(struct template_page *to, const struct template_page *from);
