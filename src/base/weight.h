/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Resident memory of this process, in kB; 0: not known. */
int64_t weight_kb(void);
