/* SPDX-License-Identifier: Apache-2.0 */
/* Real cells, raised by the zygote's program. */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/place.h"
#include "keeper/foresight.h"
#include "keeper/pool.h"
#include "keeper/sample.h"
#include "keeper/terms.h"

enum { MOST = 6, LATER_US = 301 * 1000000, DEATH_MS = 10000 };

static struct err err;
static struct policy policy;
static struct pool *pool;
static int fds_before;
static bool has_channel; /* the next runs */

static int count_fds(void)
{
	int count = 0;
	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Whether this machine can raise cells at all is not the pools' affair. */
static void need_cells(void)
{
	struct keeper *keeper = NULL;
	struct spec spec;
	if (geteuid() != 0)
		SKIP("not root");
	spec_init(&spec);
	if (keeper_open(&spec, NULL, KEEPER_RESIDENT, &keeper, &err) < 0 ||
		keeper_park(keeper, &spec, false, FORM_GATE, &err) < 0)
		SKIP(err.text);
	keeper_close(keeper);
	spec_done(&spec);
}

static void open_pool(size_t most)
{
	auto_free char *text = policy_to_json(&policy);
	ASSERT(text);
	ASSERT_OK(pool_open(text, strlen(text), most, &pool, &err));
}

static void set_up(size_t most)
{
	need_cells();
	ASSERT(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	fds_before = count_fds();
	policy_init(&policy);
	open_pool(most);
}

static void tear_down(void)
{
	pool_close(pool);
	policy_done(&policy);
	ASSERT_EQ(count_fds(), fds_before);
	ASSERT_EQ(waitpid(-1, NULL, 0), -1);
	ASSERT_EQ(errno, ECHILD);
}

static void fill(void)
{
	for (size_t steps = 0; pool_tend(pool) || pool_is_short(pool); steps++) {
		ASSERT(steps < 100);
		if (pool_is_short(pool))
			pool_fill(pool);
	}
}

static struct cell *take(bool want_warm)
{
	struct cell *cell = NULL;
	bool is_warm = !want_warm;
	ASSERT_OK(pool_take(pool, &cell, &is_warm, &err));
	ASSERT_EQ(is_warm, want_warm);
	return cell;
}

/* As the lender does when a loan has ended. */
static void bury(struct cell *cell)
{
	cell_free(cell);
	pool->lent--;
}

static bool is_dead(int pidfd, int timeout_ms)
{
	struct pollfd death = { .fd = pidfd, .events = POLLIN };
	return poll(&death, 1, timeout_ms) == 1;
}

static void kill_parked(size_t index)
{
	cell_strike(pool->parked[index]);
	ASSERT(is_dead(pool->parked[index]->pidfd, DEATH_MS));
}

/* Hands the cell over as a lender does; what comes is the borrower's. */
static struct keeper *lend_cell(struct cell *cell)
{
	int ends[2];
	struct loan_message message;
	struct keeper *borrowed = NULL;
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	ASSERT_EQ(terms_send(ends[0], cell, true), 0);
	ASSERT_EQ(loan_receive(ends[1], &message), 1);
	ASSERT_OK(terms_take(&message, &policy, &borrowed, &err));
	loan_message_done(&message);
	(void)close(ends[0]);
	borrowed->loan_fd = ends[1];
	return borrowed;
}

static struct heard hear(void *context, const char *data, size_t len, struct buf *pending)
{
	(void)context;
	(void)pending;
	return (struct heard){ .is_done = memmem(data, len, "done", 4) != NULL };
}

/* What `sh -c CODE` writes in the cell, or a guest that runs CODE; owned by the caller. */
static int run_in(struct keeper *borrowed, const char *code, char **ret_text)
{
	struct result result;
	struct strings argv = { 0 };
	struct strings own_argv = { 0 };
	strings_add(&argv, "/bin/sh");
	strings_add(&argv, "-c");
	strings_add(&argv, code);
	strings_add(&own_argv, "main.py");
	const struct task task = {
		.spec = &policy.spec,
		.argv = &argv,
		.own_argv = &own_argv,
		.program = policy.form == FORM_GUEST ? own_argv.items[0] : NULL,
		.code = code,
		.code_len = strlen(code),
		.form = policy.form,
		.outlet = { .fds = { -1, -1 } },
		.ear = { .hear = has_channel ? hear : NULL },
		.interrupt_fd = -1,
	};
	result_init(&result);
	int r = keeper_run(borrowed, &task, &result, NULL, &err);
	if (r == 0)
		*ret_text = xasprintf("%s:%s", run_status_names[result.status], result.out.text);
	result_done(&result);
	strings_done(&argv);
	strings_done(&own_argv);
	return r;
}

static void check_run(struct cell *cell, const char *code, const char *want)
{
	auto_free char *text = NULL;
	struct keeper *borrowed = lend_cell(cell);
	ASSERT_OK(run_in(borrowed, code, &text));
	ASSERT_STR(text, want);
	keeper_close(borrowed);
}

/* ---- cells that stand ready -------------------------------------------------------------------
 */

TEST(cells_stand_ready_before_anybody_asks)
{
	set_up(MOST);
	ASSERT_EQ(pool->parked_count, 0);
	fill();
	ASSERT_EQ(pool->parked_count, POOL_FIRST);
	for (size_t i = 0; i < pool->parked_count; i++)
		ASSERT(!is_dead(pool->parked[i]->pidfd, 0));
	ASSERT(pool->parked[0]->slot.number != pool->parked[1]->slot.number);
	ASSERT(pool->parked[0]->page->plan.uid != pool->parked[1]->page->plan.uid);
	struct cell *cell = take(true);
	check_run(cell, "echo $HOME", "ok:/home/user\n");
	bury(cell);
	ASSERT_EQ(pool->missed, 0);
	ASSERT_EQ(pool->served, 1);
	tear_down();
}

TEST(a_cell_is_handed_out_once_and_runs_one_task)
{
	auto_free char *text = NULL;
	set_up(MOST);
	fill();
	struct cell *first = take(true);
	struct cell *second = take(true);
	struct cell *third = take(false);
	ASSERT_EQ(pool->parked_count, 0);
	ASSERT_EQ(pool->lent, 3);
	ASSERT(first != second && second != third && first != third);
	struct keeper *borrowed = lend_cell(first);
	ASSERT_OK(run_in(borrowed, "echo 1 >x", &text));
	ASSERT_FAIL(run_in(borrowed, "cat x", &text), ERR_BROKEN);
	ASSERT_HAS(err.text, "for one run");
	keeper_close(borrowed);
	check_run(second, "ls; echo 2", "ok:2\n");
	check_run(third, "ls; echo 3", "ok:3\n");
	bury(first);
	bury(second);
	bury(third);
	tear_down();
}

TEST(a_cell_that_died_while_parked_is_not_handed_out)
{
	set_up(MOST);
	pool->wanted = 3;
	fill();
	struct cell *alive = pool->parked[2];
	kill_parked(0);
	kill_parked(1);
	ASSERT(take(true) == alive);
	ASSERT_EQ(pool->parked_count, 0);
	check_run(alive, "echo 1", "ok:1\n");
	bury(alive);
	fill();
	for (size_t i = 0; i < pool->parked_count; i++)
		kill_parked(i);
	struct cell *fresh = take(false);
	check_run(fresh, "echo 2", "ok:2\n");
	bury(fresh);
	tear_down();
}

TEST(a_cell_whose_program_ended_before_its_job_is_not_handed_out)
{
	need_cells();
	fds_before = count_fds();
	policy_init(&policy);
	policy.form = FORM_STARTED;
	strings_add(&policy.standing, "/bin/true");
	open_pool(MOST);
	fill();
	for (size_t i = 0; i < pool->parked_count; i++)
		ASSERT(is_dead(pool->parked[i]->pidfd, DEATH_MS));
	struct cell *cell = take(false);
	ASSERT_EQ(cell->walls.form, FORM_GATE);
	check_run(cell, "echo 1", "ok:1\n");
	bury(cell);
	tear_down();
}

static void set_up_started(const char *program)
{
	need_cells();
	fds_before = count_fds();
	policy_init(&policy);
	policy.form = FORM_STARTED;
	strings_add(&policy.standing, "/bin/sh");
	strings_add(&policy.standing, "-c");
	strings_add(&policy.standing, program);
	open_pool(MOST);
	fill();
}

static void tend_until(bool (*is_so)(void))
{
	int64_t deadline_us = clock_us() + DEATH_MS * 1000;
	while (pool_tend(pool) || !is_so()) {
		ASSERT(clock_us() < deadline_us);
		(void)poll(NULL, 0, 2);
	}
}

static bool are_ready(void)
{
	bool are = true;
	for (size_t i = 0; i < pool->parked_count; i++)
		are = are && pool->parked[i]->is_ready;
	return are;
}

static bool do_all_stand(void)
{
	bool do_all = true;
	for (size_t i = 0; i < pool->parked_count; i++)
		do_all = do_all && cell_stands(pool->parked[i]);
	return do_all;
}

/* It reads the head of a frame, which tells it that there is a job. */
TEST(a_started_program_gets_its_job_while_it_waits)
{
	set_up_started("head -c 4 <&3 >/dev/null; echo had a job");
	tend_until(are_ready);
	ASSERT(!do_all_stand() && pool_is_unready(pool)); /* it never said so */
	struct cell *cell = take(true);
	ASSERT_EQ(cell->walls.form, FORM_STARTED);
	check_run(cell, "exit 3", "ok:had a job\n");
	bury(cell);
	tear_down();
}

TEST(of_started_programs_the_oldest_that_waits_is_handed_out)
{
	set_up_started("printf word >&3; head -c 4 <&3 >/dev/null; echo had a job");
	tend_until(do_all_stand);
	ASSERT(pool->parked_count > 1);
	pool->parked[0]->is_waiting = false;
	struct cell *second = pool->parked[1];
	struct cell *cell = take(true);
	ASSERT(cell == second);
	check_run(cell, "exit 3", "ok:had a job\n");
	bury(cell);
	tear_down();
}

/* ---- their beginnings -------------------------------------------------------------------------
 */

static void look_until_heard(size_t index)
{
	const struct beginnings *beginnings = &pool->keeper->beginnings;
	int64_t deadline_us = clock_us() + DEATH_MS * 1000;
	ASSERT(index < beginnings->count);
	while (!beginnings->items[index].has_heard) {
		ASSERT(clock_us() < deadline_us);
		beginnings_look(pool->keeper);
	}
}

TEST(where_cells_are_taken_in_a_row_more_inits_are_on_their_way)
{
	struct cell *cells[3] = { NULL };
	set_up(MOST);
	const struct beginnings *beginnings = &pool->keeper->beginnings;
	for (size_t i = 0; i < COUNT_OF(cells); i++) {
		cells[i] = take(false);
		pool_hurry(pool);
		ASSERT(beginnings->count <= BEGINNINGS_MAX);
	}
	ASSERT(beginnings->count > 1);
	for (size_t i = 0; i < COUNT_OF(cells); i++) {
		check_run(cells[i], "ls; echo 1", "ok:1\n");
		bury(cells[i]);
	}
	look_until_heard(beginnings->count - 1);
	for (size_t looks = 0; looks < BEGINNINGS_MAX; looks++) {
		pool->taken = 0;
		ASSERT(!pool_look(pool, clock_us()));
	}
	ASSERT_EQ(beginnings->count, 1);
	ASSERT_EQ(beginnings->more, 0);
	tear_down();
}

TEST(who_finds_two_inits_ready_needs_one_less)
{
	set_up(MOST);
	struct beginnings *beginnings = &pool->keeper->beginnings;
	beginnings->more = 1;
	keeper_tidy(pool->keeper);
	look_until_heard(1);
	struct cell *cell = take(false);
	ASSERT_EQ(beginnings->more, 0);
	check_run(cell, "echo 1", "ok:1\n");
	bury(cell);
	tear_down();
}

TEST(an_init_that_failed_ahead_of_others_is_asked_for_again)
{
	set_up(MOST);
	struct beginnings *beginnings = &pool->keeper->beginnings;
	beginnings->more = 2;
	keeper_tidy(pool->keeper);
	ASSERT_EQ(beginnings->count, 3);
	look_until_heard(0);
	newborn_done(&beginnings->items[0].newborn);
	for (int number = 0; number < 2; number++) {
		struct cell *cell = take(false);
		check_run(cell, "echo 1", "ok:1\n");
		bury(cell);
	}
	tear_down();
}

/* ---- guests -----------------------------------------------------------------------------------
 */

/* The runtime is beside the programs, in the directory above that of all tests. */
static void set_up_guests(void)
{
	char self[PATH_MAX];
	need_cells();
	ASSERT_OK(place_program("hotcell-zygote", self, sizeof(self), &err));
	*strrchr(self, '/') = '\0';
	auto_free char *module = xasprintf("%s/../runtimes/python/_hotcell.abi3.so", self);
	if (access(module, R_OK) < 0 || access("/usr/bin/python3", X_OK) < 0)
		SKIP("no module for Python here");
	fds_before = count_fds();
	policy_init(&policy);
	policy.form = FORM_GUEST;
	policy.runtime = xasprintf("%s/../runtimes/python", self);
	auto_free char *boot = xasprintf("%s/boot.py", policy.runtime);
	strings_add(&policy.standing, "/usr/bin/python3");
	strings_add(&policy.standing, boot);
	open_pool(MOST);
}

static void await_host(void)
{
	int64_t deadline_us = clock_us() + DEATH_MS * 1000;
	while (!keeper_is_host(pool->keeper)) {
		ASSERT(clock_us() < deadline_us);
		(void)poll(NULL, 0, 2);
	}
}

TEST(cells_raised_while_the_interpreter_loads_give_way_to_guests)
{
	set_up_guests();
	ASSERT_EQ(kill(pool->keeper->host.zygote.pid, SIGSTOP), 0);
	if (keeper_is_host(pool->keeper))
		SKIP("the interpreter was faster than the test");
	pool_fill(pool);
	ASSERT_EQ(pool->parked[0]->walls.form, FORM_GATE);
	ASSERT_EQ(kill(pool->keeper->host.zygote.pid, SIGCONT), 0);
	await_host();
	fill();
	ASSERT_EQ(pool->parked_count, POOL_FIRST);
	for (size_t i = 0; i < pool->parked_count; i++)
		ASSERT_EQ(pool->parked[i]->walls.form, FORM_GUEST);
	struct cell *cell = take(true);
	check_run(cell, "print(1)", "ok:1\n");
	bury(cell);
	tear_down();
}

static bool is_confined(pid_t pid)
{
	char path[64];
	char text[4096];
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	ASSERT(io_read_at(AT_FDCWD, path, text, sizeof(text)) > 0);
	return strstr(text, "\nNoNewPrivs:\t1\n") && strstr(text, "\nSeccomp:\t2\n");
}

TEST(as_root_an_init_is_confined_before_its_guest_comes)
{
	set_up_guests();
	await_host();
	ASSERT_EQ(kill(pool->keeper->host.zygote.pid, SIGSTOP), 0);
	pool_fill(pool);
	ASSERT_EQ(pool->parked[0]->walls.form, FORM_GUEST);
	pid_t init = sample_pid(pool->parked[0]->pidfd);
	int64_t deadline_us = clock_us() + DEATH_MS * 1000;
	while (!is_confined(init)) {
		ASSERT(clock_us() < deadline_us);
		(void)poll(NULL, 0, 2);
	}
	ASSERT_EQ(pool->parked[0]->page->report.guest_pid, 0);
	ASSERT_EQ(kill(pool->keeper->host.zygote.pid, SIGCONT), 0);
	fill();
	struct cell *cell = take(true);
	ASSERT_EQ(sample_pid(cell->pidfd), init);
	check_run(cell, "print(3)", "ok:3\n");
	bury(cell);
	tear_down();
}

TEST(a_guest_that_is_forked_on_demand_is_warm)
{
	set_up_guests();
	await_host();
	struct cell *cell = take(true);
	ASSERT_EQ(cell->walls.form, FORM_GUEST);
	ASSERT_EQ(pool->missed, 1);
	check_run(cell, "print(2)", "ok:2\n");
	bury(cell);
	tear_down();
}

/* ---- handed over ahead ------------------------------------------------------------------------
 */

/* A cell as a client has it that stays, with what its last run had. */
static struct keeper *hold_cell(struct cell *cell)
{
	struct ahead ahead = AHEAD_NONE;
	struct keeper *borrowed = lend_cell(cell);
	bool is_guest = policy.form == FORM_GUEST;
	foresight_keep_program(&ahead, is_guest ? "main.py" : NULL);
	cell_foresee(borrowed->parked, &ahead);
	foresight_done(&ahead);
	ASSERT_EQ(borrowed->parked->handed_count, is_guest ? GATE_FD_COUNT : GATE_FD_CHANNEL);
	for (size_t i = 0; i < GATE_FD_COUNT; i++)
		ASSERT_EQ(borrowed->parked->delivery[i], -1);
	return borrowed;
}

/* The same is to be seen in a cell that was held and in one that was not. */
static void check_held(const char *code, const char *want)
{
	for (int i = 0; i < 2; i++) {
		auto_free char *text = NULL;
		struct cell *cell = take(policy.form == FORM_GUEST);
		struct keeper *borrowed = i == 0 ? hold_cell(cell) : lend_cell(cell);
		ASSERT_OK(run_in(borrowed, code, &text));
		ASSERT_STR(text, want);
		keeper_close(borrowed);
		bury(cell);
	}
}

static int give_input(const char *text)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	ASSERT_EQ(io_write(fd, text, strlen(text)), 0);
	policy.spec.stdin_path = xasprintf("/proc/self/fd/%d", fd);
	return fd;
}

/* What lists them is one of them: 3. */
#define LIST_FDS "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))), os.getcwd())"

TEST(a_guest_has_what_it_was_handed_and_nothing_else)
{
	set_up_guests();
	await_host();
	has_channel = true;
	check_held(LIST_FDS, "ok:[0, 1, 2, 3, 1023] /home/user\n");
	check_held("import os, sys; print(os.listdir(), open(__file__).read()[:9], "
		   "[sys.stdin.read()])",
		"ok:['main.py'] import os ['']\n");
	tear_down();
}

TEST(a_guest_that_was_handed_other_descriptors_gets_the_right_ones)
{
	set_up_guests();
	await_host();
	check_held(LIST_FDS, "ok:[0, 1, 2, 3] /home/user\n"); /* without a channel */
	has_channel = true;
	int fd = give_input("words");
	check_held("print(input()); " LIST_FDS, "ok:words\n[0, 1, 2, 3, 1023] /home/user\n");
	own_close(&fd);
	tear_down();
}

TEST(a_job_may_be_long_whatever_was_handed_ahead)
{
	enum { MUCH = 2 * JOB_SHORT };
	char text[MUCH + 64];
	set_up_guests();
	await_host();
	has_channel = true;
	memset(text, '#', MUCH);
	(void)snprintf(text + MUCH, sizeof(text) - MUCH, "\nprint(len(open(__file__).read()))");
	check_held(text, "ok:6178\n");
	memcpy(text, "LONG=", 5);
	text[MUCH] = '\0';
	strings_add(&policy.spec.env, text);
	check_held("import os; print(len(os.environ['LONG']))", "ok:6139\n");
	tear_down();
}

TEST(a_program_has_what_it_was_handed_or_what_it_needs)
{
	static const char list[] = "echo $(ls /proc/self/fd) $PWD; cat";
	set_up(MOST);
	check_held(list, "ok:0 1 2 3 /home/user\n");
	int fd = give_input("words");
	check_held(list, "ok:0 1 2 3 /home/user\nwords");
	own_close(&fd);
	free(take_ptr(&policy.spec.stdin_path));
	has_channel = true;
	check_held("[ -S /proc/self/fd/3 ] && echo $(ls /proc/self/fd)", "ok:0 1 2 3 4\n");
	tear_down();
}

static int count_processors(pid_t process)
{
	cpu_set_t set;
	ASSERT_EQ(sched_getaffinity(process, sizeof(set), &set), 0);
	return CPU_COUNT(&set);
}

/* Of a cell whose group has only init and it; where that was last. */
static pid_t payload_of(const struct cell *cell)
{
	auto_fd int fd = cgroup_open_procs(&cell->group);
	char text[256] = "";
	ASSERT(fd >= 0 && pread(fd, text, sizeof(text) - 1, 0) > 0);
	char *line = strrchr(text, '\n');
	ASSERT(line);
	*line = '\0';
	line = strrchr(text, '\n');
	ASSERT(line);
	return (pid_t)strtol(line + 1, NULL, 10);
}

static int last_processor(pid_t process)
{
	enum { FIELDS_AFTER_NAME = 37 }; /* proc(5): the 39th */
	char path[64];
	char text[1024];
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
	if (io_read_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return -1;
	const char *at = strrchr(text, ')');
	for (int i = 0; i < FIELDS_AFTER_NAME && at; i++)
		at = strchr(at + 1, ' ');
	return at ? (int)strtol(at + 1, NULL, 10) : -1;
}

TEST(a_cell_that_is_lent_waits_for_its_end_unless_nobody_is_left)
{
	set_up(MOST);
	for (int i = 0; i < 2; i++) {
		auto_free char *text = NULL;
		struct cell *cell = take(false);
		struct keeper *borrowed = lend_cell(cell);
		ASSERT_OK(run_in(borrowed, "sleep 60 & echo 1", &text));
		ASSERT_STR(text, "ok:1\n");
		ASSERT(is_dead(cell->pidfd, DEATH_MS)); /* somebody was left in it */
		keeper_close(borrowed);
		bury(cell);
		cell = take(false);
		borrowed = lend_cell(cell);
		free(text);
		ASSERT_OK(run_in(borrowed, "echo 2", &text));
		ASSERT_STR(text, "ok:2\n");
		keeper_close(borrowed);
		ASSERT(!is_dead(cell->pidfd, 100));
		if (i == 0)
			own_close(&cell->status_fd);
		ASSERT(i == 1 || is_dead(cell->pidfd, 500));
		bury(cell);
	}
	tear_down();
}

/* The lender has not heard of the end yet, and it would stay for a second. */
TEST(the_init_of_a_guest_leaves_when_the_result_is_out)
{
	set_up_guests();
	await_host();
	has_channel = true;
	auto_free char *text = NULL;
	struct cell *cell = take(true);
	struct keeper *borrowed = lend_cell(cell);
	ASSERT_OK(run_in(borrowed, "print(3)", &text));
	ASSERT_STR(text, "ok:3\n");
	ASSERT(!is_dead(cell->pidfd, 100));
	keeper_close(borrowed);
	ASSERT(is_dead(cell->pidfd, 900));
	bury(cell);
	tear_down();
}

TEST(who_was_handed_something_is_elsewhere_than_who_did)
{
	if (count_processors(0) < 2)
		SKIP("only one processor here");
	set_up(MOST);
	auto_free char *want = xasprintf("ok:%d\n", count_processors(0));
	for (int i = 0; i < 20; i++) {
		auto_free char *text = NULL;
		cpu_set_t one, all;
		struct cell *cell = take(false);
		struct keeper *borrowed = lend_cell(cell);
		ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
		CPU_ZERO(&one);
		CPU_SET(sched_getcpu(), &one);
		ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
		int here = sched_getcpu();
		const struct ahead nothing = AHEAD_NONE;
		cell_foresee(borrowed->parked, &nothing);
		(void)poll(NULL, 0, 20);
		int there = last_processor(payload_of(cell));
		ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
		ASSERT(there >= 0 && there != here);
		ASSERT_OK(run_in(borrowed, "nproc", &text));
		ASSERT_STR(text, want);
		keeper_close(borrowed);
		bury(cell);
	}
	tear_down();
}

/* ---- apart ------------------------------------------------------------------------------------
 */

static bool do_share_a_processor(pid_t one, pid_t other)
{
	cpu_set_t sets[2];
	ASSERT_EQ(sched_getaffinity(one, sizeof(sets[0]), &sets[0]), 0);
	ASSERT_EQ(sched_getaffinity(other, sizeof(sets[1]), &sets[1]), 0);
	CPU_AND(&sets[0], &sets[0], &sets[1]);
	return CPU_COUNT(&sets[0]) > 0;
}

static void need_two_processors(void)
{
	if (apart_processors() == 0)
		SKIP("not two processors here");
}

TEST(interpreter_and_zygote_work_apart_while_many_cells_are_wanted)
{
	need_two_processors();
	set_up_guests();
	await_host();
	struct keeper *keeper = pool->keeper;
	keeper->beginnings.more = BEGINNINGS_MAX - 1;
	pool_hurry(pool);
	ASSERT(keeper->is_apart);
	ASSERT_EQ(count_processors(keeper->zygote.pid), 1);
	ASSERT_EQ(count_processors(keeper->host.zygote.pid), 1);
	ASSERT(!do_share_a_processor(keeper->zygote.pid, keeper->host.zygote.pid));
	ASSERT(do_share_a_processor(0, keeper->zygote.pid));
	ASSERT_EQ(sched_getscheduler(keeper->zygote.pid), SCHED_BATCH);
	ASSERT_EQ(sched_getscheduler(keeper->host.zygote.pid), SCHED_BATCH);
	ASSERT_EQ(sched_getscheduler(0), SCHED_OTHER);
	pool->taken = 1000;
	ASSERT(!pool_look(pool, clock_us()));
	ASSERT(keeper->is_apart);
	ASSERT(!pool_look(pool, clock_us())); /* nobody asked since */
	ASSERT(!keeper->is_apart);
	ASSERT_EQ(count_processors(keeper->zygote.pid), 2);
	ASSERT_EQ(count_processors(keeper->host.zygote.pid), 2);
	ASSERT_EQ(count_processors(0), 2);
	ASSERT_EQ(sched_getscheduler(keeper->zygote.pid), SCHED_OTHER);
	ASSERT_EQ(sched_getscheduler(keeper->host.zygote.pid), SCHED_OTHER);
	apart_set(keeper, true);
	tear_down();
	ASSERT_EQ(count_processors(0), 2);
}

TEST(nobody_is_set_apart_where_somebody_has_said_how_we_are_scheduled)
{
	const struct sched_param none = { 0 };
	if (count_processors(0) != 2)
		SKIP("not two processors here");
	ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
	set_up(MOST);
	apart_set(pool->keeper, true);
	ASSERT(!pool->keeper->is_apart);
	ASSERT_EQ(count_processors(pool->keeper->zygote.pid), 2);
	struct cell *cell = take(false);
	check_run(cell, "cut -d' ' -f41 /proc/self/stat", "ok:3\n");
	bury(cell);
	tear_down();
}

TEST(a_guest_of_one_set_apart_has_all_processors_and_is_not_patient)
{
	static const char code[] =
		"import os; print(len(os.sched_getaffinity(0)), os.sched_getscheduler(0))";
	need_two_processors();
	set_up_guests();
	await_host();
	apart_set(pool->keeper, true);
	struct cell *on_demand = take(true);
	check_run(on_demand, code, "ok:2 0\n");
	bury(on_demand);
	fill();
	tend_until(do_all_stand);
	ASSERT(pool_warm(pool));
	struct cell *warm = take(true);
	ASSERT(warm->is_warm);
	check_run(warm, code, "ok:2 0\n");
	bury(warm);
	tear_down();
}

TEST(a_program_of_a_zygote_set_apart_has_all_processors_and_is_not_patient)
{
	need_two_processors();
	set_up(MOST);
	apart_set(pool->keeper, true);
	struct cell *cell = take(false);
	check_run(cell, "nproc; cut -d' ' -f41 /proc/self/stat", "ok:2\n0\n");
	bury(cell);
	tear_down();
}

/* ---- interpreters -----------------------------------------------------------------------------
 */

TEST(guests_on_their_way_come_though_another_interpreter_takes_over)
{
	set_up_guests();
	await_host();
	struct keeper *keeper = pool->keeper;
	pid_t old = keeper->host.zygote.pid;
	int64_t deadline_us = clock_us() + DEATH_MS * 1000;
	keeper->host.started_us = -INT64_C(3600000000); /* so it is old enough */
	keeper_renew_host(keeper, &policy.standing);
	while (!host_is_ready(&keeper->next_host)) {
		ASSERT(clock_us() < deadline_us);
		(void)poll(NULL, 0, 2);
	}
	ASSERT_EQ(kill(old, SIGSTOP), 0);
	while (pool->parked_count < MOST)
		pool_fill(pool);
	ASSERT_EQ(kill(old, SIGCONT), 0);
	keeper_renew_host(keeper, &policy.standing);
	ASSERT(keeper->host.zygote.pid != old);
	for (size_t i = 0; i < MOST; i++) {
		const struct cell *parked = pool->parked[i];
		ASSERT_EQ(parked->walls.form, FORM_GUEST);
		while (!parked->is_ready) {
			ASSERT(clock_us() < deadline_us);
			(void)pool_tend(pool);
			(void)poll(NULL, 0, 2);
		}
	}
	struct cell *cell = take(true);
	check_run(cell, "print(3)", "ok:3\n");
	bury(cell);
	tear_down();
}

TEST(without_its_interpreter_a_pool_still_lends_cells)
{
	set_up_guests();
	await_host();
	auto_fd int pidfd = pidfd_open(pool->keeper->host.zygote.pid, 0);
	ASSERT_EQ(kill(pool->keeper->host.zygote.pid, SIGKILL), 0);
	ASSERT(is_dead(pidfd, DEATH_MS));
	struct cell *cell = take(false);
	ASSERT_EQ(cell->walls.form, FORM_GATE);
	check_run(cell, "echo $0", "ok:/bin/sh\n");
	bury(cell);
	own_close(&pidfd);
	tear_down();
}

/* ---- how many ---------------------------------------------------------------------------------
 */

TEST(a_miss_doubles_what_is_wanted_up_to_the_most)
{
	static const size_t wanted[] = { 4, MOST, MOST };
	set_up(MOST);
	ASSERT_EQ(pool->wanted, POOL_FIRST);
	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		bury(take(false));
		ASSERT_EQ(pool->wanted, wanted[i]);
		ASSERT_EQ(pool->missed, i + 1);
	}
	fill();
	ASSERT_EQ(pool->parked_count, MOST);
	ASSERT(!pool_is_short(pool));
	bury(take(true));
	ASSERT_EQ(pool->wanted, MOST);
	ASSERT_EQ(pool->missed, COUNT_OF(wanted));
	tear_down();
}

TEST(a_pool_that_may_keep_none_still_serves)
{
	set_up(0);
	ASSERT_EQ(pool->wanted, 0);
	ASSERT(!pool_is_short(pool));
	bury(take(false));
	ASSERT_EQ(pool->wanted, 0);
	ASSERT(!pool_look(pool, clock_us()));
	tear_down();
}

TEST(quiet_times_lower_what_is_wanted_to_none_and_one_request_brings_it_back)
{
	set_up(MOST);
	fill();
	ASSERT(!pool_look(pool, clock_us()));
	ASSERT_EQ(pool->wanted, 1);
	ASSERT_EQ(pool->parked_count, 1);
	ASSERT(!pool_look(pool, clock_us()));
	ASSERT(!pool_look(pool, clock_us()));
	ASSERT_EQ(pool->wanted, 0);
	ASSERT_EQ(pool->parked_count, 0);
	ASSERT(!pool_is_short(pool));
	bury(take(false));
	ASSERT_EQ(pool->wanted, 1);
	ASSERT(pool_is_short(pool));
	tear_down();
}

TEST(demand_keeps_what_it_needs)
{
	set_up(MOST);
	pool->wanted = MOST;
	for (int look = 0; look < 8; look++) {
		fill();
		for (int i = 0; i < 3; i++)
			bury(take(true));
		(void)pool_look(pool, clock_us());
		ASSERT_EQ(pool->taken, 0);
	}
	ASSERT_EQ(pool->wanted, 3);
	ASSERT_EQ(pool->missed, 0);
	/* it is remembered for a while */
	(void)pool_look(pool, clock_us());
	ASSERT_EQ(pool->wanted, 3);
	for (int look = 0; look < 20; look++)
		(void)pool_look(pool, clock_us() + LATER_US);
	ASSERT_EQ(pool->wanted, 0);
	tear_down();
}

TEST(the_floor_is_kept_whatever_the_demand)
{
	set_up(MOST);
	pool_set_floor(pool, MOST + 1);
	ASSERT_EQ(pool->floor, MOST);
	ASSERT_EQ(pool->wanted, MOST);
	pool_set_floor(pool, 2);
	ASSERT_EQ(pool->wanted, MOST); /* it falls with time */
	fill();
	for (int look = 0; look < 8; look++)
		ASSERT(!pool_look(pool, clock_us() + LATER_US));
	ASSERT_EQ(pool->wanted, 2);
	ASSERT_EQ(pool->parked_count, 2);
	ASSERT(!is_dead(pool->parked[0]->pidfd, 0) && !is_dead(pool->parked[1]->pidfd, 0));
	tear_down();
}

TEST(a_pool_that_nobody_asks_for_a_while_is_not_needed)
{
	set_up(MOST);
	ASSERT(!pool_look(pool, clock_us()));
	ASSERT(pool_look(pool, clock_us() + LATER_US));
	struct cell *cell = take(false);
	ASSERT(!pool_look(pool, clock_us() + LATER_US)); /* something of it is out */
	bury(cell);
	ASSERT(pool_look(pool, clock_us() + LATER_US));
	tear_down();
}

/* ---- what goes wrong --------------------------------------------------------------------------
 */

TEST(a_policy_that_cannot_be_raised_opens_no_pool)
{
	static const char *const texts[] = { "", "{\"form\":\"other\"}",
		"{\"spec\":{\"ro\":[\"/none/such:/mnt/a\"]}}",
		"{\"spec\":{\"require\":[\"nothing\"]}}",
		"{\"form\":\"guest\",\"standing\":[\"/none/such\"]}" };
	need_cells();
	int before = count_fds();
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		if (pool_open(texts[i], strlen(texts[i]), MOST, &pool, &err) == 0)
			FAIL("%s opened a pool", texts[i]);
		ASSERT(err.text[0]);
		ASSERT(!pool);
	}
	ASSERT_EQ(count_fds(), before);
	ASSERT_EQ(waitpid(-1, NULL, 0), -1);
}

