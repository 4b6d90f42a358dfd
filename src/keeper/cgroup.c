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
	TRY(set_number(dir_of(group, CGROUP_PIDS), "pids.max", limits->pids + limits->inits, err));
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
	TRY(set_number(fd, "pids.max", limits->pids + limits->inits, err));
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

void cgroup_init(struct cgroup *group, const struct cgroup_site *site)
{
	*group = (struct cgroup){ .site = site, .oom_fd = -1 };
	memset(group->dir_fds, -1, sizeof(group->dir_fds));
	memset(group->gauge_fds, -1, sizeof(group->gauge_fds));
	memset(group->entry_fds, -1, sizeof(group->entry_fds));
	memset(group->rest_fds, -1, sizeof(group->rest_fds));
}

int cgroup_make(struct cgroup *group, const struct cgroup_site *site, int slot, struct err *err)
{
	cgroup_init(group, site);
	(void)snprintf(group->name, sizeof(group->name), GROUP_PREFIX "%d", slot);
	int r = make_dirs(group, err);
	if (r == 0 && site->kind == CGROUP_V1)
		r = watch_oom(group, err);
	if (r < 0)
		cgroup_remove(group);
	return r;
}

static bool is_same(const struct cgroup_limits *one, const struct cgroup_limits *other)
{
	return one->memory == other->memory && one->pids == other->pids &&
	       one->cpus_milli == other->cpus_milli && one->inits == other->inits;
}

int cgroup_limit(struct cgroup *group, const struct cgroup_limits *limits, struct err *err)
{
	if (is_same(&group->limits, limits))
		return 0; /* as they were set for an earlier cell */
	TRY(group->site->kind == CGROUP_V2 ? set_v2_limits(group, limits, err)
					   : set_v1_limits(group, limits, err));
	group->limits = *limits;
	return 0;
}

int cgroup_entry_fds(
	struct cgroup *group, int fds[CGROUP_FDS_MAX], size_t *ret_count, struct err *err)
{
	for (size_t i = 0; group->site->kind == CGROUP_V1 && i < group->site->place_count; i++) {
		if (group->site->places[i].is_passed_over)
			continue;
		if (group->entry_fds[i] < 0)
			group->entry_fds[i] =
				openat(group->dir_fds[i], "tasks", O_WRONLY | O_CLOEXEC);
		if (group->entry_fds[i] < 0)
			return err_sys(err, errno, "open the entry of cgroup '%s'", group->name);
		fds[(*ret_count)++] = group->entry_fds[i];
	}
	return 0;
}

void cgroup_all_in(struct cgroup *group)
{
	int highest = -1;
	for (size_t i = 0; i < COUNT_OF(group->entry_fds); i++)
		if (group->entry_fds[i] > highest)
			highest = group->entry_fds[i];
	for (size_t i = 0; i < COUNT_OF(group->entry_fds) && !io_has_room(highest, 0); i++)
		own_close(&group->entry_fds[i]);
}

