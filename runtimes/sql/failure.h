/* SPDX-License-Identifier: Apache-2.0 */
/* Telling what went wrong and where, on stderr as psql does and over the channel. */
#pragma once

#include "sql/shell.h"

/* What SQLite says about a statement that could not be prepared or run. */
void failure_of_statement(
	struct shell *shell, const struct script *script, const struct piece *piece, int code);

/* What a command, or we ourselves, said: shell->message. Without a script there is no place. */
void failure_of_shell(struct shell *shell, const struct script *script, const struct piece *piece);
