/* SPDX-License-Identifier: Apache-2.0 */
/* The test plays the cell's init, and its children those who stand ready. */
#include "unit/test.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keeper/elsewhere.h"

enum { CHILDREN_MAX = 2 };

static struct {
	int pidfd;
	int procs_fd; /* as a group has it */
	pid_t children[CHILDREN_MAX];
	size_t count;
} cell;

static pid_t start_child(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		(void)pause();
	_exit(0);
}

static void end_child(size_t i)
{
	(void)kill(cell.children[i], SIGKILL);
	(void)waitpid(cell.children[i], NULL, 0);
}

static void set_up(size_t count)
{
	cell.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	cell.procs_fd = memfd_create("procs", MFD_CLOEXEC);
	ASSERT(cell.pidfd >= 0 && dprintf(cell.procs_fd, "%d\n", getpid()) > 0);
	for (cell.count = 0; cell.count < count; cell.count++) {
		pid_t pid = cell.children[cell.count] = start_child();
		ASSERT(pid > 0 && dprintf(cell.procs_fd, "%d\n", pid) > 0);
	}
}

static void tear_down(void)
{
	for (size_t i = 0; i < cell.count; i++)
		end_child(i);
	(void)close(cell.pidfd);
	(void)close(cell.procs_fd);
}

static cpu_set_t cpus_of(pid_t pid)
{
	cpu_set_t cpus;
	ASSERT(sched_getaffinity(pid, sizeof(cpus), &cpus) == 0);
	return cpus;
}

static bool may_use(pid_t pid, const cpu_set_t *wanted)
{
	cpu_set_t cpus = cpus_of(pid);
	return CPU_EQUAL(&cpus, wanted);
}

/* Keeps the test to the nth of these processors, and tells the others. */
static cpu_set_t stay_on(int n, const cpu_set_t *all)
{
	cpu_set_t others = *all;
	cpu_set_t one;
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, all) && n-- == 0) {
			CPU_SET(cpu, &one);
			CPU_CLR(cpu, &others);
		}
	ASSERT(sched_setaffinity(0, sizeof(one), &one) == 0);
	return others;
}

TEST(a_program_is_kept_off_the_processor_of_its_client_until_its_job_comes)
{
	struct elsewhere elsewhere = { .pidfd = -1 };
	cpu_set_t all = cpus_of(0);
	if (CPU_COUNT(&all) < 2)
		SKIP("there is only one processor");
	set_up(1);
	cpu_set_t others = stay_on(1, &all);
	elsewhere_begin(&elsewhere, cell.pidfd, cell.procs_fd);
	ASSERT(may_use(cell.children[0], &others));
	/* where the client goes, it is not */
	others = stay_on(0, &all);
	elsewhere_follow(&elsewhere);
	ASSERT(may_use(cell.children[0], &others));
	elsewhere_end(&elsewhere);
	ASSERT(may_use(cell.children[0], &all));
	/* what was given back is not taken again */
	(void)stay_on(1, &all);
	elsewhere_follow(&elsewhere);
	ASSERT(may_use(cell.children[0], &all));
	elsewhere_close(&elsewhere);
	ASSERT_EQ(elsewhere.pidfd, -1);
	tear_down();
}

static uint64_t bits_of(const cpu_set_t *cpus)
{
	uint64_t bits = 0;
	for (int cpu = 0; cpu < 64; cpu++)
		bits |= CPU_ISSET(cpu, cpus) ? UINT64_C(1) << cpu : 0;
	return bits;
}

TEST(who_left_by_itself_is_met_where_its_client_went_after_it)
{
	struct elsewhere elsewhere = { .pidfd = -1 };
	cpu_set_t all = cpus_of(0);
	if (CPU_COUNT(&all) < 2)
		SKIP("there is only one processor");
	set_up(1);
	(void)stay_on(1, &all);
	ASSERT(elsewhere_find(&elsewhere, cell.pidfd, cell.procs_fd));
	ASSERT(may_use(cell.children[0], &all));
	/* it is on none that the client was on then */
	elsewhere_meet(&elsewhere, bits_of(&all));
	ASSERT(may_use(cell.children[0], &all));
	cpu_set_t others = stay_on(0, &all);
	elsewhere_meet(&elsewhere, bits_of(&all));
	ASSERT(may_use(cell.children[0], &others));
	elsewhere_end(&elsewhere);
	ASSERT(may_use(cell.children[0], &all));
	/* nor is it touched where nobody knows what to give back */
	elsewhere_meet(&elsewhere, 0);
	ASSERT(may_use(cell.children[0], &all));
	elsewhere_close(&elsewhere);
	ASSERT_EQ(elsewhere.pidfd, -1);
	tear_down();
}

TEST(who_lets_go_of_a_cell_gives_back_what_was_taken)
{
	struct elsewhere elsewhere = { .pidfd = -1 };
	cpu_set_t all = cpus_of(0);
	set_up(1);
	elsewhere_begin(&elsewhere, cell.pidfd, cell.procs_fd);
	elsewhere_close(&elsewhere);
	ASSERT(may_use(cell.children[0], &all));
	tear_down();
}

TEST(one_of_several_is_left_alone)
{
	for (size_t count = 0; count <= CHILDREN_MAX; count += CHILDREN_MAX) {
		struct elsewhere elsewhere = { .pidfd = -1 };
		cpu_set_t all = cpus_of(0);
		set_up(count);
		elsewhere_begin(&elsewhere, cell.pidfd, cell.procs_fd);
		ASSERT(!elsewhere_find(&elsewhere, cell.pidfd, cell.procs_fd));
		ASSERT_EQ(elsewhere.pidfd, -1);
		for (size_t i = 0; i < count; i++)
			ASSERT(may_use(cell.children[i], &all));
		elsewhere_follow(&elsewhere);
		elsewhere_meet(&elsewhere, bits_of(&all));
		elsewhere_close(&elsewhere);
		tear_down();
	}
}

/* The number of one that is gone may be anybody's: here it is the test's own. */
TEST(who_is_gone_is_not_mistaken_for_another)
{
	struct elsewhere elsewhere = { .pidfd = -1 };
	cpu_set_t all = cpus_of(0);
	set_up(1);
	elsewhere_begin(&elsewhere, cell.pidfd, cell.procs_fd);
	end_child(0);
	(void)stay_on(0, &all);
	cpu_set_t before = cpus_of(0);
	elsewhere.pid = getpid();
	elsewhere.cpu = -1;
	elsewhere_follow(&elsewhere);
	elsewhere_meet(&elsewhere, bits_of(&all));
	elsewhere_close(&elsewhere);
	ASSERT(may_use(0, &before));
	tear_down();
}
