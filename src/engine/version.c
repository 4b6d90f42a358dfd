/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language's version is what its own program says, asked inside a cell: in a root file system
 * from elsewhere even `--version` is foreign code. The answer is remembered under the program's
 * device, inode, size and time of change, so that it is asked once per installed version.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/io.h"
#include "base/own.h"
#include "engine/cache.h"
#include "engine/compile.h"
#include "provider/provider.h"

/* A path of the cell, or of a definition's own directory. */
static bool stat_path(const struct language *language, const struct spec *spec, const char *path,
	struct stat *ret_stat)
{
	static const char runtime[] = "{runtime}/";
	const char *root = strcmp(spec->rootfs, "host") == 0 ? "/" : spec->rootfs;
	if (strncmp(path, runtime, sizeof(runtime) - 1) == 0 && language->dir) {
		auto_free char *own = xasprintf("%s%s", language->dir, strchr(path, '/'));
		return stat(own, ret_stat) == 0 && S_ISREG(ret_stat->st_mode);
	}
	auto_fd int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return false;
	auto_fd int fd = io_open_in_root(root_fd, path, O_PATH);
	return fd >= 0 && fstat(fd, ret_stat) == 0 && S_ISREG(ret_stat->st_mode);
}

const char *engine_missing_program(const struct language *language, const struct spec *spec)
{
	static const char made[] = "{binary}";
	static const char prepared[] = "{prepared}";
	const struct strings *starts[] = { &language->argv, &language->compile,
		&language->prepare };
	struct stat st;
	for (size_t i = 0; i < language->needs.count; i++)
		if (!stat_path(language, spec, language->needs.items[i], &st))
			return language->needs.items[i];
	for (size_t i = 0; i < COUNT_OF(starts); i++) {
		const char *program = starts[i]->count > 0 ? starts[i]->items[0] : made;
		if (strncmp(program, made, sizeof(made) - 1) != 0 &&
			strncmp(program, prepared, sizeof(prepared) - 1) != 0 &&
			!stat_path(language, spec, program, &st))
			return program;
	}
	return NULL;
}

static uint64_t mix(uint64_t key, uint64_t value)
{
	for (int i = 0; i < 8; i++) /* FNV-1a */
		key = (key ^ (value >> (8 * i) & 0xff)) * UINT64_C(1099511628211);
	return key;
}

static uint64_t mix_stat(uint64_t key, const struct stat *st)
{
	key = mix(mix(key, (uint64_t)st->st_dev), (uint64_t)st->st_ino);
	key = mix(mix(key, (uint64_t)st->st_size), (uint64_t)st->st_ctim.tv_sec);
	return mix(key, (uint64_t)st->st_ctim.tv_nsec);
}

uint64_t language_key(const struct language *language, const struct spec *spec)
{
	uint64_t key = UINT64_C(14695981039346656037);
	uint64_t files = 0;
	struct stat st;
	if (stat_path(language, spec, language_path(language), &st))
		key = mix_stat(key, &st);
	auto_dir DIR *dir = language->dir ? opendir(language->dir) : NULL;
	for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir))
		if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
			files += mix_stat(0, &st); /* in any order */
	return mix(key, files);
}

static void remember(int dir_fd, const char *key, const char *version)
{
	struct aside aside;
	if (aside_open(&aside, dir_fd, 0644) == 0 &&
		io_write(aside.fd, version, strlen(version)) == 0)
		(void)aside_name(&aside, key);
	aside_drop(&aside);
}

/* A runner of ours answers for its language itself. */
static bool fill_argv(const struct language *language, struct strings *argv)
{
	static const char runtime[] = "{runtime}";
	bool has_runtime = false;
	for (size_t i = 0; i < language->version.count; i++) {
		const char *arg = language->version.items[i];
		bool is_ours = strncmp(arg, runtime, sizeof(runtime) - 1) == 0;
		auto_free char *filled = xasprintf("%s%s", is_ours ? RUNTIME_DIR : "",
			arg + (is_ours ? sizeof(runtime) - 1 : 0));
		strings_add(argv, filled);
		has_runtime |= is_ours;
	}
	return has_runtime;
}

static bool ask(
	const struct language *language, const struct spec *spec, char *version, size_t size)
{
	struct err err = { 0 };
	struct result result;
	struct spec asking;
	struct engine_rest rest = { 0 };
	struct strings argv = { 0 };
	const char *runtime = fill_argv(language, &argv) ? language->dir : NULL;
	spec_init(&asking);
	result_init(&result);
	asking.timeout_ms = 10000;
	asking.cold = true; /* asked once in a long time */
	free(asking.rootfs);
	asking.rootfs = xstrdup(spec->rootfs);
	for (size_t i = 0; i < spec->ro.count && spec->python; i++)
		pairs_add(&asking.ro, spec->ro.items[i].from, spec->ro.items[i].to);
	const struct task task = { .spec = &asking,
		.argv = &argv,
		.needs_full_proc = language->needs_full_proc,
		.interrupt_fd = -1,
		.outlet = { .fds = { -1, -1 } } };
	bool is_known = provider_find(spec->provider, &rest.provider, &err) == 0 &&
			rest.provider->open(&asking, runtime, &rest.handle, &err) == 0 &&
			rest.provider->run(rest.handle, &task, &result, NULL, &err) == 0 &&
			(language_parse_version(result.out.text, version, size) ||
				language_parse_version(result.err.text, version, size));
	engine_clean(&rest);
	result_done(&result);
	spec_done(&asking);
	strings_done(&argv);
	return is_known;
}

bool engine_version(
	const struct language *language, const struct spec *spec, char *version, size_t size)
{
	struct err err = { 0 };
	struct stat st;
	char key[128];
	char text[64];
	auto_free char *path = NULL;
	if (language->version.count == 0 ||
		!stat_path(language, spec, language->version.items[0], &st))
		return false;
	(void)snprintf(key, sizeof(key), "version-%llx-%llx-%llx-%llx", (long long)st.st_dev,
		(long long)st.st_ino, (long long)st.st_size, (long long)st.st_ctime);
	auto_fd int dir_fd = cache_open(&path, &err);
	if (dir_fd >= 0 && io_read_at(dir_fd, key, text, sizeof(text)) > 0 &&
		language_parse_version(text, version, size))
		return true;
	if (!ask(language, spec, version, size))
		return false;
	if (dir_fd >= 0)
		remember(dir_fd, key, version);
	return true;
}
