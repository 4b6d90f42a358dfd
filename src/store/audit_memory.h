/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody who records one run after the other need not look for each time. */
#pragma once

#include "store/log.h"
#include "store/store.h"

enum { AUDIT_SEEN_US = 1000000 }; /* how long what was seen is taken for what is there */

enum { AUDIT_WHO_MAX = 256 };

struct audit_who {
	unsigned int uid;
	bool has_user; /* the machine's own list knows a name */
	char user[AUDIT_WHO_MAX + 1];
	char host[AUDIT_WHO_MAX + 1];
};

/* Who we are; `memory` may be NULL. */
void audit_who(struct audit_memory *memory, struct audit_who *ret_who);

/* The log as it is now, the memory's; NULL: it could not be opened. Another call ends it. */
struct log_view *audit_memory_log(struct audit_memory *memory);
