/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network namespace takes the kernel half a millisecond to make, and longer to take down. So the
 * network of a dead cell serves the next cell of the same policy, but only when the first one left
 * it exactly as it was. Whether it did is seen, not believed: every file that the kernel shows of
 * the network, counters and living sockets alike, is opened before any code runs in it, read then,
 * and read again when the cell is dead and the next one is to have it (those that
 * no cell can change, now and then). One byte of difference, or anything that cannot be read, and
 * the network goes, as do all after NETWORK_USES cells. Only networks without any interface that is
 * up are treated so: nothing in them can be on its way.
 *
 * Nobody enters the network for that, and nothing is left of it when we are killed: all there is
 * are descriptors. docs/en/SANDBOX.md tells what else a network remembers, and why not here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
	NETWORK_USES = 1000,
	NETWORKS_MAX = 96,      /* that are watched, in use or not */
	NETWORKS_IDLE = 48,     /* of these, in no use */
	NETWORKS_QUIET = 4,     /* the same when nothing is asked for */
	NETWORKS_CHANGED = 16,  /* in a row: then it is not worth the trouble */
	NETWORK_FILES = 128,    /* with more, networks are not watched */
	NETWORK_TEXT = 1 << 16, /* nor with one longer than this */
};

struct network;

struct network_text {
	char *bytes; /* owned */
	size_t len;
};

/* The networks of one policy's cells. Starts as zeros, which allows none to be used again. */
struct networks {
	bool is_allowed;
	bool has_looked;                          /* for the names of files */
	char *names[NETWORK_FILES];               /* owned; beneath /proc/PID/net */
	bool is_seldom_read[NETWORK_FILES];       /* of them */
	size_t name_count;                        /* 0: they cannot be watched here */
	struct network_text first[NETWORK_FILES]; /* of the first network; most are alike */
	struct network *idle;                     /* owned; in no use */
	size_t idle_count;                        /* of them */
	size_t count;                             /* of all that are watched */
	unsigned int changed_in_row;              /* came back other than they were */
};

/* Whether networks may be used again. Those in no use are let go when not. */
void networks_allow(struct networks *networks, bool is_allowed);
void networks_done(struct networks *networks);

/* Begins to watch the network `pid` is in, a process behind `pidfd` that runs no code but ours.
 * Takes `network_fd`. NULL: it is not to be used again. */
struct network *networks_watch(struct networks *networks, int network_fd, pid_t pid, int pidfd);

/* One that is as it was when it was made, or NULL. Its descriptor is borrowed. */
struct network *networks_take(struct networks *networks);
int network_fd(const struct network *network);

/* Lets one go when there are more than quiet times need. */
void networks_shrink(struct networks *networks);

/* Takes the network of a cell. `is_empty`: nobody of it is left. NULL is fine. */
void networks_give(struct networks *networks, struct network *network, bool is_empty);
