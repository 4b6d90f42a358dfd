/* SPDX-License-Identifier: Apache-2.0 */
/* What came before the C library, for those who come after it. */
#pragma once

enum { MAKER_FAILED = 255 }; /* the maker's exit status, which else is a descriptor of ours */

/* The child that makes a network, until somebody takes that; 0: none. A variable, because the two
 * sides of a C library's start can meet nowhere else. */
extern int jail_maker __attribute__((visibility("hidden")));
