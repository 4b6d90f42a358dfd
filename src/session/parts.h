/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the room share. */
#pragma once

#include "base/err.h"

/* A connection to the daemon, which passes it on to the keeper. Where nobody serves one is started,
 * unless there can be nothing to find: then *ret_fd is -1, if the caller did not ask for one
 * anyway. */
int session_connect(bool is_needed, int *ret_fd, struct err *err);
