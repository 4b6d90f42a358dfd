/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpus.h"

bool cpus_keep_off(pid_t process, const cpu_set_t *cpus, int cpu)
{
	cpu_set_t others = *cpus;
	if (cpu < 0)
		return false;
	CPU_CLR(cpu, &others);
	return CPU_COUNT(&others) > 0 && sched_setaffinity(process, sizeof(others), &others) == 0;
}

void cpus_send_away(pid_t process, cpu_set_t *ret_cpus)
{
	/* it fails with more processors than a set has */
	if (sched_getaffinity(process, sizeof(*ret_cpus), ret_cpus) < 0 ||
		!cpus_keep_off(process, ret_cpus, sched_getcpu()))
		CPU_ZERO(ret_cpus);
}

void cpus_give_back(pid_t process, const cpu_set_t *cpus)
{
	if (CPU_COUNT(cpus) > 0)
		(void)sched_setaffinity(process, sizeof(*cpus), cpus);
}

void cpus_leave(int cpu)
{
	cpu_set_t all;
	if (cpu != sched_getcpu() || sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	if (cpus_keep_off(0, &all, cpu))
		(void)sched_setaffinity(0, sizeof(all), &all);
}

void cpus_of_bits(uint64_t bits, cpu_set_t *set)
{
	CPU_ZERO(set);
	for (int cpu = 0; cpu < 64; cpu++)
		if (bits & (UINT64_C(1) << cpu))
			CPU_SET(cpu, set);
}

void cpus_place(pid_t process, uint64_t bits)
{
	cpu_set_t set;
	cpus_of_bits(bits, &set);
	cpus_give_back(process, &set);
}

static void change_policy(pid_t process, int from, int to)
{
	const struct sched_param none = { 0 };
	if (sched_getscheduler(process) == from)
		(void)sched_setscheduler(process, to, &none);
}

void cpus_make_patient(pid_t process)
{
	change_policy(process, SCHED_OTHER, SCHED_BATCH);
}

void cpus_make_impatient(pid_t process)
{
	change_policy(process, SCHED_BATCH, SCHED_OTHER);
}
