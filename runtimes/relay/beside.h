/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where the program finds its end of the line to the servant. */
enum { BESIDE_FD = 4 };

/* Becomes `program`, with a servant beside it: init's child, not the program's, which would have to
 * bury it. The servant's stdin and stdout are one end of a line, BESIDE_FD is the other; its number
 * follows the program's arguments. Where there can be no servant there is no number either. Comes
 * back with -errno when the program cannot be executed. Both lists end in NULL. */
int beside_execute(char *const *servant, char *const *program);
