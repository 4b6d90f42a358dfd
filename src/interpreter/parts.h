/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room know of each other. */
#pragma once

#include "jail/jail.h"

/* serve.c: waits at the gate for the job and takes it; nothing of ours stays. 0, or less. */
int guest_take_job(struct job *ret_job);
