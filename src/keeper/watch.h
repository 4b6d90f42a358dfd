/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher: answers the calls that the filter hands over, and remembers them as denials. */
#pragma once

#include "model/result.h"

/* Answers what is waiting. Returns how many were answered, or -1 when there is nothing more to
 * hear. It never lets a call through. */
int watch_answer(int listener_fd, struct result *result);
