/* SPDX-License-Identifier: Apache-2.0 */
/* The zygote, as its supervisor starts it. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "jail/jail.h"

enum { ZYGOTE_CONTROL_FD = 3 }; /* where the program finds its socket */

/* Of payloads, for the killer that comes when there is no memory left. */
#define OOM_SCORE "500"

/* Answers requests (enum zygote_request) until the supervisor closes its end. */
void zygote_serve(int control_fd);

/* A zygote in a copy of the calling process, which must be small and single-threaded: it costs a
 * third of starting the program. 0 or -errno. */
int zygote_fork(int control_fd, pid_t *ret_pid);

/* Where a zygote is to be born. */
struct cradle {
	enum jail_mode mode;
	int cgroup_fd;  /* v2; -1: where we are */
	int network_fd; /* of a rootless one, with its user namespace; -1: not made yet */
};

/* The same, born in the namespaces of its one cell, which it raises by becoming its init: that
 * spares a process. *ret_pidfd is the caller's. */
int zygote_bear(int control_fd, const struct cradle *cradle, pid_t *ret_pid, int *ret_pidfd);

/* ---- for a zygote inside an interpreter (interpreter/) */

/* Where a process that goes into a template comes from. */
enum template_origin {
	ORIGIN_HOST = 0,
	ORIGIN_BORN,   /* it was born in the namespaces of its only cell */
	ORIGIN_JOINED, /* it is in the user namespace of the zygote it works for */
};

/* Maps a page only when it is whole: a short file would fault later. NULL: it is not. */
void *zygote_map_page(int fd, size_t size);

/* The calling process goes into the template. A failure is on its page too. */
int zygote_raise_template(
	struct template_page *template, enum template_origin origin, struct err *err);

/* What came through the gate. */
struct delivery {
	int fds[GATE_FD_COUNT];
	size_t count;
	bool has_channel; /* besides: the gate */
	char *job;        /* owned; NULL: it is in a file */
	size_t job_size;
	int job_fd;
	int cpu; /* of who handed it over */
};

/* Descriptors of the program: they take the first numbers. */
size_t delivery_count(const struct delivery *delivery);

/* The parts of payload_run(), for one that executes nothing. Raises the walls and says at the gate
 * that they stand. */
int payload_confine(struct raising *raising);

/* Waits there for what is said: GATE_WARM, GATE_HAND or GATE_GO; or less. */
int payload_await_word(const struct raising *raising, struct delivery *delivery);

/* Takes what came ahead of the job: the program's descriptors go where it expects them. */
int payload_settle(struct raising *raising, const struct delivery *delivery);

/* Takes the job, whose strings live as long as the process, and what came with it. */
int payload_take_job(struct raising *raising, struct delivery *delivery, struct job *job);
