/* SPDX-License-Identifier: Apache-2.0 */
/* What a statement is called once it is done: "INSERT 0 3", "CREATE TABLE". */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Empty for statements that show rows and change nothing. */
void tag_write(const char *sql, size_t len, int64_t changes, char *tag, size_t size);