/* Its cells died with it, and it will not come back. */
TEST(a_pool_whose_zygote_died_is_lost)
{
	struct cell *cell = NULL;
	bool is_warm = false;
	set_up(MOST);
	pool_set_floor(pool, 1);
	fill();
	ASSERT(!pool_is_lost(pool));
	struct cell *lent = take(true);
	ASSERT_EQ(kill(pool->keeper->zygote.pid, SIGKILL), 0);
	ASSERT(is_dead(lent->pidfd, DEATH_MS));
	ASSERT(is_dead(pool->parked[0]->pidfd, DEATH_MS));
	ASSERT(pool_is_lost(pool));
	ASSERT_EQ(pool_take(pool, &cell, &is_warm, &err), -1);
	ASSERT(!pool_is_short(pool));
	ASSERT(!pool_look(pool, clock_us()));
	bury(lent);
	ASSERT(pool_look(pool, clock_us()));
	tear_down();
}

/* ---- what is left -----------------------------------------------------------------------------
 */

static size_t count_groups(const struct cgroup_site *site, const char *name)
{
	struct stat st;
	size_t count = 0;
	for (size_t i = 0; i < site->place_count; i++)
		count += fstatat(site->places[i].parent_fd, name, &st, 0) == 0;
	return count;
}

TEST(a_closed_pool_leaves_nothing)
{
	int pidfds[MOST], numbers[MOST];
	char names[MOST][32];
	struct cgroup_site site;
	size_t looked_at = 0;
	set_up(MOST);
	pool->wanted = MOST;
	fill();
	for (size_t i = 0; i < MOST; i++) {
		const struct cell *cell = pool->parked[i];
		pidfds[i] = fcntl(cell->pidfd, F_DUPFD_CLOEXEC, 3);
		numbers[i] = cell->slot.number;
		(void)snprintf(names[i], sizeof(names[i]), "%s", cell->group.name);
	}
	fds_before += MOST;
	tear_down();
	cgroup_find(&site, true);
	for (size_t i = 0; i < MOST; i++) {
		struct slot slot;
		ASSERT(is_dead(pidfds[i], 0));
		if (!slot_take_number(&slot, numbers[i]))
			continue; /* somebody else's cell has it now */
		ASSERT_EQ(count_groups(&site, names[i]), 0);
		slot_free(&slot);
		looked_at++;
	}
	ASSERT(looked_at > 0);
	cgroup_site_done(&site);
}
