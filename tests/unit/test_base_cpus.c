/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpus.h"

static pid_t start_child(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

TEST(a_child_sent_away_is_elsewhere_and_gets_all_back)
{
	cpu_set_t all, cpus, now;
	ASSERT(sched_getaffinity(0, sizeof(all), &all) == 0);
	pid_t pid = start_child();
	cpus_send_away(pid, &cpus);
	ASSERT(sched_getaffinity(pid, sizeof(now), &now) == 0);
	if (CPU_COUNT(&all) > 1) {
		ASSERT(CPU_EQUAL(&cpus, &all));
		ASSERT_EQ(CPU_COUNT(&now), CPU_COUNT(&all) - 1);
	} else {
		ASSERT_EQ(CPU_COUNT(&cpus), 0);
	}
	cpus_give_back(pid, &cpus);
	ASSERT(sched_getaffinity(pid, sizeof(now), &now) == 0);
	ASSERT(CPU_EQUAL(&now, &all));
	end_child(pid);
}

TEST(who_leaves_a_processor_may_come_back)
{
	cpu_set_t all, one, now;
	ASSERT(sched_getaffinity(0, sizeof(all), &all) == 0);
	for (int i = 0; i < 50; i++) {
		int here = sched_getcpu();
		CPU_ZERO(&one);
		CPU_SET(here, &one);
		ASSERT(sched_setaffinity(0, sizeof(one), &one) == 0);
		cpus_leave(here); /* it may use no other */
		ASSERT_EQ(sched_getcpu(), here);
		ASSERT(sched_setaffinity(0, sizeof(all), &all) == 0);
		here = sched_getcpu();
		cpus_leave(here);
		ASSERT(CPU_COUNT(&all) == 1 || sched_getcpu() != here);
		ASSERT(sched_getaffinity(0, sizeof(now), &now) == 0);
		ASSERT(CPU_EQUAL(&now, &all));
	}
	cpus_leave(-1);
	cpus_leave(CPU_SETSIZE + 1);
}

TEST(a_child_on_the_only_processor_stays)
{
	cpu_set_t all, one, cpus, now;
	ASSERT(sched_getaffinity(0, sizeof(all), &all) == 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ASSERT(sched_setaffinity(0, sizeof(one), &one) == 0);
	pid_t pid = start_child();
	cpus_send_away(pid, &cpus);
	ASSERT_EQ(CPU_COUNT(&cpus), 0);
	ASSERT(sched_getaffinity(pid, sizeof(now), &now) == 0);
	ASSERT(CPU_EQUAL(&now, &one));
	end_child(pid);
	ASSERT(sched_setaffinity(0, sizeof(all), &all) == 0);
}

TEST(who_is_kept_off_a_processor_has_the_others)
{
	cpu_set_t all, one, now;
	ASSERT(sched_getaffinity(0, sizeof(all), &all) == 0);
	pid_t pid = start_child();
	int here = sched_getcpu();
	ASSERT_EQ(cpus_keep_off(pid, &all, here), CPU_COUNT(&all) > 1);
	ASSERT(sched_getaffinity(pid, sizeof(now), &now) == 0);
	ASSERT_EQ(CPU_ISSET(here, &now) != 0, CPU_COUNT(&all) == 1);
	/* from the only one nobody can be kept off, nor from one that there is not */
	CPU_ZERO(&one);
	CPU_SET(here, &one);
	ASSERT(!cpus_keep_off(pid, &one, here));
	ASSERT(!cpus_keep_off(pid, &all, -1));
	end_child(pid);
	ASSERT(!cpus_keep_off(pid, &all, here));
}
