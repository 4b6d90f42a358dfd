/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a call, as its exchange hears it. */
#pragma once

#include "mcp/parts.h"

/* The call is over and gone. `text` may be NULL: there is nothing to answer. */
void take_answer(struct mcp_call *call, const char *text, enum mcp_end end);
