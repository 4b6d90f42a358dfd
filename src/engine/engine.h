/* SPDX-License-Identifier: Apache-2.0 */
/* The one road from a spec to a result, whoever asks. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "keeper/keeper.h"
#include "model/result.h"
#include "model/spec.h"
#include "runtime/runtime.h"

struct engine_wishes {
	struct outlet outlet;
	int interrupt_fd;             /* -1: none */
	bool wants_version;           /* fill meta.language_version: the first time costs a cell */
	struct engine_memory *memory; /* of a caller that stays and asks again; or NULL */
};

/* What need not be read and parsed for every run. The caller's. */
struct engine_memory *engine_memory_new(void);
void engine_memory_free(struct engine_memory *memory);

/* What is still to be cleaned up when the answer is out. Starts as { 0 }. */
struct engine_rest {
	const struct provider *provider;
	void *handle;
	struct build *fresh; /* owned; what was compiled and is to be kept, or NULL */
};

/* Runs the spec, which may receive a language's defaults. -1: it could not be run; then the
 * result is a setup_error with the same words. Either way, engine_clean() when the result has
 * been told. */
int engine_run(struct spec *spec, const struct engine_wishes *wishes, struct result *result,
	struct report *report, struct engine_rest *rest, struct err *err);
void engine_clean(struct engine_rest *rest);

/* The policy of the cell in which this spec would run, as text (owned by the caller): for whoever
 * has cells of it stand ready. */
int engine_policy(struct spec *spec, char **ret_text, struct err *err);

/* The version that `language` reports here, asked in a cell of `spec`'s root file system and
 * remembered. False when it cannot be had. */
bool engine_version(
	const struct language *language, const struct spec *spec, char *version, size_t size);

/* The first program of the language that is not in the root file system, NULL when all are. */
const char *engine_missing_program(const struct language *language, const struct spec *spec);
