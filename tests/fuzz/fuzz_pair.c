/* SPDX-License-Identifier: Apache-2.0 */
/* FROM[:TO]: wherever it leads, never out of /home/user and never over the cell's own paths. */
#include "fuzz/fuzz.h"

#include "base/own.h"
#include "model/spec.h"

/* Every part of a path, without a leading slash, is a real name. */
static void check_parts(const char *path)
{
	MUST(*path != '\0' && path[strlen(path) - 1] != '/');
	for (;;) {
		size_t len = strcspn(path, "/");
		MUST(len > 0);
		MUST(!(len == 1 && path[0] == '.'));
		MUST(!(len == 2 && path[0] == '.' && path[1] == '.'));
		if (path[len] == '\0')
			return;
		path += len + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pair pair;
	auto_free char *text = xstrndup((const char *)data, size);
	if (!pair_parse(text, &pair))
		return 0;
	MUST(*pair.from != '\0' && (!pair.to || *pair.to != '\0'));
	auto_free char *file = spec_file_target(&pair);
	if (file)
		check_parts(file);
	auto_free char *mount = spec_mount_target(&pair);
	if (mount) {
		MUST(mount[0] == '/');
		check_parts(mount + 1);
		MUST(strcmp(mount, "/home") != 0 && strcmp(mount, "/home/user") != 0);
		MUST(strncmp(mount, "/usr/", 5) != 0 && strcmp(mount, "/usr") != 0);
		MUST(strncmp(mount, "/proc/", 6) != 0 && strcmp(mount, "/proc") != 0);
	}
	free(pair.from);
	free(pair.to);
	return 0;
}
