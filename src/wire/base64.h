/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in text: pictures of a cell, files that are no text, values of headers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* False: it is none, it is empty, or it does not fit. White space may stand anywhere, as encoders
 * break lines. */
bool base64_decode(const char *text, size_t len, struct buf *out);

/* The text (owned by the caller). */
char *base64_encode(const void *data, size_t len);
