/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/own.h"
#include "keeper/machine.h"

#define GROUP_PREFIX "hotcell-"

enum {
	CPU_PERIOD_US = 100000,
	LEAVE_WAIT_US = 2000000, /* for our own cell */
	SWEEP_WAIT_US = 300000,  /* for a dying one of somebody who was killed */
	SEARCH_DEPTH = 8,
	SEARCH_GROUPS = 10000,
};

static int dir_of(const struct cgroup *group, enum cgroup_controller controller)
{
	for (size_t i = 0; i < group->site->place_count; i++)
		if (group->site->places[i].controllers & (1U << controller))
			return group->dir_fds[i];
	return -1;
}

static int set_number(int dir_fd, const char *file, int64_t number, struct err *err)
{
	char text[32];
	(void)snprintf(text, sizeof(text), "%lld", (long long)number);
	int r = io_write_at(dir_fd, file, text);
	return r < 0 ? err_sys(err, -r, "set %s to %s", file, text) : 0;
}

static int set_v1_limits(struct cgroup *group, const struct cgroup_limits *limits, struct err *err)
{
	int memory_fd = dir_of(group, CGROUP_MEMORY);
	int cpu_fd = dir_of(group, CGROUP_CPU);
	TRY(set_number(memory_fd, "memory.limit_in_bytes", limits->memory, err));
	/* only there when the kernel counts swap */
	char text[32];
	(void)snprintf(text, sizeof(text), "%lld", (long long)limits->memory);
	(void)io_write_at(memory_fd, "memory.memsw.limit_in_bytes", text);
	TRY(set_number(dir_of(group, CGROUP_PIDS), "pids.max", limits->pids + 1, err));
	if (limits->cpus_milli > 0) {
		TRY(set_number(cpu_fd, "cpu.cfs_period_us", CPU_PERIOD_US, err));
		TRY(set_number(cpu_fd, "cpu.cfs_quota_us",
			limits->cpus_milli * CPU_PERIOD_US / 1000, err));
	}
	return 0;
}

static int set_v2_limits(struct cgroup *group, const struct cgroup_limits *limits, struct err *err)
{
	int fd = group->dir_fds[0];
	TRY(set_number(fd, "memory.max", limits->memory, err));
	(void)io_write_at(fd, "memory.swap.max", "0");
	(void)io_write_at(fd, "memory.oom.group", "1");
	TRY(set_number(fd, "pids.max", limits->pids + 1, err));
	if (limits->cpus_milli > 0) {
		char text[64];
		(void)snprintf(text, sizeof(text), "%lld %d",
			(long long)limits->cpus_milli * CPU_PERIOD_US / 1000, CPU_PERIOD_US);
		int r = io_write_at(fd, "cpu.max", text);
		if (r < 0)
			return err_sys(err, -r, "set cpu.max to %s", text);
	}
	return 0;
}

/* v1 kills one process when memory runs out and lets the rest go on; we want to know, to end the
 * whole cell. v2 does that itself (memory.oom.group). */
