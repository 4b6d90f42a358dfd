/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what a template has copies of is as it was when it was copied. */
#pragma once

#include <stdbool.h>

/* A descriptor that hears of all changes of what may be copied from below these two, or -errno:
 * then nothing may be. `runtime` may be NULL. */
int changes_watch(const char *rootfs, const char *runtime);

/* Whether there were any since the last look. */
bool changes_came(int fd);
