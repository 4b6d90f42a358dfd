/* SPDX-License-Identifier: Apache-2.0 */
/* What libraries write to, kept where a fork need not look after it. */
#pragma once

/* Nobody but the caller may be running. `function` is one of the program's, whose data every guest
 * writes to. What the kernel does not do stays as it is. */
void data_settle(const void *function);