static int watch_oom(struct cgroup *group, struct err *err)
{
	char text[64];
	int dir_fd = dir_of(group, CGROUP_MEMORY);
	auto_fd int control_fd = openat(dir_fd, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	auto_fd int event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (control_fd < 0 || event_fd < 0)
		return err_sys(err, errno, "open memory.oom_control");
	(void)snprintf(text, sizeof(text), "%d %d", event_fd, control_fd);
	int r = io_write_at(dir_fd, "cgroup.event_control", text);
	if (r < 0)
		return err_sys(err, -r, "watch memory.oom_control");
	group->oom_fd = take_fd(&event_fd);
	return 0;
}

/* Removes a group once its last process has left. Nobody is killed here: a cell dies with its
 * supervisor, so whoever does not leave has one that we know nothing of, as in another container.
 */
static void remove_when_empty(int parent_fd, const char *name, int64_t wait_us)
{
	int64_t deadline = clock_us() + wait_us;
	while (unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno == EBUSY &&
		clock_us() < deadline)
		(void)poll(NULL, 0, 1);
}

static int make_dirs(struct cgroup *group, struct err *err)
{
	for (size_t i = 0; i < group->site->place_count; i++) {
		int parent_fd = group->site->places[i].parent_fd;
		if (group->site->places[i].is_passed_over)
			continue;
		if (mkdirat(parent_fd, group->name, 0755) < 0) {
			if (errno != EEXIST)
				return err_sys(err, errno, "create cgroup '%s'", group->name);
			remove_when_empty(parent_fd, group->name, LEAVE_WAIT_US); /* our slot */
			if (mkdirat(parent_fd, group->name, 0755) < 0)
				return err_sys(err, errno, "create cgroup '%s' again", group->name);
		}
		group->made_count = i + 1;
		group->dir_fds[i] =
			openat(parent_fd, group->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (group->dir_fds[i] < 0)
			return err_sys(err, errno, "open cgroup '%s'", group->name);
	}
	return 0;
}

int cgroup_make(struct cgroup *group, const struct cgroup_site *site, int slot, struct err *err)
{
	*group = (struct cgroup){ .site = site, .oom_fd = -1 };
	(void)snprintf(group->name, sizeof(group->name), GROUP_PREFIX "%d", slot);
	memset(group->dir_fds, -1, sizeof(group->dir_fds));
	int r = make_dirs(group, err);
	if (r == 0 && site->kind == CGROUP_V1)
		r = watch_oom(group, err);
	if (r < 0)
		cgroup_remove(group);
	return r;
}

int cgroup_limit(struct cgroup *group, const struct cgroup_limits *limits, struct err *err)
{
	return group->site->kind == CGROUP_V2 ? set_v2_limits(group, limits, err)
					      : set_v1_limits(group, limits, err);
}

int cgroup_entry_fds(
	const struct cgroup *group, int fds[CGROUP_FDS_MAX], size_t *ret_count, struct err *err)
{
	for (size_t i = 0; group->site->kind == CGROUP_V1 && i < group->site->place_count; i++) {
		if (group->site->places[i].is_passed_over)
			continue;
		int fd = openat(group->dir_fds[i], "tasks", O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			return err_sys(err, errno, "open the entry of cgroup '%s'", group->name);
		fds[(*ret_count)++] = fd;
	}
	return 0;
}

/* A number alone, or the one after `key` in a file of "key number" lines. */
static int64_t read_number(int dir_fd, const char *file, const char *key)
{
	char text[4096];
	if (dir_fd < 0 || io_read_at(dir_fd, file, text, sizeof(text)) <= 0)
		return -1;
	if (!key)
		return strtoll(text, NULL, 10);
	size_t len = strlen(key);
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoll(line + len, NULL, 10);
	}
	return -1;
}

int64_t cgroup_cpu_us(const struct cgroup *group)
{
	if (group->site->kind == CGROUP_V2)
		return read_number(group->dir_fds[0], "cpu.stat", "usage_usec");
	int64_t ns = read_number(dir_of(group, CGROUP_CPUACCT), "cpuacct.usage", NULL);
	return ns < 0 ? -1 : ns / 1000;
}

int64_t cgroup_memory(const struct cgroup *group)
{
	bool is_v2 = group->site->kind == CGROUP_V2;
	return read_number(dir_of(group, CGROUP_MEMORY),
		is_v2 ? "memory.current" : "memory.usage_in_bytes", NULL);
}

void cgroup_read(const struct cgroup *group, struct cgroup_usage *usage)
{
	bool is_v2 = group->site->kind == CGROUP_V2;
	int memory_fd = dir_of(group, CGROUP_MEMORY);
	int pids_fd = dir_of(group, CGROUP_PIDS);
	*usage = (struct cgroup_usage){
		.memory_peak = read_number(
			memory_fd, is_v2 ? "memory.peak" : "memory.max_usage_in_bytes", NULL),
		.cpu_us = cgroup_cpu_us(group),
		.pids_peak = read_number(pids_fd, "pids.peak", NULL),
		.oom_kills = read_number(
			memory_fd, is_v2 ? "memory.events" : "memory.oom_control", "oom_kill"),
		.pids_refused = read_number(pids_fd, "pids.events", "max"),
	};
}

/* v2 keeps the peak of each reader apart, but only for as long as that has the file open. */
void cgroup_reset_peak(const struct cgroup *group)
{
	int memory_fd = dir_of(group, CGROUP_MEMORY);
	if (group->site->kind == CGROUP_V1 && memory_fd >= 0)
		(void)io_write_at(memory_fd, "memory.max_usage_in_bytes", "0");
}

void cgroup_let_go(struct cgroup *group)
{
	own_close(&group->oom_fd);
	for (size_t i = 0; i < COUNT_OF(group->dir_fds); i++)
		own_close(&group->dir_fds[i]);
}

void cgroup_remove(struct cgroup *group)
{
	own_close(&group->oom_fd);
	for (size_t i = group->made_count; i-- > 0;) {
		own_close(&group->dir_fds[i]);
		if (unlinkat(group->site->places[i].parent_fd, group->name, AT_REMOVEDIR) < 0)
			remove_when_empty(
				group->site->places[i].parent_fd, group->name, LEAVE_WAIT_US);
	}
}

/* Looks for a group of this name anywhere below, and removes it. Rarely needed, so it may take
 * its time, but not for ever. Takes dir_fd. */
static void search_and_remove(int dir_fd, const char *name, int depth, int *budget)
{
	auto_dir DIR *dir = fdopendir(dir_fd);
	if (!dir) {
		(void)close(dir_fd);
		return;
	}
	remove_when_empty(dirfd(dir), name, SWEEP_WAIT_US);
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if (depth == 0 || (*budget)-- <= 0)
			return;
		int fd = openat(
			dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			search_and_remove(fd, name, depth - 1, budget);
	}
}

/* A killed supervisor may have lived in another group of some hierarchies than we do. */
static void remove_everywhere(const struct cgroup_site *site, const char *name)
{
	for (size_t i = 0; i < site->place_count; i++) {
		int budget = SEARCH_GROUPS;
		remove_when_empty(site->places[i].parent_fd, name, SWEEP_WAIT_US);
		int fd = open(site->places[i].mount_point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			search_and_remove(fd, name, SEARCH_DEPTH, &budget);
	}
}

static void sweep_place(
	const struct cgroup_site *site, const struct cgroup_place *place, struct slot *slot)
{
	int fd = fcntl(place->parent_fd, F_DUPFD_CLOEXEC, 3);
	auto_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return;
	rewinddir(dir); /* the descriptor's place in the list is shared with the last sweep */
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		char name[32];
		if (strncmp(entry->d_name, GROUP_PREFIX, strlen(GROUP_PREFIX)) != 0)
			continue;
		long number = strtol(entry->d_name + strlen(GROUP_PREFIX), NULL, 10);
		(void)snprintf(name, sizeof(name), GROUP_PREFIX "%ld", number);
		/* exactly a name of ours, and nobody's slot */
		if (strcmp(name, entry->d_name) != 0 || number < 0 || number >= SLOT_COUNT ||
			!slot_try(slot, (int)number))
			continue;
		/* ours while we sweep: no new cell can move in */
		remove_everywhere(site, name);
		slot_give_back(slot);
	}
}

void cgroup_sweep(const struct cgroup_site *site)
{
	struct slot slot = { .fd = -1 }; /* one for all: where many cells live this takes long */
	for (size_t i = 0; i < site->place_count; i++)
		sweep_place(site, &site->places[i], &slot);
	slot_free(&slot);
}
