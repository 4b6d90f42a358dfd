/* SPDX-License-Identifier: Apache-2.0 */
/* What a payload and its supervisor talk through: the page they share, and the gate. A keeper that
 * stays makes those of its next cell while nobody waits for it. */
#pragma once

#include "base/err.h"
#include "jail/jail.h"

struct kit {
	struct cell_page *page; /* owned; NULL: there is no kit */
	int page_fd;            /* owned, as the rest */
	int gate_fds[2];        /* ours, and the cell's */
};

#define KIT_NONE                                                    \
	(struct kit)                                                \
	{                                                           \
		.page = NULL, .page_fd = -1, .gate_fds = { -1, -1 } \
	}

#define auto_kit __attribute__((cleanup(kit_done)))

/* Into one that is KIT_NONE, and stays so when it fails. */
int kit_make(struct kit *kit, struct err *err);

/* Lets go of what nobody took out of it. */
void kit_done(struct kit *kit);
