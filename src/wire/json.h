/* SPDX-License-Identifier: Apache-2.0 */
/* JSON in, bounded and strict; JSON out, always valid UTF-8. A thin layer over json-c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "base/err.h"

static inline void json_free(struct json_object **json)
{
	(void)json_object_put(*json);
	*json = NULL;
}

#define auto_json __attribute__((cleanup(json_free)))

/* Reads one object: nothing after it, at most `max_len` bytes and `max_depth` levels, UTF-8, no
 * NUL in any string. Errors give line and column. *ret_json is owned by the caller. */
int json_read(const char *text, size_t len, size_t max_len, int max_depth,
	struct json_object **ret_json, struct err *err);

/* The same, but a list of whatever may stand in an object's place. */
int json_read_list(const char *text, size_t len, size_t max_len, int max_depth,
	struct json_object **ret_json, struct err *err);

/* "a string", "a number", "null" … for error messages. */
const char *json_kind(const struct json_object *json);

/* Values; `data` is repaired to UTF-8, NULL becomes null. */
struct json_object *json_new_text(const char *data, size_t len);
struct json_object *json_new_string(const char *text);

/* value / 10^places, written exactly: (1250, 3) is 1.25. */
struct json_object *json_new_decimal(int64_t value, int places);

/* Adds a value, which is taken, under a key that is a literal and not there yet. */
void json_put(struct json_object *object, const char *key, struct json_object *value);

/* Appends text as a string of JSON, its quotes included, as json_print() would write it. 0, or
 * -ENOSPC. For those to whom making objects first is too slow. */
struct buf;
int json_quote(struct buf *out, const char *data, size_t len);

/* The text (owned by the caller), without a final newline. */
char *json_print(struct json_object *json, bool is_pretty);
