/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzzer's seeds without libFuzzer: `NAME FILE|DIRECTORY…`. A crash is the failure. */
#include "fuzz/fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/own.h"

enum { SEED_MAX = 1 << 20 };

static int count;

static int replay_file(const char *path)
{
	auto_buf struct buf seed = { 0 };
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	buf_init(&seed, SEED_MAX);
	if (fd < 0 || buf_read(&seed, fd) < 0) {
		fprintf(stderr, "cannot read %s\n", path);
		return -1;
	}
	fprintf(stderr, "seed %s\n", path);
	/* An exact copy: reading one byte past the end is then seen. */
	auto_free uint8_t *bytes = malloc(seed.len ? seed.len : 1);
	if (!bytes)
		abort();
	if (seed.len > 0)
		memcpy(bytes, seed.data, seed.len);
	(void)LLVMFuzzerTestOneInput(bytes, seed.len);
	count++;
	return 0;
}

static int replay(const char *path)
{
	auto_dir DIR *dir = opendir(path);
	if (!dir && errno == ENOTDIR)
		return replay_file(path);
	if (!dir) {
		fprintf(stderr, "cannot open %s\n", path);
		return -1;
	}
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		auto_free char *inner = xasprintf("%s/%s", path, entry->d_name);
		if (entry->d_name[0] != '.' && replay_file(inner) < 0)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;
	for (int i = 1; i < argc; i++)
		failed += replay(argv[i]) < 0;
	printf("%d passed, %d failed, 0 skipped\n", count, failed);
	return failed > 0 || count == 0;
}
