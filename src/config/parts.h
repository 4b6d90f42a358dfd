/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the room share. */
#pragma once

#include "config/config.h"

/* Sections other than "languages", which holds one for each language. */
extern const char *const config_sections[];

/* The key of that name in a section; -1 and the nearest name, or NULL, when there is none. */
int config_find_key(const char *section, const char *name, size_t *ret_key, const char **ret_near);

/* Adds a value once its texts are checked; takes `texts`, also on failure. The error has the texts'
 * own words, without where they stand. */
int config_add(struct config *config, const struct config_value *like, struct strings *texts,
	struct err *err);
