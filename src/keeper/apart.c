/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/apart.h"

#include <sched.h>

#include "base/cpus.h"
#include "keeper/cell.h"

enum { PROCESSORS = 2, BITS = 64 };

static struct {
	bool has_looked;
	uint64_t all;       /* of the two processors; 0: nobody is set apart */
	size_t apart_count; /* keepers that are */
} self;

static uint64_t look(void)
{
	cpu_set_t set;
	uint64_t found = 0;
	if (sched_getscheduler(0) != SCHED_OTHER)
		return 0; /* somebody has said how we are to be scheduled */
	if (sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) != PROCESSORS)
		return 0;
	for (int cpu = 0; cpu < BITS; cpu++)
		if (CPU_ISSET(cpu, &set))
			found |= UINT64_C(1) << cpu;
	return __builtin_popcountll(found) == PROCESSORS ? found : 0;
}

uint64_t apart_processors(void)
{
	if (!self.has_looked)
		self.all = look();
	self.has_looked = true;
	return self.all;
}

static void set(pid_t process, uint64_t processors, bool is_apart)
{
	if (process <= 0)
		return;
	cpus_place(process, processors);
	if (is_apart)
		cpus_make_patient(process);
	else
		cpus_make_impatient(process);
}

void apart_set(struct keeper *keeper, bool is_apart)
{
	uint64_t all = apart_processors();
	uint64_t first = all & -all;
	if (all == 0 || (!is_apart && !keeper->is_apart))
		return;
	self.apart_count -= keeper->is_apart;
	self.apart_count += is_apart;
	keeper->is_apart = is_apart;
	cpus_place(0, self.apart_count > 0 ? first : all);
	set(keeper->zygote.pid, is_apart ? first : all, is_apart);
	set(keeper->host.zygote.pid, is_apart ? all & ~first : all, is_apart);
}

void apart_free(pid_t child)
{
	if (self.apart_count > 0)
		cpus_place(child, self.all);
}
