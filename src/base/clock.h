/* SPDX-License-Identifier: Apache-2.0 */
/* Monotonic time only: a stepped wall clock must not move a deadline. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t clock_us(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
