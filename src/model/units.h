/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and times as people write them. All return 0, or -EINVAL / -ERANGE. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int units_parse_size(const char *text, int64_t *ret_bytes);  /* 512, 64K, 1.5G, 10MB, 1GiB */
int units_parse_milli(const char *text, int64_t *ret_milli); /* 33, 0.5, 1.250 */
int units_parse_count(const char *text, int64_t *ret_count);
int units_parse_span(const char *text, int64_t *ret_seconds); /* 90s, 30m, 2h, 7d */

/* The shortest form a person would write: 10K, 512M; 33, 0.5. */
void units_format_size(int64_t bytes, char *text, size_t size);
void units_format_milli(int64_t milli, char *text, size_t size);
void units_format_count(int64_t count, char *text, size_t size);

/* The entry of `names` nearest to `text` by edit distance, or NULL when nothing is near. */
const char *units_nearest(const char *text, const char *const *names, size_t count);
