/* SPDX-License-Identifier: Apache-2.0 */
/* A cell without a cgroup and without a workspace, ended in every way there is. */
#include "unit/test.h"

#include "keeper/cell.h"

static struct spec spec;
static struct result result;
static struct task task = { .spec = &spec };
static struct cell cell;

static void clean_up(void)
{
	spec_done(&spec);
	result_done(&result);
}

/* A cell that ended by itself after 250 ms with this wait status. */
static void set_up(int wait_status)
{
	static bool has_hook;
	if (has_hook)
		clean_up();
	else
		ASSERT_EQ(atexit(clean_up), 0);
	has_hook = true;
	spec_init(&spec);
	result_init(&result);
	cell = (struct cell){ .task = &task, .result = &result, .workspace = { .fd = -1 } };
	cell.has_ended = true;
	cell.end = (struct init_message){ .kind = INIT_ENDED,
		.wait_status = wait_status,
		.cpu_us = 1000,
		.max_rss_kb = 2000,
		.read_bytes = 3,
		.write_bytes = 4 };
	cell.started_us = 1000000;
	cell.ended_us = 1250000;
}

static int exited(int code)
{
	return code << 8;
}

static void judge(enum run_status want, int exit_code, int signal)
{
	cell_judge(&cell);
	ASSERT_STR(run_status_names[result.status], run_status_names[want]);
	ASSERT_EQ(result.exit_code, exit_code);
	ASSERT_EQ(result.signal, signal);
}

TEST(a_program_that_exits_is_judged_by_its_status)
{
	set_up(exited(0));
	judge(STATUS_OK, 0, 0);
	ASSERT_EQ(result.denial_count, 0);
	set_up(exited(1));
	judge(STATUS_ERROR, 1, 0);
	set_up(exited(255));
	judge(STATUS_ERROR, 255, 0);
}

TEST(a_program_that_dies_is_judged_by_its_signal)
{
	set_up(SIGSEGV);
	judge(STATUS_SIGNAL, 0, SIGSEGV);
	set_up(SIGABRT | 0x80); /* with a core */
	judge(STATUS_SIGNAL, 0, SIGABRT);
	set_up(SIGXCPU); /* sent by the program itself: no limit was asked for */
	judge(STATUS_SIGNAL, 0, SIGXCPU);
}

TEST(an_init_that_says_nothing_was_killed)
{
	set_up(exited(0));
	cell.has_ended = false;
	judge(STATUS_SIGNAL, 0, SIGKILL);
}

TEST(what_we_did_comes_before_how_it_ended)
{
	/* clang-format off */
	static const struct {
		enum cell_cause cause;
		enum run_status want;
		const char *layer, *option;
	} causes[] = {
		{ CAUSE_TIMEOUT, STATUS_TIMEOUT, "time", "--timeout 66" },
		{ CAUSE_MEMORY, STATUS_OOM, "memory", "--memory 1G" },
		{ CAUSE_OUTPUT, STATUS_OUTPUT_LIMIT, "output", "--output-limit 128M" },
		{ CAUSE_CPU, STATUS_CPU_LIMIT, "cpu", "--cpu-time 3" },
		{ CAUSE_INTERRUPT, STATUS_INTERRUPTED, NULL, NULL },
	};
	/* clang-format on */
	_Static_assert(COUNT_OF(causes) == CELL_CAUSE_COUNT - 1, "try every cause");
	for (size_t i = 0; i < COUNT_OF(causes); i++) {
		set_up(exited(0));
		spec.cpu_time_ms = 1500;
		cell.cause = causes[i].cause;
		judge(causes[i].want, 0, SIGKILL);
		ASSERT_EQ(result.denial_count, causes[i].layer != NULL);
		if (!causes[i].layer)
			continue;
		ASSERT_STR(result.denials[0].layer, causes[i].layer);
		ASSERT_STR(result.denials[0].option, causes[i].option);
		ASSERT_STR(result.denials[0].evidence, "kernel");
	}
}

