/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: the second wall behind the mount namespace. The skeleton may be read and executed,
 * the workspace and --rw directories written, nothing else exists for it; a host path reached by
 * any trick lies outside every rule.
 *
 * A rule names an inode, and the one under a mount point does not count, so the rules are made
 * per cell, after its own tmpfs is there.
 */
#include "jail/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"

/* The kernel's numbers; Debian 12's headers know the first three versions only. */
enum {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_VERSION_1 = (1 << 13) - 1,
	FS_REFER = 1 << 13,
	FS_TRUNCATE = 1 << 14,
	FS_IOCTL_DEV = 1 << 15,
	FS_FILE_ONLY = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
	NET_BIND_TCP = 1 << 0,
	NET_CONNECT_TCP = 1 << 1,
	SCOPE_ABSTRACT_UNIX = 1 << 0,
	SCOPE_SIGNAL = 1 << 1,
	CREATE_VERSION = 1 << 0,
	RULE_PATH_BENEATH = 1,
};

struct ruleset_attr {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
};

struct path_attr {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

static uint64_t rights_of(int abi)
{
	uint64_t rights = FS_VERSION_1;
	if (abi >= 2)
		rights |= FS_REFER;
	if (abi >= 3)
		rights |= FS_TRUNCATE;
	if (abi >= 5)
		rights |= FS_IOCTL_DEV;
	return rights;
}

static int allow_at(int ruleset_fd, int fd, const char *path, uint64_t rights, struct err *err)
{
	struct path_attr rule = { .allowed = rights, .parent_fd = fd };
	if (syscall(SYS_landlock_add_rule, ruleset_fd, RULE_PATH_BENEATH, &rule, 0) < 0)
		return err_sys(err, errno, "add a Landlock rule for '%s'", path);
	return 0;
}

static int allow_dir(int ruleset_fd, const char *path, uint64_t rights, struct err *err)
{
	auto_fd int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "open '%s' for a Landlock rule", path);
	return allow_at(ruleset_fd, fd, path, rights, err);
}

static int allow(int ruleset_fd, const char *path, uint64_t rights, struct err *err)
{
	struct stat st;
	auto_fd int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "open '%s' for a Landlock rule", path);
	if (!S_ISDIR(st.st_mode))
		rights &= FS_FILE_ONLY;
	return allow_at(ruleset_fd, fd, path, rights, err);
}

/* In a restricted cell the right to execute is no directory's, only these files'. */
static int add_programs(const struct template_page *template, int ruleset_fd, struct err *err)
{
	for (uint32_t i = 0; i < template->program_count; i++)
		TRY(allow(ruleset_fd, template->programs[i], FS_EXECUTE | FS_READ_FILE, err));
	if (template->loader[0] != '\0')
		TRY(allow(ruleset_fd, template->loader, FS_EXECUTE | FS_READ_FILE, err));
	return 0;
}

static int add_rules(
	const struct template_page *template, int ruleset_fd, uint64_t handled, struct err *err)
{
	bool is_restricted = template->program_count > 0;
	const uint64_t all = is_restricted ? handled & ~(uint64_t)FS_EXECUTE : handled;
	const uint64_t look = FS_READ_FILE | FS_READ_DIR | FS_EXECUTE;
	const uint64_t fill =
		FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | (all & (FS_IOCTL_DEV | FS_TRUNCATE));
	const struct {
		const char *path;
		uint64_t rights;
	} rules[] = {
		{ "/", look },
		{ "/dev", fill },
		{ "/proc", fill },
		{ HOME_DIR, all },
		{ "/tmp", all },
		{ "/dev/shm", all },
	};
	for (size_t i = 0; i < COUNT_OF(rules); i++)
		TRY(allow_dir(ruleset_fd, rules[i].path, rules[i].rights & all, err));
	for (uint32_t i = 0; i < template->mount_count; i++)
		if (template->mounts[i].is_writable)
			TRY(allow(ruleset_fd, template->mounts[i].to, all, err));
	return add_programs(template, ruleset_fd, err);
}

int raise_landlock(struct raising *raising, struct err *err)
{
	const struct plan *plan = &raising->page->plan;
	int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
	if (abi < 1)
		return err_sys(err, errno, "ask for Landlock's version");
	struct ruleset_attr attr = { .handled_fs = rights_of(abi) };
	size_t size = sizeof(attr.handled_fs);
	if (abi >= 4) {
		size += sizeof(attr.handled_net);
		if (plan->net == NET_NONE)
			attr.handled_net = NET_BIND_TCP | NET_CONNECT_TCP;
	}
	if (abi >= 6) {
		size += sizeof(attr.scoped);
		attr.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
	}
	auto_fd int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (fd < 0)
		return err_sys(err, errno, "create a Landlock ruleset");
	TRY(add_rules(raising->template, fd, attr.handled_fs, err));
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return err_sys(err, errno, "enter the Landlock ruleset");
	step_value(raising, STEP_LANDLOCK, abi);
	return 0;
}
