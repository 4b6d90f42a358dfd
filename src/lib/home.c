/* SPDX-License-Identifier: Apache-2.0 */
/* Where the library finds its parts: it was loaded into a program that knows nothing of them. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/place.h"
#include "lib/parts.h"

/* The directory of the file that this code was loaded from, the library's or a program's that was
 * linked with the archive. The kernel knows its whole name; the loader only the one it was given,
 * which may be relative to a place that the process has left. */
static bool find_own(char *path, size_t size)
{
	uintptr_t here = (uintptr_t)hotcell_version;
	auto_file FILE *maps = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128];
	while (maps && fgets(line, sizeof(line), maps)) {
		char *end = NULL;
		uintptr_t first = strtoul(line, &end, 16);
		uintptr_t past = *end == '-' ? strtoul(end + 1, NULL, 16) : 0;
		char *name = strchr(line, '/');
		if (here < first || here >= past || !name)
			continue;
		*strrchr(name, '/') = '\0';
		(void)snprintf(path, size, "%s", name);
		return true;
	}
	return false;
}

bool place_home(size_t number, char *path, size_t size)
{
	static const char *const usual[] = { "/usr/local/lib/hotcell", "/usr/lib/hotcell" };
	char own[PATH_MAX + 128];
	size_t count = find_own(own, sizeof(own)) ? 1 : 0;
	if (number >= count + COUNT_OF(usual))
		return false;
	(void)snprintf(path, size, "%s", number < count ? own : usual[number - count]);
	return true;
}

bool place_is_foreign(void)
{
	return true;
}
