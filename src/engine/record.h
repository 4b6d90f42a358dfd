/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "engine/engine.h"
#include "store/store.h"

/* Keeps and records a run that is over, before anybody is told of it. What cannot be is a warning
 * in the result and told in *ret_unrecorded; -1: the run must not be told of without its record,
 * and the result has lost all it said. */
int record(const struct store_run *run, struct result *result, struct err *ret_unrecorded,
	struct err *err);
