/* SPDX-License-Identifier: Apache-2.0 */
/* What libraries write to, kept where a fork need not look after it. */
#pragma once

/* Nobody but the caller may be running. What the kernel does not do stays as it is. */
void data_settle(void);
