/* SPDX-License-Identifier: Apache-2.0 */
/* Also of keeper/cgroup_find.c, which finds the site these groups are made at. */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "base/io.h"
#include "keeper/cgroup.h"
#include "keeper/machine.h"

static const struct cgroup_limits limits = {
	.memory = 64 << 20, .pids = 20, .cpus_milli = 500, .inits = 1
};

/* A site, a slot nobody else has, and the slot's group. */
struct setting {
	struct cgroup_site site;
	struct slot slot;
	struct cgroup group;
};

static void open_setting(struct setting *setting)
{
	struct err err = { 0 };
	cgroup_find(&setting->site, true);
	if (setting->site.kind == CGROUP_NONE)
		SKIP(setting->site.why);
	if (slot_take(&setting->slot, &err) < 0)
		SKIP(err.text);
	ASSERT_OK(cgroup_make(&setting->group, &setting->site, setting->slot.number, &err));
	ASSERT_OK(cgroup_limit(&setting->group, &limits, &err));
}

static void close_setting(struct setting *setting)
{
	cgroup_remove(&setting->group);
	slot_free(&setting->slot);
	cgroup_site_done(&setting->site);
}

static int dir_with(const struct setting *setting, enum cgroup_controller controller)
{
	for (size_t i = 0; i < setting->site.place_count; i++)
		if (setting->site.places[i].controllers & (1U << controller))
			return setting->group.dir_fds[i];
	FAIL("no hierarchy for controller %d", controller);
}

static void check_file(int dir_fd, const char *file, const char *want)
{
	char text[64];
	ASSERT(io_read_at(dir_fd, file, text, sizeof(text)) > 0);
	text[strcspn(text, "\n")] = '\0';
	if (strcmp(text, want) != 0)
		FAIL("%s is '%s', not '%s'", file, text, want);
}

static size_t count_groups(const struct cgroup_site *site, const char *name)
{
	struct stat st;
	size_t count = 0;
	for (size_t i = 0; i < site->place_count; i++)
		count += fstatat(site->places[i].parent_fd, name, &st, 0) == 0;
	return count;
}

TEST(a_site_has_every_controller_once_on_real_cgroup_mounts)
{
	struct cgroup_site site;
	struct statfs fs;
	unsigned int have = 0;
	cgroup_find(&site, true);
	if (site.kind == CGROUP_NONE) {
		ASSERT(site.why[0] && site.place_count == 0);
		SKIP(site.why);
	}
	ASSERT_STR(site.why, "");
	ASSERT(site.place_count >= 1 && site.place_count <= CGROUP_FDS_MAX);
	for (size_t i = 0; i < site.place_count; i++) {
		ASSERT_EQ(have & site.places[i].controllers, 0);
		have |= site.places[i].controllers;
		ASSERT_EQ(fstatfs(site.places[i].parent_fd, &fs), 0);
		ASSERT_EQ(fs.f_type,
			site.kind == CGROUP_V2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC);
	}
	ASSERT_EQ(have, (1U << CGROUP_CONTROLLER_COUNT) - 1);
	cgroup_site_done(&site);
	ASSERT_EQ(site.place_count, 0);
}

TEST(a_new_group_has_its_limits)
{
	struct setting setting;
	open_setting(&setting);
	int memory_fd = dir_with(&setting, CGROUP_MEMORY);
	int cpu_fd = dir_with(&setting, CGROUP_CPU);
	bool is_v2 = setting.site.kind == CGROUP_V2;
	check_file(memory_fd, is_v2 ? "memory.max" : "memory.limit_in_bytes", "67108864");
	check_file(dir_with(&setting, CGROUP_PIDS), "pids.max", "21"); /* init is one of them */
	if (is_v2) {
		check_file(cpu_fd, "cpu.max", "50000 100000");
	} else {
		check_file(cpu_fd, "cpu.cfs_period_us", "100000");
		check_file(cpu_fd, "cpu.cfs_quota_us", "50000");
		ASSERT(setting.group.oom_fd >= 0);
	}
	close_setting(&setting);
}

TEST(a_limit_the_kernel_refuses_is_named)
{
	struct setting setting;
	struct err err = { 0 };
	struct cgroup_limits bad = limits;
	bad.pids = INT64_MAX - 1;
	open_setting(&setting);
	ASSERT_FAIL(cgroup_limit(&setting.group, &bad, &err), ERR_SYSTEM);
	ASSERT_HAS(err.text, "pids.max");
	close_setting(&setting);
}

/* Moves a child into the group as init does it: each v1 `tasks`, or v2's cgroup.procs. */
static void enter(const struct cgroup *group, const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int r = group->site->kind == CGROUP_V2 ? io_write_at(fds[i], "cgroup.procs", "0")
						       : io_write(fds[i], "0", 1);
		if (r < 0)
			_exit(3);
	}
}

