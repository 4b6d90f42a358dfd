/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fills the holes in the memory of a Python of this version (sys.hexversion). */
void holes_fill(long version);
