/* SPDX-License-Identifier: Apache-2.0 */
#include "server/path.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"

/* One part of a path, up to its slash. */
static size_t part_len(const char *path)
{
	return strcspn(path, "/");
}

static bool is_rest(const char *part, size_t len)
{
	return len > 4 && memcmp(part + len - 4, "...}", 4) == 0;
}

void path_drop(char *params[], size_t most)
{
	for (size_t i = 0; i < most; i++) {
		free(params[i]);
		params[i] = NULL;
	}
}

/* Part by part; what stands for a {…} is not empty. */
bool path_match(const char *pattern, const char *path, char *params[], size_t most)
{
	size_t count = 0;
	for (;;) {
		size_t len = part_len(pattern);
		size_t path_len = part_len(path);
		bool is_param = pattern[0] == '{' && count < most;
		if (is_param && is_rest(pattern, len)) {
			params[count] = xstrdup(path);
			return *path != '\0';
		}
		if (is_param && path_len > 0)
			params[count++] = xstrndup(path, path_len);
		else if (len != path_len || memcmp(pattern, path, len) != 0)
			return false;
		pattern += len;
		path += path_len;
		if (*pattern != *path)
			return false;
		if (*pattern == '\0')
			return true;
		pattern++;
		path++;
	}
}
