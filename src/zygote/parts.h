/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a cell, as the zygote starts them. */
#pragma once

#include "jail/jail.h"

/* Runs as pid 1 of a new cell; never returns. */
_Noreturn void init_run(struct raising *raising);

/* Runs as pid 2 of a new cell; never returns. */
_Noreturn void payload_run(struct raising *raising);
