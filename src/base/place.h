/* SPDX-License-Identifier: Apache-2.0 */
/* Where our own things are: programs beside this one, and a directory of this user alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { PLACE_MAX = 256 }; /* bytes of the run directory's path */

/* The parts of the paths below: hotcell begins before there is a C library to join them. */
#define PLACE_RUN "/run"
#define PLACE_STATE "/var/lib"
#define PLACE_NAME "/hotcell"
#define PLACE_TMP "/tmp/hotcell-" /* and the user's number */
#define PLACE_SOCKET "/hotcelld.sock"

/* /run/hotcell for root; a user's own runtime directory, else a private one in /tmp. */
void place_run_dir(char *path, size_t size);

/* Makes and opens it. It must be ours alone: another user's would let them stand in our way. The
 * descriptor (O_PATH) is the caller's. */
int place_open_run_dir(int *ret_fd, struct err *err);

/* Where what must last is kept: HOTCELL_STATE_DIR; /var/lib/hotcell for root; a user's own state
 * directory. The path (owned by the caller) may not exist yet. */
int place_state_dir(char **ret_path, struct err *err);

/* Where our parts are looked for, by number, the best place first; false past the last. A program
 * has the directory it is in. The library is loaded into the programs of others and brings its own
 * answer to this and the next (lib/home.c), so these two are weak. */
bool place_home(size_t number, char *path, size_t size);

/* Whether the process is somebody else's program: it may have threads, be large and hold secrets,
 * so no cell may begin as a copy of it. */
bool place_is_foreign(void);

/* A program of ours: in a home or near it, as the trees of a build and of an installation have
 * them. */
int place_program(const char *name, char *path, size_t size, struct err *err);
