/* SPDX-License-Identifier: Apache-2.0 */
/* Names of resources: hotcell://session/NAME/PATH, what is no plain letter as %XX. */
#pragma once

#include <stdbool.h>

/* Owned by the caller. */
char *uri_write(const char *session, const char *path);

/* False: it is none of ours. Both are owned by the caller. */
bool uri_read(const char *uri, char **ret_session, char **ret_path);

/* By the ending of the name; NULL: unknown. */
const char *uri_mime(const char *path);
