/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a template, put together so that a fork has little to copy. */
#pragma once

/* proc_fd is /proc. What the kernel does not do stays as it is. */
void pack_memory(int proc_fd);
