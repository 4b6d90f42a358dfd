/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the daemon that runs: how it is, and for its sessions. It is never started for that. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct json_object;

/* How things are (the caller's); `is_whole` also lists the cells that are lent. */
int status_ask(const char *path, bool is_whole, struct json_object **ret_json, struct err *err);

/* {"sessions":[…]}, the caller's. */
int status_sessions(const char *path, struct json_object **ret_json, struct err *err);
