/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language's version is what its own program says, asked inside a cell: in a root file system
 * from elsewhere even `--version` is foreign code. The answer is remembered under the program's
 * device, inode, size and time of change, so that it is asked once per installed version.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/io.h"
#include "base/own.h"
#include "engine/engine.h"
#include "provider/provider.h"

static bool stat_program(
	const struct language *language, const struct spec *spec, struct stat *ret_stat)
{
	const char *root = strcmp(spec->rootfs, "host") == 0 ? "/" : spec->rootfs;
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	if (language->argv.count == 0)
		return false;
	auto_fd int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return false;
	const char *program = language->argv.items[0];
	if (program[0] != '/') { /* a runner of ours, checked when it was read */
		auto_free char *path = xasprintf("%s%s", language->dir, strchr(program, '/'));
		return stat(path, ret_stat) == 0 && S_ISREG(ret_stat->st_mode);
	}
	auto_fd int fd = (int)syscall(SYS_openat2, root_fd, program, &how, sizeof(how));
	return fd >= 0 && fstat(fd, ret_stat) == 0 && S_ISREG(ret_stat->st_mode);
}

bool engine_has_program(const struct language *language, const struct spec *spec)
{
	struct stat st;
	return stat_program(language, spec, &st);
}

/* Opens the directory of remembered versions, made when needed. -1 when there is no place. */
static int open_memory(void)
{
	char cache[512];
	char path[600];
	const char *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	if (geteuid() == 0)
		(void)snprintf(cache, sizeof(cache), "/var/cache");
	else if (xdg && xdg[0] == '/')
		(void)snprintf(cache, sizeof(cache), "%.400s", xdg);
	else if (home && home[0] == '/')
		(void)snprintf(cache, sizeof(cache), "%.400s/.cache", home);
	else
		return -1;
	(void)mkdir(cache, 0755);
	(void)snprintf(path, sizeof(path), "%s/hotcell", cache);
	(void)mkdir(path, 0755);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void remember(int dir_fd, const char *key, const char *version)
{
	struct aside aside;
	if (aside_open(&aside, dir_fd, 0644) == 0 &&
		io_write(aside.fd, version, strlen(version)) == 0)
		(void)aside_name(&aside, key);
	aside_drop(&aside);
}

static bool ask(
	const struct language *language, const struct spec *spec, char *version, size_t size)
{
	struct err err = { 0 };
	struct result result;
	struct spec asking;
	struct engine_rest rest = { 0 };
	spec_init(&asking);
	result_init(&result);
	asking.timeout_ms = 10000;
	free(asking.rootfs);
	asking.rootfs = xstrdup(spec->rootfs);
	const struct task task = { .spec = &asking,
		.argv = &language->version,
		.needs_full_proc = language->needs_full_proc,
		.interrupt_fd = -1,
		.outlet = { .fds = { -1, -1 } } };
	bool is_known = provider_find(spec->provider, &rest.provider, &err) == 0 &&
			rest.provider->open(&asking, NULL, &rest.handle, &err) == 0 &&
			rest.provider->run(rest.handle, &task, &result, NULL, &err) == 0 &&
			(language_parse_version(result.out.text, version, size) ||
				language_parse_version(result.err.text, version, size));
	engine_clean(&rest);
	result_done(&result);
	spec_done(&asking);
	return is_known;
}

bool engine_version(
	const struct language *language, const struct spec *spec, char *version, size_t size)
{
	struct stat st;
	char key[128];
	char text[64];
	if (language->version.count == 0 || !stat_program(language, spec, &st))
		return false;
	(void)snprintf(key, sizeof(key), "version-%llx-%llx-%llx-%llx", (long long)st.st_dev,
		(long long)st.st_ino, (long long)st.st_size, (long long)st.st_ctime);
	auto_fd int dir_fd = open_memory();
	if (dir_fd >= 0 && io_read_at(dir_fd, key, text, sizeof(text)) > 0 &&
		language_parse_version(text, version, size))
		return true;
	if (!ask(language, spec, version, size))
		return false;
	if (dir_fd >= 0)
		remember(dir_fd, key, version);
	return true;
}
