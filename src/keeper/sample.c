/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own accounts, read from outside: cheap ones each time, exact ones only when the
 * cheap ones say that the limit is passed. What no file shows, like the buffers of sockets, is
 * bounded by the number of descriptors instead.
 */
#include "keeper/sample.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"

enum { PROCESSES_MAX = 4096, MEMFDS_MAX = 512 };

struct census {
	pid_t pids[PROCESSES_MAX];
	size_t count;
	ino_t memfds[MEMFDS_MAX]; /* those counted already: a fork shares them */
	size_t memfd_count;
};

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

/* "VmPTE:     44 kB" -> bytes; 0 when there is no such line. */
static int64_t kilobytes(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	return at ? strtoll(at + strlen(key), NULL, 10) * 1024 : 0;
}

static bool read_file(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return io_read_at(AT_FDCWD, path, text, size) > 0;
}

/* utime, stime, and those of reaped children: fields 14 to 17, after the name in brackets. */
static int64_t cpu_of(pid_t pid)
{
	char text[1024];
	long ticks[4] = { 0 };
	const char *at = read_file(pid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
	if (!at || sscanf(at + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %ld %ld %ld",
			   &ticks[0], &ticks[1], &ticks[2], &ticks[3]) != 4)
		return 0;
	return (ticks[0] + ticks[1] + ticks[2] + ticks[3]) * (1000000 / sysconf(_SC_CLK_TCK));
}

/* Each thread has children of its own. */
static void add_children(struct census *census, pid_t pid)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	auto_dir DIR *dir = opendir(path);
	if (!dir)
		return;
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		char name[300];
		char text[8192];
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(name, sizeof(name), "%s/children", entry->d_name);
		if (io_read_at(dirfd(dir), name, text, sizeof(text)) <= 0)
			continue;
		char *save = NULL;
		for (char *child = strtok_r(text, " ", &save);
			child && census->count < PROCESSES_MAX; child = strtok_r(NULL, " ", &save))
			census->pids[census->count++] = (pid_t)strtol(child, NULL, 10);
	}
}

static bool is_counted(struct census *census, ino_t inode)
{
	for (size_t i = 0; i < census->memfd_count; i++)
		if (census->memfds[i] == inode)
			return true;
	if (census->memfd_count < MEMFDS_MAX)
		census->memfds[census->memfd_count++] = inode;
	return false;
}

/* Memory files that are open but not mapped are in nobody's resident set. */
static int64_t memfds_of(struct census *census, pid_t pid)
{
	char path[64];
	int64_t bytes = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	auto_dir DIR *dir = opendir(path);
	for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
		char target[16];
		struct stat st;
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target));
		if (n < 7 || strncmp(target, "/memfd:", 7) != 0)
			continue;
		if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 &&
			!is_counted(census, st.st_ino))
			bytes += st.st_blocks * 512;
	}
	return bytes;
}

static int64_t files_of(int workspace_fd)
{
	struct statvfs fs;
	if (workspace_fd < 0 || fstatvfs(workspace_fd, &fs) < 0)
		return 0;
	return (int64_t)(fs.f_blocks - fs.f_bfree) * (int64_t)fs.f_frsize;
}

static int64_t rough_memory(const struct census *census)
{
	int64_t bytes = 0;
	for (size_t i = 0; i < census->count; i++) {
		char text[4096];
		if (read_file(census->pids[i], "status", text, sizeof(text)))
			bytes += kilobytes(text, "VmRSS:") + kilobytes(text, "VmPTE:");
	}
	return bytes;
}

/* Shared pages count once; of what is mapped from files, only what is memory. */
static int64_t exact_memory(struct census *census, int64_t files)
{
	int64_t own = 0;
	int64_t shared = 0;
	int64_t memfds = 0;
	for (size_t i = 0; i < census->count; i++) {
		char text[4096];
		if (read_file(census->pids[i], "status", text, sizeof(text)))
			own += kilobytes(text, "VmPTE:");
		if (read_file(census->pids[i], "smaps_rollup", text, sizeof(text))) {
			own += kilobytes(text, "Pss_Anon:");
			shared += kilobytes(text, "Pss_Shmem:");
		}
		memfds += memfds_of(census, census->pids[i]);
	}
	return own + (shared > files + memfds ? shared : files + memfds);
}

void sample_take(int init_pidfd, int workspace_fd, int64_t memory_limit, struct sample *sample)
{
	auto_free struct census *census = xcalloc(1, sizeof(*census));
	*sample = (struct sample){ 0 };
	census->pids[0] = pid_of(init_pidfd);
	if (census->pids[0] <= 0)
		return;
	census->count = 1;
	int64_t memfds = 0;
	for (size_t i = 0; i < census->count; i++) {
		add_children(census, census->pids[i]);
		sample->cpu_us += cpu_of(census->pids[i]);
		memfds += memfds_of(census, census->pids[i]);
	}
	int64_t files = files_of(workspace_fd);
	sample->processes = (int64_t)census->count - 1;
	sample->memory = rough_memory(census) + files + memfds;
	if (sample->memory > memory_limit) {
		census->memfd_count = 0;
		sample->memory = exact_memory(census, files);
	}
}
