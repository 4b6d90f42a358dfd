/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>

#include "jail/jail.h"

static uint64_t bit(size_t id)
{
	return UINT64_C(1) << id;
}

static struct plan good_plan(enum jail_mode mode, enum net_mode net)
{
	return (struct plan){
		.magic = PLAN_MAGIC,
		.mode = mode,
		.wanted = jail_steps_of(mode, net),
		.uid = 200007,
		.gid = 200007,
		.net = net,
		.cgroup = CGROUP_V1,
		.cgroup_fd_count = CGROUP_FDS_MAX,
		.disk = 1 << 20,
		.inodes = 100,
		.pids = 8,
		.memory = 64 << 20,
	};
}

static struct template_page *good_template(void)
{
	struct template_page *template = xcalloc(1, sizeof(*template));
	template->base.plan = good_plan(MODE_ROOT, NET_NONE);
	(void)snprintf(template->rootfs, sizeof(template->rootfs), "/");
	for (uint32_t i = 0; i < LIMIT_MOUNTS; i++) {
		(void)snprintf(template->mounts[i].from, 64, "/srv/%u", i);
		(void)snprintf(template->mounts[i].to, 64, "/mnt/%u", i);
	}
	template->mount_count = 2;
	return template;
}

static void check_refused(const struct plan *plan, const char *words)
{
	struct err err = { 0 };
	ASSERT_FAIL(jail_check_plan(plan, &err), ERR_BROKEN);
	ASSERT_HAS(err.text, words);
}

TEST(every_step_can_be_raised_and_repaired)
{
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++) {
		const struct jail_step *step = &jail_steps[id];
		if (!step->name || !step->title || !step->fix)
			FAIL("step %zu has no name, title or fix", id);
		ASSERT(*step->name && *step->title && *step->fix);
		ASSERT(step->stage > STAGE_NONE && step->stage < STEP_STAGE_COUNT);
		if ((step->stage == STAGE_CLONE) != (step->clone_flag != 0))
			FAIL("%s: a clone flag belongs to the clone stage alone", step->name);
		if ((step->apply != NULL) == (step->clone_flag != 0))
			FAIL("%s: neither raised by a function nor by a flag", step->name);
	}
	ASSERT(!jail_steps[STEP_NONE].name && !jail_steps[STEP_NONE].apply);
}

TEST(step_names_are_unique_and_found)
{
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++) {
		const struct jail_step *step = jail_step_find(jail_steps[id].name);
		ASSERT(step);
		ASSERT_EQ(jail_step_id(step), id); /* the first of this name */
		for (const char *at = step->name; *at; at++)
			ASSERT((*at >= 'a' && *at <= 'z') || *at == '_');
	}
	ASSERT(!jail_step_find("Seccomp"));
	ASSERT(!jail_step_find("seccom"));
	ASSERT(!jail_step_find(""));
}

TEST(the_stages_come_in_the_order_of_the_table)
{
	for (size_t id = STEP_NONE + 2; id < STEP_ID_COUNT; id++)
		if (jail_steps[id].stage < jail_steps[id - 1].stage)
			FAIL("%s stands behind a later stage", jail_steps[id].name);
}

TEST(only_cgroup_and_landlock_may_be_missing)
{
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++)
		if (jail_steps[id].is_optional != (id == STEP_CGROUP || id == STEP_LANDLOCK))
			FAIL("%s", jail_steps[id].name);
}

TEST(clone_flags_are_distinct)
{
	uint64_t all = 0;
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++) {
		ASSERT_EQ(all & jail_steps[id].clone_flag, 0);
		all |= jail_steps[id].clone_flag;
	}
	ASSERT_EQ(all, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS);
}

TEST(a_mode_has_its_steps_and_not_the_other_modes)
{
	const uint64_t users = bit(STEP_USER_NAMESPACE) | bit(STEP_CELL_USER_NAMESPACE) |
			       bit(STEP_NO_NESTED_NAMESPACES);
	const uint64_t all = (bit(STEP_ID_COUNT) - 1) & ~bit(STEP_NONE) & ~bit(STEP_COMMANDS);
	ASSERT_EQ(jail_steps_of(MODE_ROOTLESS, NET_LOOPBACK), all);
	ASSERT_EQ(jail_steps_of(MODE_ROOT, NET_LOOPBACK), all & ~users);
	ASSERT_EQ(jail_steps_of(MODE_ROOTLESS, NET_NONE), all & ~bit(STEP_LOOPBACK));
	ASSERT_EQ(jail_steps_of(MODE_ROOT, NET_NONE), all & ~users & ~bit(STEP_LOOPBACK));
}

