/* SPDX-License-Identifier: Apache-2.0 */
/* Whose work a run is part of, as tracing systems pass it on: the W3C's `traceparent`. */
#pragma once

#include <stdbool.h>

enum { TRACE_SIZE = 56, TRACE_ID_SIZE = 33 }; /* with the NUL */

/* "00-<32 hex digits>-<16>-<2>", lower case, neither id all zeros. */
bool trace_is_valid(const char *text);

/* The trace's own id, of a valid one. */
void trace_id(const char *text, char id[TRACE_ID_SIZE]);
