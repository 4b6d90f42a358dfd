/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller that stays remembers from one run to the next. */
#pragma once

#include "engine/engine.h"

/* The definition of a language by its name, read when its file has changed. It is the memory's,
 * until the same name is asked for again. */
int memory_language(struct engine_memory *memory, const char *name,
	const struct language **ret_language, struct err *err);

/* As engine_missing_program(); what was there a moment ago still is. Of a caller that has no
 * memory, NULL. */
const char *memory_missing_program(
	struct engine_memory *memory, const struct language *language, const struct spec *spec);

/* Where the next cell is held; NULL: nowhere. */
struct ahead *memory_ahead(struct engine_memory *memory);

/* For its records; NULL: it has none. */
struct audit_memory *memory_audit(struct engine_memory *memory);

/* Has the next cell wake up, if one is held for code that need not be compiled first. NULL is
 * fine. */
void memory_rouse(const struct engine_memory *memory);
