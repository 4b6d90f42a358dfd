/* SPDX-License-Identifier: Apache-2.0 */
/* The part of YAML a settings file needs, as a small tree: maps, lists, text, and their lines. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum yaml_kind {
	YAML_NONE = 0, /* null: nothing was said */
	YAML_TEXT,     /* numbers and booleans too: what they mean is the reader's affair */
	YAML_LIST,
	YAML_MAP,
};

struct yaml {
	enum yaml_kind kind;
	int line;           /* from 1; of a map's member, where its key stands */
	char *key;          /* owned; NULL: not in a map */
	char *text;         /* owned; of YAML_TEXT */
	struct yaml *first; /* owned, with those after it; of a list or map */
	struct yaml *last;
	struct yaml *next;
};

/* Reads one document; an empty one is YAML_NONE. Bounded in bytes, depth and nodes; anchors,
 * aliases, tags and a key given twice are refused. Errors begin with "FILE:LINE: ". *ret_root is
 * the caller's. */
int yaml_read(
	const char *file, const char *text, size_t len, struct yaml **ret_root, struct err *err);
void yaml_free(struct yaml *node);

/* "a list", "text" … for error messages. */
const char *yaml_kind_name(enum yaml_kind kind);

static inline void own_yaml(struct yaml **node)
{
	yaml_free(*node);
}

#define auto_yaml __attribute__((cleanup(own_yaml)))
