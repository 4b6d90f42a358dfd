/* SPDX-License-Identifier: Apache-2.0 */
/* --python: another interpreter than the system's. */
#pragma once

#include "model/spec.h"
#include "runtime/runtime.h"

/* Puts the interpreter that spec->python names into the language's argv, and what it needs of the
 * host among the read-only mounts. */
int python_choose(struct spec *spec, struct language *language, struct err *err);
