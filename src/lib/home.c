/* SPDX-License-Identifier: Apache-2.0 */
/* Where the library finds its parts: it was loaded into a program that knows nothing of them. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "base/place.h"
#include "lib/parts.h"

static bool cut_name(char *path)
{
	char *slash = strrchr(path, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

/* The directory of the file we were loaded from. A relative name is relative to where the program
 * was once started, which is not known any more. */
static bool find_library(char *path, size_t size)
{
	Dl_info info;
	if (dladdr((const void *)(uintptr_t)hotcell_version, &info) == 0 || !info.dli_fname ||
		info.dli_fname[0] != '/')
		return false;
	(void)snprintf(path, size, "%s", info.dli_fname);
	return cut_name(path);
}

/* Linked statically, with all parts beside the program. */
static bool find_program(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	return cut_name(path);
}

bool place_home(size_t number, char *path, size_t size)
{
	static const char *const usual[] = { "/usr/local/lib/hotcell", "/usr/lib/hotcell" };
	char found[2][PATH_MAX];
	size_t count = 0;
	count += find_library(found[count], sizeof(found[0]));
	count += find_program(found[count], sizeof(found[0]));
	if (number >= count + COUNT_OF(usual))
		return false;
	(void)snprintf(path, size, "%s", number < count ? found[number] : usual[number - count]);
	return true;
}

bool place_is_foreign(void)
{
	return true;
}
