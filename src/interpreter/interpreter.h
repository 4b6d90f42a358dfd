/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A zygote inside an interpreter: it holds what takes long to load and forks payloads that have it
 * already. It raises a template as any zygote does, loads its modules in there, and then serves:
 * each request names an init that stands in its namespaces, and the new process joins it as the
 * payload that init did not fork but adopts. The fork is the only moment at which interpreter and
 * cell touch: no byte of a request passes through the interpreter's memory.
 */
#pragma once

#include "jail/jail.h"

/* Waits for the template and raises it; gives up what serving does not need. */
int interpreter_enter(int control_fd, struct err *err);

/* Serves until the supervisor is gone (1), or returns 0 in a new payload whose walls stand; one
 * whose walls do not stand ends. Less: there are threads, which a fork would not copy. `code` is a
 * program that does what most do: what it touches, payloads have ready.
 *
 * The language is not told of the fork. What it would do then is for the threads that are gone and
 * the locks that they held, and there are none; and each page that it did it in would be copied. */
int interpreter_serve(int control_fd, const char *code, struct err *err);

/* Tells the supervisor why there will be no guests, or not this one. */
void interpreter_refuse(const char *why);

/* What a copy of a session needs to be reached. */
struct copy_line {
	int fd;               /* its line, which stays the caller's */
	int place;            /* where that is to be in the copy: in place of the original's */
	unsigned long number; /* of the request for it */
	const char *notes;    /* the rest of its first word, as members of an object */
	bool is_branch;
	bool is_ahead; /* nobody waits for it */
};

/* Makes a copy of this process, which must have one thread: its pid here; less: it could not be
 * made. In the copy, 0, once it is wanted for more than to be copied again; line->is_branch then
 * tells what it is. The copy's parent is ours. The language is not told of this fork either. */
pid_t interpreter_copy(struct copy_line *line, struct err *err);

/* Whether this process had a child that it has buried. */
bool interpreter_had_children(void);

/* Whether there is nothing about this process that a copy of it would lack or share: one thread, no
 * children, no timers, no shared memory, and of descriptors none but the standard ones and
 * `own_fds`. A look at the common case that touches no memory of the interpreter. */
bool interpreter_is_plain(const int *own_fds, size_t count);
bool interpreter_has_descriptors(const int *own_fds, size_t count); /* others than these */

/* The next mapping from *address on that is shared and writable: 1, and its name, which is empty
 * when it has none; 0: there is none; less: an errno, the kernel cannot tell. `maps_fd` is
 * /proc/self/maps. */
int interpreter_next_shared(int maps_fd, uint64_t *address, char *name, uint32_t name_size);

/* What a payload finds when it begins. */
struct arrival {
	struct job job;
	int channel_fd; /* where no program looks for it; -1: there is none */
	uint64_t channel_inode;
	pid_t pid;
	int source_fd; /* owned; the code, where it did not come with the job; -1: it could not be
			* opened */
	size_t source_size;
	bool has_piped_input; /* standard input is a pipe, not /dev/null */
	bool is_alone;        /* the code's file is the only one in the working directory */
	bool is_told_more;    /* a message waits on the channel */
};

/* Whether the caller is the payload, and not a child of it, and its channel is where it was. */
bool interpreter_is_owner(void);
bool interpreter_is_heard(void);

/* Says, as the last thing, that the program is done. Whoever hears it looks at us once more and
 * ends the cell, so we stay for a moment. */
void interpreter_say_done(int exit_code);

/* Waits for the job and looks around. 0; 1: it comes soon, and there is time to do for practice
 * what it will take; less: there is nothing to do any more. */
int interpreter_arrive(struct arrival *ret_arrival);