TEST(a_whole_plan_is_taken)
{
	static const enum jail_mode modes[] = { MODE_ROOT, MODE_ROOTLESS };
	struct err err = { 0 };
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		for (int net = 0; net < NET_MODE_COUNT; net++) {
			struct plan plan = good_plan(modes[i], (enum net_mode)net);
			ASSERT_OK(jail_check_plan(&plan, &err));
			plan.wanted &= ~(bit(STEP_CGROUP) | bit(STEP_LANDLOCK));
			plan.cgroup = CGROUP_NONE;
			plan.cgroup_fd_count = 0;
			ASSERT_OK(jail_check_plan(&plan, &err));
		}
	}
}

TEST(a_plan_without_one_of_its_walls_is_refused)
{
	static const enum jail_mode modes[] = { MODE_ROOT, MODE_ROOTLESS };
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		int walls = 0;
		for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++) {
			struct plan plan = good_plan(modes[i], NET_LOOPBACK);
			if (jail_steps[id].is_optional || !(plan.wanted & bit(id)))
				continue;
			plan.wanted &= ~bit(id);
			check_refused(&plan, "without all its walls");
			walls++;
		}
		ASSERT(walls >= 18);
	}
}

TEST(a_probe_may_leave_walls_out)
{
	struct err err = { 0 };
	struct plan plan = good_plan(MODE_ROOT, NET_NONE);
	plan.wanted = 0;
	check_refused(&plan, "without all its walls");
	plan.is_probe = true;
	ASSERT_OK(jail_check_plan(&plan, &err));
}

TEST(a_plan_of_another_build_is_refused)
{
	struct plan plan = good_plan(MODE_ROOT, NET_NONE);
	plan.magic++;
	check_refused(&plan, "another build");
	plan = (struct plan){ 0 };
	check_refused(&plan, "another build");
}

TEST(a_plan_without_a_known_mode_is_refused)
{
	struct plan plan = good_plan(MODE_ROOT, NET_NONE);
	plan.mode = MODE_NONE;
	check_refused(&plan, "without a mode");
	plan.mode = (enum jail_mode)(MODE_ROOTLESS + 1);
	check_refused(&plan, "without a mode");
}

TEST(a_plan_with_an_unknown_choice_is_refused)
{
	struct err err = { 0 };
	struct plan plan = good_plan(MODE_ROOT, NET_NONE);
	plan.net = NET_MODE_COUNT;
	check_refused(&plan, "unknown choice");
	plan.net = (enum net_mode) - 1;
	check_refused(&plan, "unknown choice");
	plan = good_plan(MODE_ROOT, NET_NONE);
	plan.cgroup = (enum cgroup_kind)(CGROUP_V2 + 1);
	check_refused(&plan, "unknown choice");
	plan.cgroup = (enum cgroup_kind) - 1;
	check_refused(&plan, "unknown choice");
	plan = good_plan(MODE_ROOT, NET_NONE);
	plan.fault = STEP_ID_COUNT;
	check_refused(&plan, "unknown choice");
	plan.fault = (enum step_id)(STEP_ID_COUNT - 1);
	ASSERT_OK(jail_check_plan(&plan, &err));
}

TEST(a_plan_with_root_as_the_cells_user_is_refused)
{
	struct plan plan = good_plan(MODE_ROOT, NET_NONE);
	plan.uid = 0;
	check_refused(&plan, "root as the cell's user");
	plan = good_plan(MODE_ROOTLESS, NET_NONE);
	plan.gid = 0;
	check_refused(&plan, "root as the cell's user");
}

TEST(a_plan_without_limits_is_refused)
{
	static const size_t limits[] = { offsetof(struct plan, disk), offsetof(struct plan, inodes),
		offsetof(struct plan, memory), offsetof(struct plan, pids) };
	static const int64_t none[] = { 0, -1, INT64_MIN };
	for (size_t i = 0; i < COUNT_OF(limits); i++) {
		for (size_t j = 0; j < COUNT_OF(none); j++) {
			struct plan plan = good_plan(MODE_ROOT, NET_NONE);
			memcpy((char *)&plan + limits[i], &none[j], sizeof(none[j]));
			check_refused(&plan, "without limits");
		}
	}
	struct plan plan = good_plan(MODE_ROOT, NET_NONE);
	plan.cpu_time_ms = -1; /* 0 is none, as asked for */
	check_refused(&plan, "without limits");
}