/* A child in the group that holds 16 MiB, has burnt some CPU and waits for the pipe's end. */
static pid_t start_member(struct cgroup *group, int ends[2])
{
	struct err err = { 0 };
	int fds[CGROUP_FDS_MAX];
	size_t count = 0;
	char byte = 0;
	ASSERT_OK(cgroup_entry_fds(group, fds, &count, &err));
	ASSERT_EQ(count, group->site->place_count);
	for (size_t i = 0; i < count; i++)
		ASSERT(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
	int ready[2];
	ASSERT_EQ(pipe(ends), 0);
	ASSERT_EQ(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(ends[1]);
		enter(group, fds, count);
		memset(xcalloc(16 << 20, 1), 7, 16 << 20);
		(void)!write(ready[1], "x", 1);
		_exit(read(ends[0], &byte, 1) == 0 ? 0 : 3);
	}
	(void)close(ready[1]);
	(void)close(ends[0]);
	if (read(ready[0], &byte, 1) != 1)
		FAIL("the child could not enter the group");
	(void)close(ready[0]);
	return pid;
}

TEST(a_group_counts_what_its_member_uses)
{
	struct setting setting;
	struct cgroup_usage usage;
	int ends[2];
	int status;
	open_setting(&setting);
	cgroup_read(&setting.group, NULL, &usage);
	ASSERT(usage.memory_peak < 1 << 20);
	ASSERT_EQ(usage.oom_kills, 0);
	pid_t pid = start_member(&setting.group, ends);
	cgroup_open_gauges(&setting.group);
	cgroup_read(&setting.group, NULL, &usage);
	ASSERT(usage.memory_peak < 0 ||
		(usage.memory_peak >= 16 << 20 && usage.memory_peak <= limits.memory));
	ASSERT(usage.cpu_us > 0 && usage.cpu_us < 60000000);
	ASSERT(usage.pids_peak == -1 || usage.pids_peak == 1);
	ASSERT_EQ(usage.oom_kills, 0);
	ASSERT(usage.pids_refused == 0 || usage.pids_refused == -1);
	ASSERT(cgroup_cpu_us(&setting.group) >= usage.cpu_us);
	(void)close(ends[1]);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
	close_setting(&setting);
}

TEST(removing_a_group_removes_it_from_every_hierarchy)
{
	struct setting setting;
	open_setting(&setting);
	char name[32];
	(void)snprintf(name, sizeof(name), "%s", setting.group.name);
	ASSERT_EQ(count_groups(&setting.site, name), setting.site.place_count);
	cgroup_remove(&setting.group);
	ASSERT_EQ(count_groups(&setting.site, name), 0);
	cgroup_remove(&setting.group); /* once more does no harm */
	close_setting(&setting);
}

TEST(removing_a_group_kills_nobody)
{
	struct setting setting;
	int ends[2];
	int status;
	open_setting(&setting);
	pid_t pid = start_member(&setting.group, ends);
	cgroup_remove(&setting.group);
	ASSERT_EQ(waitpid(pid, &status, WNOHANG), 0);
	ASSERT(count_groups(&setting.site, setting.group.name) > 0);
	ASSERT_EQ(kill(pid, SIGKILL), 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	cgroup_sweep(&setting.site); /* the slot is held: it must not help here */
	ASSERT(count_groups(&setting.site, setting.group.name) > 0);
	cgroup_remove(&setting.group);
	ASSERT_EQ(count_groups(&setting.site, setting.group.name), 0);
	close_setting(&setting);
}

TEST(making_a_group_replaces_a_stale_one)
{
	struct setting setting;
	struct err err = { 0 };
	struct cgroup second;
	const struct cgroup_limits other = { .memory = 32 << 20, .pids = 5 };
	open_setting(&setting);
	ASSERT_OK(cgroup_make(&second, &setting.site, setting.slot.number, &err));
	ASSERT_OK(cgroup_limit(&second, &other, &err));
	bool is_v2 = setting.site.kind == CGROUP_V2;
	for (size_t i = 0; i < setting.site.place_count; i++)
		if (setting.site.places[i].controllers & (1U << CGROUP_PIDS))
			check_file(second.dir_fds[i], "pids.max", "5");
	ASSERT_EQ(second.oom_fd >= 0, !is_v2);
	cgroup_remove(&second);
	close_setting(&setting);
}

TEST(a_sweep_leaves_a_group_whose_slot_is_held)
{
	struct setting setting;
	open_setting(&setting);
	cgroup_sweep(&setting.site);
	ASSERT_EQ(count_groups(&setting.site, setting.group.name), setting.site.place_count);
	close_setting(&setting);
}

TEST(a_sweep_removes_a_group_whose_slot_is_free)
{
	struct setting setting;
	for (int i = 0; i < 5; i++) {
		struct slot slot;
		open_setting(&setting);
		slot_free(&setting.slot);
		cgroup_sweep(&setting.site);
		bool is_gone = count_groups(&setting.site, setting.group.name) == 0;
		if (is_gone)
			return;
		/* another cell may have been quicker to take the slot */
		if (slot_take_number(&slot, setting.slot.number))
			FAIL("%s is still there", setting.group.name);
	}
	SKIP("every freed slot was taken at once");
}

/* A child that goes in, does something there and leaves. */
static void visit(struct setting *setting, void (*work)(void))
{
	struct err err = { 0 };
	int fds[CGROUP_FDS_MAX];
	size_t count = 0;
	int status = 0;
	ASSERT_OK(cgroup_entry_fds(&setting->group, fds, &count, &err));
	pid_t pid = fork();
	if (pid == 0) {
		bool is_in = true;
		for (size_t i = 0; i < count; i++)
			is_in &= write(fds[i], "0", 1) == 1;
		work();
		_exit(is_in ? 0 : 1);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
}

static void fork_once(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	(void)waitpid(pid, NULL, 0);
}

static void fork_two_at_once(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		fork_once();
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

static void touch_most_of_it(void)
{
	size_t size = (size_t)limits.memory * 3 / 4;
	char *data = malloc(size);
	if (data)
		memset(data, 1, size);
	__asm__ volatile("" : : "r"(data) : "memory");
	fork_once();
}

static void open_v1_setting(struct setting *setting)
{
	open_setting(setting);
	if (setting->site.kind == CGROUP_V1)
		return;
	close_setting(setting);
	SKIP("no cgroup v1");
}

/* The kernel gives back what was charged within some milliseconds, and what a processor holds ready
 * for a group when it has others to serve, or is told to. */
static bool is_refreshed(struct setting *setting)
{
	for (int i = 0; i < 500; i++) {
		if (cgroup_refresh(&setting->group))
			return true;
		(void)io_write_at(dir_with(setting, CGROUP_MEMORY), "memory.force_empty", "0");
		(void)poll(NULL, 0, 10);
	}
	return false;
}

TEST(groups_that_rested_are_like_new_ones)
{
	struct setting setting;
	struct cgroup_usage usage;
	struct err err = { 0 };
	open_v1_setting(&setting);
	for (int round = 0; round < 3; round++) {
		visit(&setting, fork_once);
		ASSERT(cgroup_cpu_us(&setting.group) > 0);
		ASSERT(cgroup_may_rest(&setting.group));
		ASSERT(is_refreshed(&setting));
		cgroup_read(&setting.group, NULL, &usage);
		ASSERT(usage.memory_peak >= 0 && usage.memory_peak <= sysconf(_SC_PAGESIZE));
		ASSERT_EQ(usage.cpu_us, 0);
		ASSERT_EQ(usage.oom_kills, 0);
		ASSERT_EQ(usage.pids_refused, 0);
		ASSERT_OK(cgroup_limit(&setting.group, &limits, &err));
		check_file(dir_with(&setting, CGROUP_MEMORY), "memory.limit_in_bytes", "67108864");
	}
	close_setting(&setting);
}

TEST(groups_with_a_process_do_not_rest)
{
	struct setting setting;
	struct err err = { 0 };
	int fds[CGROUP_FDS_MAX];
	int life[2];
	char word = 0;
	size_t count = 0;
	open_v1_setting(&setting);
	visit(&setting, fork_once);
	ASSERT(cgroup_may_rest(&setting.group));
	ASSERT_OK(cgroup_entry_fds(&setting.group, fds, &count, &err));
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, life), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(life[0]);
		for (size_t i = 0; i < count; i++)
			(void)!write(fds[i], "0", 1);
		(void)!write(life[1], "x", 1);
		(void)!read(life[1], &word, 1);
		_exit(0);
	}
	(void)close(life[1]);
	ASSERT_EQ(read(life[0], &word, 1), 1);
	ASSERT(!cgroup_refresh(&setting.group));
	(void)close(life[0]);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	ASSERT(is_refreshed(&setting));
	close_setting(&setting);
}

TEST(groups_whose_counts_cannot_be_set_back_do_not_rest)
{
	struct setting setting;
	open_v1_setting(&setting);
	visit(&setting, fork_two_at_once);
	ASSERT(!cgroup_may_rest(&setting.group));
	close_setting(&setting);
}

TEST(groups_that_came_near_a_limit_do_not_rest)
{
	struct setting setting;
	open_v1_setting(&setting);
	visit(&setting, touch_most_of_it);
	ASSERT(!cgroup_may_rest(&setting.group));
	close_setting(&setting);
}
