/* SPDX-License-Identifier: Apache-2.0 */
/* What may stand ready for a run: an interpreter with modules loaded, a runner that waits. */
#pragma once

#include "model/policy.h"
#include "runtime/runtime.h"

/* What a spec is to be run with. */
struct stand {
	enum cell_form form;
	struct strings argv; /* what stands ready; empty for FORM_GATE */
	size_t own_count;    /* the first of it are owned, the others the language's */
};

/* Chooses the farthest form in which the code runs exactly as if nothing had been done before.
 * `runtime` is the directory of the language's runner on the host. */
int stand_choose(const struct language *language, const struct spec *spec, const char *runtime,
	const char *code, size_t code_len, struct stand *stand, struct err *err);
void stand_done(struct stand *stand);