TEST(a_plan_with_walls_of_another_kind_is_refused)
{
	struct plan plan = good_plan(MODE_ROOT, NET_NONE);
	const uint64_t foreign[] = { bit(STEP_NONE), bit(STEP_LOOPBACK), bit(STEP_USER_NAMESPACE),
		bit(STEP_CELL_USER_NAMESPACE), bit(STEP_ID_COUNT), bit(63) };
	for (size_t i = 0; i < COUNT_OF(foreign); i++) {
		plan.wanted = jail_steps_of(MODE_ROOT, NET_NONE) | foreign[i];
		check_refused(&plan, "walls of another kind");
	}
}

TEST(a_plan_with_few_programs_has_the_walls_for_it)
{
	struct err err = { 0 };
	struct plan plan = good_plan(MODE_ROOT, NET_NONE);
	plan.wanted |= bit(STEP_COMMANDS);
	check_refused(&plan, "walls of another kind");
	plan.is_restricted = true;
	ASSERT_OK(jail_check_plan(&plan, &err));
	ASSERT_EQ(jail_steps_of_plan(&plan), plan.wanted);
	plan.wanted &= ~bit(STEP_LANDLOCK);
	check_refused(&plan, "without Landlock");
	plan.wanted = jail_steps_of(MODE_ROOT, NET_NONE);
	check_refused(&plan, "without all its walls");
}

static void restrict_template(struct template_page *template, uint32_t count)
{
	template->base.plan.is_restricted = true;
	template->base.plan.wanted |= bit(STEP_COMMANDS);
	template->program_count = count;
	for (uint32_t i = 0; i < count && i < LIMIT_PROGRAMS; i++)
		(void)snprintf(template->programs[i], LIMIT_PROGRAM_PATH, "/usr/bin/p%u", i);
}

TEST(a_template_names_its_programs_or_is_refused)
{
	struct err err = { 0 };
	auto_free struct template_page *template = good_template();
	restrict_template(template, LIMIT_PROGRAMS);
	ASSERT_OK(jail_check_template(template, &err));
	restrict_template(template, LIMIT_PROGRAMS + 1);
	ASSERT_FAIL(jail_check_template(template, &err), ERR_BROKEN);
	restrict_template(template, 0);
	ASSERT_FAIL(jail_check_template(template, &err), ERR_BROKEN);
	restrict_template(template, 2);
	(void)snprintf(template->programs[1], LIMIT_PROGRAM_PATH, "/usr/bin/../../x");
	ASSERT_FAIL(jail_check_template(template, &err), ERR_BROKEN);
	restrict_template(template, 2);
	memset(template->loader, '/', sizeof(template->loader));
	ASSERT_FAIL(jail_check_template(template, &err), ERR_BROKEN);
	memset(template->loader, 0, sizeof(template->loader));
	template->base.plan.is_restricted = false;
	template->base.plan.wanted &= ~bit(STEP_COMMANDS);
	ASSERT_FAIL(jail_check_template(template, &err), ERR_BROKEN);
}

TEST(a_plan_with_too_many_cgroups_is_refused)
{
	struct plan plan = good_plan(MODE_ROOT, NET_NONE);
	plan.cgroup_fd_count = CGROUP_FDS_MAX + 1;
	check_refused(&plan, "too many cgroups");
	plan.cgroup_fd_count = UINT32_MAX;
	check_refused(&plan, "too many cgroups");
}

TEST(a_whole_template_is_taken)
{
	struct err err = { 0 };
	auto_free struct template_page *template = good_template();
	ASSERT_OK(jail_check_template(template, &err));
	template->mount_count = 0;
	ASSERT_OK(jail_check_template(template, &err));
	template->mount_count = LIMIT_MOUNTS;
	ASSERT_OK(jail_check_template(template, &err));
	/* paths that fill their room but for the end */
	memset(template->mounts[1].to + 1, 'x', sizeof(template->mounts[1].to) - 2);
	memset(template->rootfs + 1, 'x', sizeof(template->rootfs) - 2);
	ASSERT_OK(jail_check_template(template, &err));
}

TEST(a_template_with_a_bad_plan_or_count_is_refused)
{
	struct err err = { 0 };
	auto_free struct template_page *template = good_template();
	template->mount_count = LIMIT_MOUNTS + 1;
	ASSERT_FAIL(jail_check_template(template, &err), ERR_BROKEN);
	ASSERT_HAS(err.text, "too many mounts");
	template->mount_count = UINT32_MAX;
	ASSERT_FAIL(jail_check_template(template, &err), ERR_BROKEN);
	template->mount_count = 1;
	template->base.plan.wanted &= ~bit(STEP_SECCOMP);
	ASSERT_FAIL(jail_check_template(template, &err), ERR_BROKEN);
	ASSERT_HAS(err.text, "without all its walls");
}

