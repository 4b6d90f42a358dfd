/* SPDX-License-Identifier: Apache-2.0 */
/* One line on stderr for whoever waits for a long run. It never stays. */
#pragma once

#include "cli/term.h"
#include "keeper/keeper.h"

struct progress {
	const struct term *term;
	bool is_wanted; /* false: never drawn */
	bool is_drawn;
};

void progress_draw(struct progress *progress, const struct pulse *pulse);
void progress_erase(struct progress *progress);

/* What progress_draw() writes, without the way to the line's beginning. */
void progress_text(struct buf *out, const struct progress *progress, const struct pulse *pulse);
