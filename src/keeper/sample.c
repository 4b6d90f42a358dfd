/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/sample.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

enum { PROCESSES_MAX = 4096 };

static pid_t pid_of(int pidfd)
{
	char path[64];
	char text[512];
	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	if (io_read_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return -1;
	const char *at = strstr(text, "Pid:");
	return at ? (pid_t)strtol(at + 4, NULL, 10) : -1;
}

static void add_memory(pid_t pid, struct sample *sample)
{
	char path[64];
	char text[128];
	long pages = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	if (io_read_at(AT_FDCWD, path, text, sizeof(text)) > 0 &&
		sscanf(text, "%*s %ld", &pages) == 1)
		sample->memory += pages * sysconf(_SC_PAGESIZE);
}

/* utime, stime, and those of reaped children: fields 14 to 17, after the name in brackets. */
static void add_cpu(pid_t pid, struct sample *sample)
{
	char path[64];
	char text[1024];
	long ticks[4] = { 0 };
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (io_read_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return;
	const char *at = strrchr(text, ')');
	if (!at || sscanf(at + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %ld %ld %ld",
			   &ticks[0], &ticks[1], &ticks[2], &ticks[3]) != 4)
		return;
	for (int i = 0; i < 4; i++)
		sample->cpu_us += ticks[i] * (1000000 / sysconf(_SC_CLK_TCK));
}

/* Breadth first along /proc/PID/task/PID/children. A thread's own children are missed; they are
 * seen when it ends, as init's. */
void sample_take(int init_pidfd, struct sample *sample)
{
	static const char *const format = "/proc/%d/task/%d/children";
	pid_t pids[PROCESSES_MAX];
	size_t count = 0;
	*sample = (struct sample){ 0 };
	pids[count] = pid_of(init_pidfd);
	if (pids[count++] <= 0)
		return;
	for (size_t i = 0; i < count; i++) {
		char path[96];
		char text[8192];
		add_memory(pids[i], sample);
		add_cpu(pids[i], sample);
		(void)snprintf(path, sizeof(path), format, pids[i], pids[i]);
		if (io_read_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
			continue;
		char *save = NULL;
		for (char *pid = strtok_r(text, " ", &save); pid && count < PROCESSES_MAX;
			pid = strtok_r(NULL, " ", &save))
			pids[count++] = (pid_t)strtol(pid, NULL, 10);
	}
	sample->processes = (int64_t)count - 1;
}
