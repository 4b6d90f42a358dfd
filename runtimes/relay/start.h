/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "relay/relay.h"

/* Starts the program as the relay's child, with pipes and a process group of its own. -1:
 * relay->why says why not. */
int start_child(struct relay *relay, char **argv);

/* Runs a program that is gone in a moment, `code` as its last argument (a path), and collects what
 * it says on stderr. Its exit status, -1 when it does not come to an end. */
int start_check(char *const *argv, struct buf *said);
