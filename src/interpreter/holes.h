/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fills the holes in the memory of this Python. */
void holes_fill(void);

/* Before modules are loaded, and when they are and garbage is collected: what was made before, what
 * they make and what comes later is apart from each other. */
void holes_begin_modules(void);
void holes_end_modules(void);
