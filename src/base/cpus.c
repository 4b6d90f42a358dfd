/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpus.h"

void cpus_send_away(pid_t child, cpu_set_t *ret_cpus)
{
	cpu_set_t others;
	int here = sched_getcpu();
	/* it fails with more processors than a set has */
	if (here < 0 || sched_getaffinity(0, sizeof(*ret_cpus), ret_cpus) < 0) {
		CPU_ZERO(ret_cpus);
		return;
	}
	others = *ret_cpus;
	CPU_CLR(here, &others);
	if (CPU_COUNT(&others) == 0 || sched_setaffinity(child, sizeof(others), &others) < 0)
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
	cpu_set_t others;
	if (cpu < 0 || cpu != sched_getcpu() || sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	others = all;
	CPU_CLR(cpu, &others);
	if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof(others), &others) == 0)
		(void)sched_setaffinity(0, sizeof(all), &all);
}

void cpus_place(pid_t process, uint64_t bits)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	for (int cpu = 0; cpu < 64; cpu++)
		if (bits & (UINT64_C(1) << cpu))
			CPU_SET(cpu, &set);
	cpus_give_back(process, &set);
}