static void check_bad_mount(void (*spoil)(struct plan_mount *))
{
	struct err err = { 0 };
	auto_free struct template_page *template = good_template();
	spoil(&template->mounts[1]);
	ASSERT_FAIL(jail_check_template(template, &err), ERR_BROKEN);
	ASSERT_HAS(err.text, "bad mount path");
	template->mount_count = 1; /* what is not counted is not looked at */
	ASSERT_OK(jail_check_template(template, &err));
}

static void endless_from(struct plan_mount *mount)
{
	memset(mount->from, 'x', sizeof(mount->from));
}

static void endless_to(struct plan_mount *mount)
{
	memset(mount->to, '/', sizeof(mount->to));
}

static void relative_to(struct plan_mount *mount)
{
	(void)snprintf(mount->to, sizeof(mount->to), "mnt/1");
}

static void relative_from(struct plan_mount *mount)
{
	(void)snprintf(mount->from, sizeof(mount->from), "srv/1");
}

static void climbing_to(struct plan_mount *mount)
{
	(void)snprintf(mount->to, sizeof(mount->to), "/mnt/../etc");
}

static void empty_to(struct plan_mount *mount)
{
	mount->to[0] = '\0';
}

TEST(a_template_with_endless_or_relative_paths_is_refused)
{
	struct err err = { 0 };
	check_bad_mount(endless_from);
	check_bad_mount(endless_to);
	check_bad_mount(relative_to);
	check_bad_mount(relative_from);
	check_bad_mount(climbing_to);
	check_bad_mount(empty_to);
	auto_free struct template_page *template = good_template();
	memset(template->rootfs, '/', sizeof(template->rootfs));
	ASSERT_FAIL(jail_check_template(template, &err), ERR_BROKEN);
	ASSERT_HAS(err.text, "bad root path");
}

/* The stages that need no kernel: a walk that wants nothing, and one that is made to fail. */
TEST(a_walk_marks_what_is_not_wanted)
{
	struct err err = { 0 };
	auto_free struct cell_page *page = xcalloc(1, sizeof(*page));
	struct raising raising = { .page = page };
	ASSERT_OK(jail_walk(&raising, STAGE_PAYLOAD, &err));
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++)
		ASSERT_EQ(page->report.steps[id].state,
			jail_steps[id].stage == STAGE_PAYLOAD ? STEP_NOT_WANTED : STEP_NOT_REACHED);
}

TEST(a_fault_stops_the_walk_by_name)
{
	struct err err = { 0 };
	auto_free struct cell_page *page = xcalloc(1, sizeof(*page));
	struct raising raising = { .page = page };
	page->plan = good_plan(MODE_ROOT, NET_NONE);
	page->plan.fault = STEP_UID;
	ASSERT_FAIL(jail_walk(&raising, STAGE_PAYLOAD, &err), ERR_SYSTEM);
	ASSERT_HAS(err.text, "layer 'uid'");
	ASSERT_EQ(page->report.failed, STEP_UID);
	ASSERT_EQ(page->report.failed_errno, EIO);
	ASSERT_HAS(page->report.failed_text, "HOTCELL_FAULT");
	ASSERT_EQ(page->report.steps[STEP_UID].state, STEP_FAILED);
	ASSERT_EQ(page->report.steps[STEP_SECCOMP].state, STEP_NOT_REACHED);
}

TEST(clone_flags_follow_the_plan)
{
	struct err err = { 0 };
	uint64_t flags = 0;
	auto_free struct cell_page *page = xcalloc(1, sizeof(*page));
	struct raising raising = { .page = page };
	page->plan = good_plan(MODE_ROOT, NET_NONE);
	ASSERT_OK(jail_clone_flags(&raising, &flags, &err));
	ASSERT_EQ(flags, CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS);
	page->plan = good_plan(MODE_ROOTLESS, NET_NONE);
	ASSERT_OK(jail_clone_flags(&raising, &flags, &err));
	ASSERT(flags & CLONE_NEWUSER);
	page->plan.fault = STEP_IPC_NAMESPACE;
	ASSERT_FAIL(jail_clone_flags(&raising, &flags, &err), ERR_SYSTEM);
	ASSERT_EQ(page->report.failed, STEP_IPC_NAMESPACE);
}

