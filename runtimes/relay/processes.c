/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/io.h"
#include "base/own.h"

int64_t processes_now(void)
{
	struct timespec now;
	long ticks = sysconf(_SC_CLK_TCK);
	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * ticks + now.tv_nsec * ticks / 1000000000;
}

static bool read_stat(int dir_fd, struct process *process)
{
	char text[1024];
	int parent = 0, group = 0;
	long long started = 0;
	if (io_read_at(dir_fd, "stat", text, sizeof(text)) <= 0)
		return false;
	const char *rest = strrchr(text, ')'); /* a name may hold anything */
	if (!rest || sscanf(rest,
			     ") %*c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u "
			     "%*d %*d %*d %*d %*d %*d %lld",
			     &parent, &group, &started) != 3)
		return false;
	process->parent = parent;
	process->group = group;
	process->started = started;
	return true;
}

static void read_masks(int dir_fd, struct process *process)
{
	char text[4096];
	unsigned long long ignored = 0, caught = 0;
	if (io_read_at(dir_fd, "status", text, sizeof(text)) <= 0)
		return;
	const char *masks = strstr(text, "\nSigIgn:");
	if (!masks || sscanf(masks, " SigIgn: %llx SigCgt: %llx", &ignored, &caught) != 2)
		return;
	process->ignores_interrupt = ignored >> (SIGINT - 1) & 1;
	process->catches_interrupt = caught >> (SIGINT - 1) & 1;
}

void processes_each(
	pid_t leader, void (*take)(void *context, const struct process *process), void *context)
{
	auto_dir DIR *dir = opendir("/proc");
	for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
		struct process process = { .pid = (pid_t)strtol(entry->d_name, NULL, 10) };
		auto_fd int fd = -1;
		if (process.pid > 0)
			fd = openat(dirfd(dir), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0 || !read_stat(fd, &process) ||
			(process.group != leader && process.parent != leader))
			continue;
		read_masks(fd, &process);
		take(context, &process);
	}
}
