/* SPDX-License-Identifier: Apache-2.0 */
/* The zygote, as its supervisor starts it. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum { ZYGOTE_CONTROL_FD = 3 }; /* where the program finds its socket */

/* Answers requests (enum zygote_request) until the supervisor closes its end. */
void zygote_serve(int control_fd);

/* A zygote in a copy of the calling process, which must be small and single-threaded: it costs a
 * third of starting the program. 0 or -errno. */
int zygote_fork(int control_fd, pid_t *ret_pid);

/* The same, born in the namespaces of `flags` and, with a descriptor >= 0, into that v2 cgroup: it
 * raises one cell by becoming its init, which spares a process. *ret_pidfd is the caller's. */
int zygote_bear(int control_fd, uint64_t flags, int cgroup_fd, pid_t *ret_pid, int *ret_pidfd);
