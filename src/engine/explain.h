/* SPDX-License-Identifier: Apache-2.0 */
/* What the result means for the person who asked: the error's words, the hint, and denials that
 * only the program's own error text shows. */
#pragma once

#include "runtime/runtime.h"

/* input->language is NULL for a program that is no code of ours. */
void explain(const struct analysis_input *input, struct result *result);

/* What a restricted cell tried to execute besides its commands, as its shells told. */
void explain_commands(const struct spec *spec, struct result *result);
