/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/elsewhere.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/own.h"
#include "keeper/sample.h"

/* Whether somebody is kept off one. A number may be somebody else's once its process is gone. */
static bool is_kept(const struct elsewhere *elsewhere)
{
	struct pollfd end = { .fd = elsewhere->pidfd, .events = POLLIN };
	return CPU_COUNT(&elsewhere->cpus) > 0 && poll(&end, 1, 0) == 0;
}

bool elsewhere_find(struct elsewhere *elsewhere, int init_pidfd, int procs_fd)
{
	pid_t pid = sample_other(init_pidfd, procs_fd);
	if (pid <= 0)
		return false;
	elsewhere->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	elsewhere->pid = pid;
	elsewhere->cpu = sched_getcpu();
	/* it is the same process when it is still where it was */
	if (elsewhere->pidfd >= 0 && sample_other(init_pidfd, procs_fd) == pid)
		return true;
	own_close(&elsewhere->pidfd);
	return false;
}

void elsewhere_begin(struct elsewhere *elsewhere, int init_pidfd, int procs_fd)
{
	if (elsewhere_find(elsewhere, init_pidfd, procs_fd))
		cpus_send_away(elsewhere->pid, &elsewhere->cpus);
}

void elsewhere_meet(struct elsewhere *elsewhere, uint64_t processors)
{
	int cpu = sched_getcpu();
	if (elsewhere->pidfd < 0 || cpu == elsewhere->cpu)
		return;
	cpus_of_bits(processors, &elsewhere->cpus);
	if (!is_kept(elsewhere) || !cpus_keep_off(elsewhere->pid, &elsewhere->cpus, cpu))
		CPU_ZERO(&elsewhere->cpus);
}

void elsewhere_follow(struct elsewhere *elsewhere)
{
	int cpu = sched_getcpu();
	if (cpu == elsewhere->cpu || !is_kept(elsewhere))
		return;
	elsewhere->cpu = cpu;
	(void)cpus_keep_off(elsewhere->pid, &elsewhere->cpus, cpu);
}

void elsewhere_end(struct elsewhere *elsewhere)
{
	if (is_kept(elsewhere))
		cpus_give_back(elsewhere->pid, &elsewhere->cpus);
	CPU_ZERO(&elsewhere->cpus);
}

void elsewhere_close(struct elsewhere *elsewhere)
{
	elsewhere_end(elsewhere);
	own_close(&elsewhere->pidfd);
}
