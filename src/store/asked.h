/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "model/spec.h"

struct json_object;

/* The settings of a run as an object (owned by the caller), without the code and without the values
 * of variables: they may be secrets, so only their names are kept. */
struct json_object *asked_to_json(const struct spec *spec);
