/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/apart.h"

#include <sched.h>

#include "base/cpus.h"
#include "keeper/cell.h"

enum { PROCESSORS = 2, BITS = 64 };

static struct {
	bool has_looked;
	uint64_t all;       /* of the two processors; 0: there are more or less */
	size_t apart_count; /* keepers that are */
} self;

static uint64_t look(void)
{
	cpu_set_t set;
	uint64_t found = 0;
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

void apart_set(struct keeper *keeper, bool is_apart)
{
	uint64_t all = apart_processors();
	uint64_t first = all & -all;
	pid_t interpreter = keeper->host.zygote.pid;
	if (all == 0 || (!is_apart && !keeper->is_apart))
		return;
	self.apart_count -= keeper->is_apart;
	self.apart_count += is_apart;
	keeper->is_apart = is_apart;
	cpus_place(0, self.apart_count > 0 ? first : all);
	if (keeper->zygote.pid > 0)
		cpus_place(keeper->zygote.pid, is_apart ? first : all);
	if (interpreter > 0)
		cpus_place(interpreter, is_apart ? all & ~first : all);
}

void apart_free(pid_t child)
{
	if (self.apart_count > 0)
		cpus_place(child, self.all);
}
