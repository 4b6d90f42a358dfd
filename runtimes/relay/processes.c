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

/* Fields of stat behind the name, counted from the state. */
enum { FIELD_PARENT = 1, FIELD_GROUP = 2, FIELD_STARTED = 19 };

static int64_t field(const char *text, int number)
{
	for (; number > 0 && text; number--)
		text = strchr(text + 1, ' ');
	return text ? strtoll(text, NULL, 10) : -1;
}

static bool read_stat(int dir_fd, struct process *process)
{
	char text[1024];
	if (io_read_at(dir_fd, "stat", text, sizeof(text)) <= 0)
		return false;
	const char *name_end = strrchr(text, ')'); /* a name may hold anything */
	if (!name_end || name_end[1] != ' ')
		return false;
	process->parent = (pid_t)field(name_end + 1, FIELD_PARENT);
	process->group = (pid_t)field(name_end + 1, FIELD_GROUP);
	process->started = field(name_end + 1, FIELD_STARTED);
	return process->started >= 0;
}

/* Whether SIGINT is in the set of signals that this line of status shows. */
static bool has_interrupt(const char *status, const char *line)
{
	const char *at = strstr(status, line);
	return at && (strtoull(at + strlen(line), NULL, 16) >> (SIGINT - 1) & 1);
}

static void read_masks(int dir_fd, struct process *process)
{
	char text[4096];
	if (io_read_at(dir_fd, "status", text, sizeof(text)) <= 0)
		return;
	process->ignores_interrupt = has_interrupt(text, "\nSigIgn:");
	process->catches_interrupt = has_interrupt(text, "\nSigCgt:");
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
