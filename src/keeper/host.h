/* SPDX-License-Identifier: Apache-2.0 */
/* An interpreter that guests are forked from. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "keeper/zygote.h"

struct host {
	struct zygote zygote;       /* sock -1: none */
	struct template_page *page; /* owned; tells how it fares; NULL: none */
	int64_t started_us;         /* when one was last started */
	uint64_t guest_count;       /* forked from it */
};

void host_init(struct host *host);
void host_stop(struct host *host);

/* Whether it has loaded everything and waits for requests. */
bool host_is_ready(const struct host *host);
