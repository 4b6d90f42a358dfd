/* SPDX-License-Identifier: Apache-2.0 */
/* A child plays the cell's init, and what it forks the program that stands ready. */
#include "unit/test.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keeper/elsewhere.h"

enum { CHILDREN_MAX = 2 };

struct init {
	pid_t pid;
	int pidfd;
	int procs_fd; /* as a group has it */
	pid_t children[CHILDREN_MAX];
};

static void wait_to_be_killed(pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		(void)pause();
	_exit(0);
}

static void start_init(struct init *init, size_t child_count)
{
	int ends[2];
	pid_t test = getpid();
	ASSERT_EQ(pipe(ends), 0);
	init->pid = fork();
	ASSERT(init->pid >= 0);
	if (init->pid == 0) {
		(void)signal(SIGCHLD, SIG_IGN); /* buries them at once */
		for (size_t i = 0; i < child_count; i++) {
			pid_t init_pid = getpid();
			pid_t pid = fork();
			if (pid == 0)
				wait_to_be_killed(init_pid);
			(void)!write(ends[1], &pid, sizeof(pid));
		}
		wait_to_be_killed(test);
	}
	init->pidfd = (int)syscall(SYS_pidfd_open, init->pid, 0);
	ASSERT(init->pidfd >= 0);
	init->procs_fd = memfd_create("procs", MFD_CLOEXEC);
	ASSERT(dprintf(init->procs_fd, "%d\n", init->pid) > 0);
	for (size_t i = 0; i < child_count; i++) {
		ASSERT_EQ(read(ends[0], &init->children[i], sizeof(pid_t)), (ssize_t)sizeof(pid_t));
		ASSERT(dprintf(init->procs_fd, "%d\n", init->children[i]) > 0);
	}
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void stop_init(struct init *init)
{
	(void)kill(init->pid, SIGKILL);
	(void)waitpid(init->pid, NULL, 0);
	(void)close(init->pidfd);
	(void)close(init->procs_fd);
}

static cpu_set_t cpus_of(pid_t pid)
{
	cpu_set_t cpus;
	ASSERT(sched_getaffinity(pid, sizeof(cpus), &cpus) == 0);
	return cpus;
}

/* Keeps the test to one processor; false: it may use no other. */
static bool stay_on(int wanted, cpu_set_t *ret_all)
{
	cpu_set_t one;
	*ret_all = cpus_of(0);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, ret_all) && wanted-- == 0)
			CPU_SET(cpu, &one);
	return CPU_COUNT(&one) == 1 && sched_setaffinity(0, sizeof(one), &one) == 0;
}

TEST(a_program_is_kept_off_the_processor_of_its_client_until_its_job_comes)
{
	struct elsewhere elsewhere = { .pidfd = -1 };
	struct init init;
	cpu_set_t all, cpus;
	start_init(&init, 1);
	if (!stay_on(1, &all))
		SKIP("there is only one processor");
	ASSERT(!elsewhere_is(&elsewhere));
	elsewhere_begin(&elsewhere, init.pidfd, init.procs_fd);
	ASSERT(elsewhere_is(&elsewhere));
	cpus = cpus_of(init.children[0]);
	ASSERT_EQ(CPU_COUNT(&cpus), CPU_COUNT(&all) - 1);
	ASSERT(!CPU_ISSET(sched_getcpu(), &cpus));
	/* where the client goes, it is not */
	ASSERT(sched_setaffinity(0, sizeof(all), &all) == 0 && stay_on(0, &all));
	elsewhere_follow(&elsewhere);
	cpus = cpus_of(init.children[0]);
	ASSERT_EQ(CPU_COUNT(&cpus), CPU_COUNT(&all) - 1);
	ASSERT(!CPU_ISSET(sched_getcpu(), &cpus));
	elsewhere_end(&elsewhere);
	ASSERT(!elsewhere_is(&elsewhere));
	cpus = cpus_of(init.children[0]);
	ASSERT(CPU_EQUAL(&cpus, &all));
	/* what was given back is not taken again */
	elsewhere_follow(&elsewhere);
	elsewhere_close(&elsewhere);
	cpus = cpus_of(init.children[0]);
	ASSERT(CPU_EQUAL(&cpus, &all));
	ASSERT_EQ(elsewhere.pidfd, -1);
	ASSERT(sched_setaffinity(0, sizeof(all), &all) == 0);
	stop_init(&init);
}

TEST(who_lets_go_of_a_cell_gives_back_what_was_taken)
{
	struct elsewhere elsewhere = { .pidfd = -1 };
	struct init init;
	cpu_set_t all = cpus_of(0);
	start_init(&init, 1);
	elsewhere_begin(&elsewhere, init.pidfd, init.procs_fd);
	elsewhere_close(&elsewhere);
	cpu_set_t cpus = cpus_of(init.children[0]);
	ASSERT(CPU_EQUAL(&cpus, &all));
	stop_init(&init);
}

TEST(one_of_several_is_left_alone)
{
	for (size_t count = 0; count <= CHILDREN_MAX; count += CHILDREN_MAX) {
		struct elsewhere elsewhere = { .pidfd = -1 };
		struct init init;
		cpu_set_t all = cpus_of(0);
		start_init(&init, count);
		elsewhere_begin(&elsewhere, init.pidfd, init.procs_fd);
		ASSERT_EQ(elsewhere.pidfd, -1);
		for (size_t i = 0; i < count; i++) {
			cpu_set_t cpus = cpus_of(init.children[i]);
			ASSERT(CPU_EQUAL(&cpus, &all));
		}
		elsewhere_follow(&elsewhere);
		elsewhere_end(&elsewhere);
		elsewhere_close(&elsewhere);
		stop_init(&init);
	}
}

/* The number of one that is gone may be anybody's: here it is the test's own. */
TEST(who_is_gone_is_not_mistaken_for_another)
{
	struct elsewhere elsewhere = { .pidfd = -1 };
	struct init init;
	cpu_set_t all, before, after;
	start_init(&init, 1);
	elsewhere_begin(&elsewhere, init.pidfd, init.procs_fd);
	(void)kill(init.children[0], SIGKILL);
	while (kill(init.children[0], 0) == 0)
		(void)sched_yield();
	elsewhere.pid = getpid();
	ASSERT(stay_on(0, &all));
	before = cpus_of(0);
	elsewhere.cpu = -1;
	elsewhere_follow(&elsewhere);
	elsewhere_close(&elsewhere);
	after = cpus_of(0);
	ASSERT(CPU_EQUAL(&before, &after));
	ASSERT(sched_setaffinity(0, sizeof(all), &all) == 0);
	stop_init(&init);
}
