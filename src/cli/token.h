/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/cli.h"

extern const struct command token_command;
