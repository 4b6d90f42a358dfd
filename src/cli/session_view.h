/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of sessions, for people. `now` is in seconds since 1970, as the times in it are. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "cli/term.h"
#include "wire/json.h"

/* One line for each session. */
void session_list_put(
	struct buf *out, struct json_object *sessions, const struct term *term, int64_t now);

/* All about one. */
void session_info_put(
	struct buf *out, struct json_object *info, const struct term *term, int64_t now);

/* Its points, each below the one it was made after. */
void session_points_put(
	struct buf *out, struct json_object *info, const struct term *term, int64_t now);

/* "timeout 33 s, memory 512M, …" with `between` between them; `is_short`: only those people ask for
 * first. */
void session_limits_put(
	struct buf *out, struct json_object *info, const char *between, bool is_short);

/* What session_files() told. */
void session_files_put(
	struct buf *out, struct json_object *listing, const struct term *term, int64_t now);

/* "point 3 'x'", or "point 3": owned by the caller. */
char *session_point_name(struct json_object *point);

/* "12 s", "3 min", "2 h", "5 d". Returns `text`. */
const char *session_span(int64_t seconds, char *text, size_t size);