TEST(sigxcpu_under_a_limit_is_the_limit)
{
	set_up(SIGXCPU);
	spec.cpu_time_ms = 1000;
	judge(STATUS_CPU_LIMIT, 0, SIGXCPU);
	ASSERT_STR(result.denials[0].option, "--cpu-time 2");
}

TEST(usage_is_what_init_said_or_more_when_sampled)
{
	set_up(exited(0));
	judge(STATUS_OK, 0, 0);
	ASSERT_EQ(result.usage.wall_us, 250000);
	ASSERT_EQ(result.usage.cpu_us, 1000);
	ASSERT_EQ(result.usage.max_memory_kb, 2000);
	ASSERT_EQ(result.usage.processes, 1);
	ASSERT_EQ(result.usage.read_bytes, 3);
	ASSERT_EQ(result.usage.write_bytes, 4);
	set_up(exited(0));
	cell.sampled_cpu_us = 5000;
	cell.sampled_memory = 3000 * 1024;
	cell.sampled_processes = 7;
	judge(STATUS_OK, 0, 0);
	ASSERT_EQ(result.usage.cpu_us, 5000);
	ASSERT_EQ(result.usage.max_memory_kb, 3000);
	ASSERT_EQ(result.usage.processes, 7);
	set_up(exited(0));
	cell.sampled_cpu_us = 500;
	cell.sampled_memory = 1024;
	judge(STATUS_OK, 0, 0);
	ASSERT_EQ(result.usage.cpu_us, 1000);
	ASSERT_EQ(result.usage.max_memory_kb, 2000);
}

static const struct isolation_item *item_of(const char *key)
{
	for (size_t i = 0; i < result.isolation_count; i++)
		if (strcmp(result.isolation[i].key, key) == 0)
			return &result.isolation[i];
	FAIL("meta.isolation has no '%s'", key);
}

/* A description of a cell whose every step but `missing` was raised. */
static void describe(enum step_id missing)
{
	static struct template_page template = { .rootfs = "/srv/root" };
	static struct keeper keeper = { .template = &template };
	static struct cell_page page;
	static struct report report;
	set_up(exited(0));
	page.plan = (struct plan){ .mode = MODE_ROOT,
		.uid = 200007,
		.net = NET_LOOPBACK,
		.cgroup = CGROUP_V1,
		.has_full_proc = true };
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++)
		report.steps[id].state = id == missing ? STEP_NOT_REACHED : STEP_RAISED;
	report.steps[STEP_LANDLOCK].value = 6;
	cell.keeper = &keeper;
	cell.page = &page;
	cell_describe(&cell, &report);
}

TEST(isolation_tells_of_every_step)
{
	describe(STEP_NONE);
	ASSERT_EQ(result.isolation_count, STEP_ID_COUNT - 1 + 2);
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++)
		(void)item_of(jail_steps[id].name);
	ASSERT_STR(item_of("mode")->text, "root");
	ASSERT_STR(item_of("network")->text, "loopback");
	ASSERT_STR(item_of("cgroup")->text, "v1");
	ASSERT_STR(item_of("rootfs")->text, "/srv/root");
	ASSERT_STR(item_of("proc")->text, "masked");
	ASSERT_STR(item_of("memory_limit")->text, "sampled"); /* this cell has no group */
	ASSERT_EQ(item_of("uid")->number, 200007);
	ASSERT_EQ(item_of("landlock")->number, 6);
	ASSERT_EQ(item_of("seccomp")->number, 1);
}

TEST(isolation_claims_no_step_that_was_not_raised)
{
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++) {
		describe((enum step_id)id);
		const struct isolation_item *item = item_of(jail_steps[id].name);
		if (id == STEP_NETWORK)
			ASSERT_STR(item->text, "host");
		else if (id == STEP_CGROUP)
			ASSERT_STR(item->text, "none");
		else if (item->kind != ISOLATION_TEXT && id != STEP_UID)
			ASSERT_EQ(item->number, 0);
	}
}
