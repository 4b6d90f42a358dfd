/* SPDX-License-Identifier: Apache-2.0 */
#include "model/trace.h"

#include <stdio.h>
#include <string.h>

static const char digits[] = "0123456789abcdef";

/* `len` digits, not all zeros, and then `end`. */
static bool is_id(const char *text, size_t len, char end)
{
	return strspn(text, digits) == len && strspn(text, "0") < len && text[len] == end;
}

/* Later versions may add to the end; of those nobody knows yet what is safe to repeat. */
bool trace_is_valid(const char *text)
{
	return strlen(text) == TRACE_SIZE - 1 && strncmp(text, "00-", 3) == 0 &&
	       is_id(text + 3, 32, '-') && is_id(text + 36, 16, '-') &&
	       strspn(text + 53, digits) == 2;
}

void trace_id(const char *text, char id[TRACE_ID_SIZE])
{
	(void)snprintf(id, TRACE_ID_SIZE, "%s", text + 3);
}
