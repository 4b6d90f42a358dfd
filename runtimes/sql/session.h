/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sql/shell.h"

/* Serves the line of a session until it closes; the exit status. The shell is open. */
int session_serve(struct shell *shell, int line_fd);