TEST(a_failed_clone_is_one_failed_step)
{
	auto_free struct cell_page *page = xcalloc(1, sizeof(*page));
	struct raising raising = { .page = page };
	page->plan = good_plan(MODE_ROOTLESS, NET_NONE);
	jail_note_clone(&raising, ENOSPC);
	ASSERT_EQ(page->report.failed, STEP_CELL_USER_NAMESPACE);
	ASSERT_EQ(page->report.failed_errno, ENOSPC);
	*page = (struct cell_page){ .plan = good_plan(MODE_ROOT, NET_NONE) };
	jail_note_clone(&raising, 0);
	ASSERT_EQ(page->report.failed, STEP_NONE);
	ASSERT_EQ(page->report.steps[STEP_PID_NAMESPACE].state, STEP_RAISED);
	ASSERT_EQ(page->report.steps[STEP_CELL_USER_NAMESPACE].state, STEP_NOT_WANTED);
}

static const void *find_in(const struct template_page *page, const char *words)
{
	return memmem(page, sizeof(*page), words, strlen(words));
}

TEST(what_cells_know_of_their_template_names_nothing_of_the_host)
{
	auto_free struct template_page *template = good_template();
	auto_free struct template_page *known = xcalloc(1, sizeof(*known));
	(void)snprintf(template->rootfs, sizeof(template->rootfs), "/srv/root");
	(void)snprintf(template->runtime, sizeof(template->runtime), "/srv/runtime");
	template->mounts[1].is_writable = true;
	(void)snprintf(template->programs[0], LIMIT_PROGRAM_PATH, "/usr/bin/ls");
	template->program_count = 1;
	(void)snprintf(template->loader, sizeof(template->loader), "/lib64/ld.so");
	ASSERT(find_in(template, "/srv/"));
	jail_copy_inner(known, template);
	ASSERT(!find_in(known, "/srv/"));
	ASSERT_EQ(known->mount_count, 2);
	ASSERT_STR(known->mounts[1].to, "/mnt/1");
	ASSERT(known->mounts[1].is_writable && !known->mounts[0].is_writable);
	ASSERT_EQ(known->mounts[2].to[0], '\0'); /* it has no third one */
	ASSERT_EQ(known->program_count, 1);
	ASSERT_STR(known->programs[0], "/usr/bin/ls");
	ASSERT_STR(known->loader, "/lib64/ld.so");
}

TEST(the_steps_of_a_cell_are_told_in_words)
{
	struct plan plan = good_plan(MODE_ROOT, NET_NONE);
	struct report report = { 0 };
	const struct {
		enum step_id id;
		int value;
		const char *words;
	} told[] = {
		{ STEP_NETWORK, 0, "none" },
		{ STEP_CGROUP, 0, "v1" },
		{ STEP_RLIMITS, 0, "8 processes" },
		{ STEP_WORKSPACE, 0, "1048576 bytes, 100 files in all" },
		{ STEP_PROC, 0, "processes only" },
		{ STEP_UID, 0, "uid 200007, gid 200007" },
		{ STEP_LANDLOCK, 7, "ABI 7, abstract sockets and signals scoped" },
		{ STEP_LANDLOCK, 3, "ABI 3" },
	};
	(void)snprintf(report.steps[STEP_ROOTFS].detail, 96, "by its template");
	report.steps[STEP_ROOTFS].state = STEP_RAISED;
	for (size_t i = 0; i < COUNT_OF(told); i++) {
		report.steps[told[i].id].state = STEP_RAISED;
		report.steps[told[i].id].value = told[i].value;
		jail_tell_steps(&plan, &report);
		ASSERT_STR(report.steps[told[i].id].detail, told[i].words);
	}
	ASSERT_STR(report.steps[STEP_ROOTFS].detail, "by its template");
	ASSERT_STR(report.steps[STEP_SECCOMP].detail, ""); /* it was not raised */
	report.steps[STEP_SECCOMP].state = STEP_RAISED;
	jail_tell_steps(&plan, &report);
	ASSERT_HAS(report.steps[STEP_SECCOMP].detail, " instructions, not watched");
	report.steps[STEP_SECCOMP].value = true;
	report.steps[STEP_NETWORK].value = true;
	plan.cgroup = CGROUP_V2;
	plan.has_full_proc = true;
	jail_tell_steps(&plan, &report);
	ASSERT_HAS(report.steps[STEP_SECCOMP].detail, " instructions, watched");
	ASSERT_STR(report.steps[STEP_NETWORK].detail, "none, untouched by an earlier cell");
	ASSERT_STR(report.steps[STEP_CGROUP].detail, "v2");
	ASSERT_STR(report.steps[STEP_PROC].detail, "whole, masked");
}
