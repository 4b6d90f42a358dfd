/* SPDX-License-Identifier: Apache-2.0 */
/* What --commands names, found in the root file system. */
#pragma once

#include "jail/jail.h"

/* Fills in the template's programs and their loader. A name that is not there, or a script whose
 * interpreter is not named, is an error for the person who asked. */
int programs_find(struct template_page *template, const struct spec *spec, struct err *err);