/* A number alone, or the one after `key` in lines of "key number". */
static int64_t find_number(const char *text, const char *key)
{
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

static int64_t read_number(int dir_fd, const char *file, const char *key)
{
	char text[4096];
	if (dir_fd < 0 || io_read_at(dir_fd, file, text, sizeof(text)) <= 0)
		return -1;
	return find_number(text, key);
}

/* By controller and file, v1 and v2; the one of v2 may have more lines than the number's. */
/* clang-format off */
static const struct gauge {
	enum cgroup_controller controller;
	const char *v1, *v2, *v2_key;
} gauges[CGROUP_GAUGE_COUNT] = {
	[GAUGE_CPU]         = { CGROUP_CPUACCT, "cpuacct.usage", "cpu.stat", "usage_usec" },
	[GAUGE_MEMORY_PEAK] = { CGROUP_MEMORY, "memory.max_usage_in_bytes", "memory.peak", NULL },
	[GAUGE_PIDS_PEAK]   = { CGROUP_PIDS, "pids.peak", "pids.peak", NULL },
};
/* clang-format on */

static int open_gauge(const struct cgroup *group, const struct gauge *gauge)
{
	bool is_v2 = group->site->kind == CGROUP_V2;
	int dir_fd = is_v2 ? group->dir_fds[0] : dir_of(group, gauge->controller);
	return dir_fd < 0 ? -1
			  : openat(dir_fd, is_v2 ? gauge->v2 : gauge->v1, O_RDONLY | O_CLOEXEC);
}

void cgroup_open_gauges(struct cgroup *group)
{
	for (size_t i = 0; i < CGROUP_GAUGE_COUNT; i++)
		if (group->gauge_fds[i] < 0)
			group->gauge_fds[i] = open_gauge(group, &gauges[i]);
}

static int64_t read_gauge(const struct cgroup *group, enum cgroup_gauge id)
{
	char text[1024];
	auto_fd int own_fd = group->gauge_fds[id] < 0 ? open_gauge(group, &gauges[id]) : -1;
	int fd = own_fd >= 0 ? own_fd : group->gauge_fds[id];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	return find_number(text, group->site->kind == CGROUP_V2 ? gauges[id].v2_key : NULL);
}

int64_t cgroup_cpu_us(const struct cgroup *group)
{
	int64_t used = read_gauge(group, GAUGE_CPU);
	bool is_ns = group->site->kind == CGROUP_V1 && used >= 0;
	return is_ns ? used / 1000 : used;
}

int64_t cgroup_memory(const struct cgroup *group)
{
	bool is_v2 = group->site->kind == CGROUP_V2;
	return read_number(dir_of(group, CGROUP_MEMORY),
		is_v2 ? "memory.current" : "memory.usage_in_bytes", NULL);
}

int64_t cgroup_pids(const struct cgroup *group)
{
	return read_number(dir_of(group, CGROUP_PIDS), "pids.current", NULL);
}

int64_t cgroup_pids_peak(const struct cgroup *group)
{
	return read_gauge(group, GAUGE_PIDS_PEAK);
}

int cgroup_open_procs(const struct cgroup *group)
{
	int dir_fd = dir_of(group, CGROUP_PIDS);
	return dir_fd < 0 ? -1 : openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
}

/* Nobody is killed for memory long before all of it is used, nor refused a process before all are
 * there; a peak that is not known tells nothing. Each file costs 10 µs. */
static bool came_near(int64_t peak, int64_t limit)
{
	return peak < 0 || peak >= limit / 2;
}

void cgroup_read(
	const struct cgroup *group, const struct cgroup_limits *limits, struct cgroup_usage *usage)
{
	bool is_v2 = group->site->kind == CGROUP_V2;
	*usage = (struct cgroup_usage){
		.memory_peak = read_gauge(group, GAUGE_MEMORY_PEAK),
		.cpu_us = cgroup_cpu_us(group),
		.pids_peak = cgroup_pids_peak(group),
	};
	if (!limits || came_near(usage->memory_peak, limits->memory))
		usage->oom_kills = read_number(dir_of(group, CGROUP_MEMORY),
			is_v2 ? "memory.events" : "memory.oom_control", "oom_kill");
	if (!limits || came_near(usage->pids_peak, limits->pids))
		usage->pids_refused = read_number(dir_of(group, CGROUP_PIDS), "pids.events", "max");
}

static void close_files(struct cgroup *group)
{
	for (size_t i = 0; i < CGROUP_GAUGE_COUNT; i++)
		own_close(&group->gauge_fds[i]);
	for (size_t i = 0; i < COUNT_OF(group->entry_fds); i++)
		own_close(&group->entry_fds[i]);
	for (size_t i = 0; i < CGROUP_REST_COUNT; i++)
		own_close(&group->rest_fds[i]);
	own_close(&group->oom_fd);
}

static bool open_rest(struct cgroup *group)
{
	/* clang-format off */
	static const struct { enum cgroup_controller controller; const char *file; int flags; }
	files[CGROUP_REST_COUNT] = {
		[REST_PIDS]        = { CGROUP_PIDS, "pids.current", O_RDONLY },
		[REST_MEMORY_PEAK] = { CGROUP_MEMORY, "memory.max_usage_in_bytes", O_RDWR },
		[REST_CPU]         = { CGROUP_CPUACCT, "cpuacct.usage", O_RDWR },
	};
	/* clang-format on */
	bool is_open = true;
	for (size_t i = 0; i < CGROUP_REST_COUNT; i++) {
		if (group->rest_fds[i] < 0)
			group->rest_fds[i] = openat(dir_of(group, files[i].controller),
				files[i].file, files[i].flags | O_CLOEXEC);
		is_open &= group->rest_fds[i] >= 0;
	}
	return is_open;
}

bool cgroup_may_rest(struct cgroup *group)
{
	int64_t fewest = group->limits.inits + 1; /* with fewer nothing runs */
	return group->site->kind == CGROUP_V1 && group->oom_fd >= 0 &&
	       !came_near(read_gauge(group, GAUGE_MEMORY_PEAK), group->limits.memory) &&
	       !came_near(fewest, group->limits.pids) && cgroup_pids_peak(group) == fewest &&
	       open_rest(group);
}

static bool is_at_most(int fd, int64_t most)
{
	char text[32];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return find_number(text, NULL) <= most;
}

static bool set_back(int fd)
{
	return pwrite(fd, "0", 1, 0) == 1;
}

/* Once something small was charged to a group, one page stays so for the next small thing: a cell
 * has it in any case. The peak that is set back is what is charged at that moment. */
bool cgroup_refresh(struct cgroup *group)
{
	const int64_t page = sysconf(_SC_PAGESIZE);
	const int *fds = group->rest_fds;
	return is_at_most(fds[REST_PIDS], 0) && set_back(fds[REST_MEMORY_PEAK]) &&
	       is_at_most(fds[REST_MEMORY_PEAK], page) && set_back(fds[REST_CPU]);
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
	close_files(group);
	for (size_t i = 0; i < COUNT_OF(group->dir_fds); i++)
		own_close(&group->dir_fds[i]);
}

void cgroup_remove(struct cgroup *group)
{
	close_files(group);
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
