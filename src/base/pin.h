/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that a fork copies at once. */
#pragma once

#include <stddef.h>
#include <sys/uio.h>

/* What holds pages; none yet. The descriptor is the caller's, and means nothing to anybody else: a
 * copy of the process is to close its own. Or -errno, where the kernel has no such thing. */
int pin_open(void);

/* Whole pages that are ours alone, held until the descriptor is closed. 0 or -errno. */
int pin_pages(int fd, const struct iovec *stretches, size_t count);
