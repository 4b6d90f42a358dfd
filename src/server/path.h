/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of requests, and the patterns of routes: {name} is one part, {path...} all that is left. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether they match; what stands for each {…} goes to `params`, which are empty before and the
 * caller's after, also when they do not. */
bool path_match(const char *pattern, const char *path, char *params[], size_t most);
void path_drop(char *params[], size_t most);
