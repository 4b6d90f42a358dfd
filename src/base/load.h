/* SPDX-License-Identifier: Apache-2.0 */
/* How busy the processors are at this moment: whoever could stay awake for a while instead of
 * sleeping must not do so where somebody else waits for a processor. */
#pragma once

struct load {
	int fd;         /* owned; -1: it cannot be told */
	int processors; /* that we may use */
};

void load_open(struct load *load);
void load_close(struct load *load);

/* How many processors nobody uses, the caller's own not among them; negative: that many processes
 * wait for one. Not known is INT_MIN. A microsecond. */
int load_spare(const struct load *load);
