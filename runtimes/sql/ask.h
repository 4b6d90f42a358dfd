/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a session beside running code. Each gives the event that answers. */
#pragma once

#include <json-c/json.h>

#include "sql/shell.h"

struct json_object *ask_complete(struct shell *shell, struct json_object *request);
struct json_object *ask_inspect(struct shell *shell, struct json_object *request);
struct json_object *ask_is_complete(struct shell *shell, struct json_object *request);
