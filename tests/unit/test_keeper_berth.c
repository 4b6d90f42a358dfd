/* SPDX-License-Identifier: Apache-2.0 */
/* Real groups, which nobody but a child of ours is ever in. */
#include "unit/test.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/io.h"
#include "keeper/berth.h"

static const struct cgroup_limits limits = { .memory = 64 << 20, .pids = 20, .inits = 1 };

static struct cgroup_site site;
static struct berths berths;
static struct slot slot;
static struct cgroup group;
static struct err err;

static void make(void)
{
	if (slot_take(&slot, &err) < 0)
		SKIP(err.text);
	ASSERT_OK(cgroup_make(&group, &site, slot.number, &err));
	ASSERT_OK(cgroup_limit(&group, &limits, &err));
}

static void set_up(void)
{
	cgroup_find(&site, false);
	if (site.kind != CGROUP_V1)
		SKIP("no cgroup v1");
	make();
}

/* As init and payload would. */
static void use(void)
{
	int fds[CGROUP_FDS_MAX];
	size_t count = 0;
	ASSERT_OK(cgroup_entry_fds(&group, fds, &count, &err));
	pid_t pid = fork();
	if (pid == 0) {
		for (size_t i = 0; i < count; i++)
			(void)!write(fds[i], "0", 1);
		pid_t payload = fork();
		if (payload == 0)
			_exit(0);
		(void)waitpid(payload, NULL, 0);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
}

/* See test_keeper_cgroup.c, is_refreshed(). */
static void drain(const struct cgroup *one)
{
	for (size_t i = 0; i < site.place_count; i++)
		if (site.places[i].controllers & 1U << CGROUP_MEMORY)
			(void)io_write_at(one->dir_fds[i], "memory.force_empty", "0");
}

static bool take(void)
{
	for (int i = 0; i < 500; i++) {
		if (berths_take(&berths, &slot, &group))
			return true;
		drain(&berths.items[0].group);
		(void)poll(NULL, 0, 10);
	}
	return false;
}

static bool is_there(const struct cgroup *one)
{
	struct stat st;
	return fstatat(site.places[0].parent_fd, one->name, &st, 0) == 0;
}

TEST(a_berth_serves_again_with_its_slot)
{
	set_up();
	int number = slot.number;
	use();
	berths_give(&berths, &slot, &group);
	ASSERT_EQ(slot.fd, -1);
	ASSERT_EQ(berths.count, 1);
	for (size_t i = 0; i < CGROUP_GAUGE_COUNT; i++)
		ASSERT(berths.items[0].group.gauge_fds[i] >= 0);
	struct slot other;
	ASSERT(!slot_take_number(&other, number)); /* nobody else has it meanwhile */
	ASSERT(take());
	ASSERT_EQ(slot.number, number);
	ASSERT_EQ(berths.count, 0);
	use();
	berths_give(&berths, &slot, &group);
	berths_done(&berths);
	ASSERT(!is_there(&group));
	ASSERT(slot_take_number(&other, number));
	slot_free(&other);
	cgroup_site_done(&site);
}

TEST(groups_that_nobody_was_in_are_removed)
{
	set_up();
	berths_give(&berths, &slot, &group); /* no cell has fewer than two processes */
	ASSERT_EQ(berths.count, 0);
	ASSERT_EQ(slot.fd, -1);
	ASSERT(!is_there(&group));
	cgroup_site_done(&site);
}

TEST(berths_in_no_use_are_few)
{
	set_up();
	for (int i = 0; i < BERTHS_MAX + 2; i++) {
		if (i > 0)
			make();
		use();
		berths_give(&berths, &slot, &group);
	}
	ASSERT_EQ(berths.count, BERTHS_MAX);
	ASSERT(!is_there(&group));
	for (int i = 0; i < BERTHS_MAX; i++)
		berths_shrink(&berths);
	ASSERT_EQ(berths.count, BERTHS_QUIET);
	berths_done(&berths);
	ASSERT_EQ(berths.count, 0);
	cgroup_site_done(&site);
}
