/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Before modules are loaded: from now on Python's memory is where large pages can be made of it. */
void merge_begin(void);

/* When they are, and nothing is to be forked yet: makes them, as far as the kernel can. proc_fd is
 * /proc. */
void merge_memory(int proc_fd);
