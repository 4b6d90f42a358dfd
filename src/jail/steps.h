/* SPDX-License-Identifier: Apache-2.0 */
/* The functions behind jail_steps, by the file that holds them. */
#pragma once

#include <sys/stat.h>

#include "jail/jail.h"

/* template.c */
int raise_user_namespace(struct raising *raising, struct err *err);
int raise_mount_namespace(struct raising *raising, struct err *err);
int raise_rootfs(struct raising *raising, struct err *err);
int raise_devices(struct raising *raising, struct err *err);
int raise_host_mounts(struct raising *raising, struct err *err);
int raise_pivot(struct raising *raising, struct err *err);

/* commands.c */
int collect_programs(struct raising *raising, int root_fd, struct err *err);
int raise_commands(struct raising *raising, struct err *err);

/* template.c: makes a detached copy of the tree at `fd` with these attributes from birth. */
int clone_tree(
	int fd, uint64_t attrs, int userns_fd, const char *what, int *ret_fd, struct err *err);

/* template.c: makes a file that is not there yet. 0 or -errno. */
int make_text_file(const char *path, const char *text);

/* What may still be copied into a template. */
struct copy_allowance {
	int entries;
	int64_t bytes;
};

/* copy.c: whether a file or directory is so small that it is copied, not mounted; takes it off the
 * allowance then. What not everybody may read is not. */
bool copy_is_small(int fd, const struct stat *st, struct copy_allowance *allowance);

/* copy.c: at a path that is not there yet. */
int copy_to(int fd, const char *path, const struct stat *st, struct err *err);

/* cell.c */
int raise_cgroup(struct raising *raising, struct err *err);
int raise_cgroup_namespace(struct raising *raising, struct err *err);
int raise_no_nested_namespaces(struct raising *raising, struct err *err);
int raise_workspace(struct raising *raising, struct err *err);
int raise_proc(struct raising *raising, struct err *err);
int raise_hostname(struct raising *raising, struct err *err);
int raise_session(struct raising *raising, struct err *err);
int raise_rlimits(struct raising *raising, struct err *err);

/* cell.c: takes the detached tree, which must not die unplaced: the kernel waits for a grace period
 * then. */
int place_tree(int tree_fd, const char *to, uint64_t attrs, struct err *err);

/* users.c: writes the template's, beneath the working directory; makes a place for those of its
 * cells' users; and puts those that a cell took where programs look. */
int users_make(const struct plan *plan, struct err *err);
int users_make_place(struct err *err);
int users_place(const struct raising *raising, struct err *err);

/* network.c */
int raise_network(struct raising *raising, struct err *err);
int raise_loopback(struct raising *raising, struct err *err);

/* confine.c */
int raise_init_guard(struct raising *raising, struct err *err);
int raise_uid(struct raising *raising, struct err *err);
int raise_capabilities(struct raising *raising, struct err *err);
int raise_no_new_privs(struct raising *raising, struct err *err);
int raise_seccomp(struct raising *raising, struct err *err);
const struct filter *filter_of(const struct plan *plan); /* of the program's processes */

/* Whether a given directory goes below /home/user or /tmp: it waits in the template's /run until
 * these are there. */
bool is_in_workspace(const char *path);

/* landlock.c */
int raise_landlock(struct raising *raising, struct err *err);

/* idmap.c: a descriptor of a user namespace that maps `host_id` to `cell_id`. */
int idmap_open(uint32_t host_uid, uint32_t host_gid, uint32_t cell_uid, uint32_t cell_gid,
	int *ret_fd, struct err *err);

/* steps.c: writes the failure of a step into the report. Returns -1. */
int step_fail(struct raising *raising, enum step_id id, struct err *err);

/* Says what a step did, for --explain: a template's in words, a cell's in a number (words.c). */
void step_note(struct raising *raising, enum step_id id, int value, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void step_value(struct raising *raising, enum step_id id, int value);
