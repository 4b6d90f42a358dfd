/* SPDX-License-Identifier: Apache-2.0 */
/* What was asked for: the settings, and what tells the code from other code. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* The settings of a run as an object (owned by the caller), without the code and without the values
 * of variables: they may be secrets, so only their names are kept. */
struct json_object *asked_to_json(const struct spec *spec);

/* The hash of the code; of a program and its arguments, each with the zero byte that ends it, where
 * there is none. Returns how many bytes that is. */
uint64_t store_hash(const struct store_run *run, char hash[SHA256_HEX + 1]);
