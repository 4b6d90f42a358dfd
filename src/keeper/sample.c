/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own accounts, read from outside: cheap ones each time, exact ones only when the
 * cheap ones say that the limit is passed. What no file shows is bounded elsewhere: the buffers of
 * sockets by the number of descriptors, memory without a process by the filter.
 */
#include "keeper/sample.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/own.h"

enum { PROCESSES_MAX = 4096, CHILDREN_MAX = 1 << 20 };

struct census {
	pid_t pids[PROCESSES_MAX];
	size_t count;
};

pid_t sample_pid(int pidfd)
{
	char path[64];
	char text[512];
	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	if (io_read_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return -1;
	const char *at = strstr(text, "Pid:");
	return at ? (pid_t)strtol(at + 4, NULL, 10) : -1;
}

/* "VmPTE:     44 kB" -> bytes; 0 when there is no such line. The key begins with the newline before
 * it, for a process may call itself anything but that. */
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

/* utime, stime, and those of reaped children: fields 14 to 17. The name in brackets is the second.
 */
static int64_t cpu_of(pid_t pid)
{
	char text[1024];
	int64_t ticks = 0;
	char *at = read_file(pid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
	for (int field = 3; at && field <= 17; field++) {
		at = strchr(at + 1, ' ');
		if (at && field >= 14)
			ticks += strtol(at, NULL, 10);
	}
	return ticks * (1000000 / sysconf(_SC_CLK_TCK));
}

/* A list that was cut could end in the first digits of a stranger's number: it counts whole or not
 * at all. */
static void add_list(struct census *census, int fd)
{
	auto_buf struct buf list;
	buf_init(&list, CHILDREN_MAX);
	if (fd < 0 || buf_read(&list, fd) < 0 || list.len == 0)
		return;
	char *save = NULL;
	for (char *child = strtok_r(list.data, " \n", &save);
		child && census->count < PROCESSES_MAX; child = strtok_r(NULL, " \n", &save))
		census->pids[census->count++] = (pid_t)strtol(child, NULL, 10);
}

/* Each thread has children of its own. */
static void add_children(struct census *census, pid_t pid)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	auto_dir DIR *dir = opendir(path);
	for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
		char name[300];
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(name, sizeof(name), "%s/children", entry->d_name);
		auto_fd int fd = openat(dirfd(dir), name, O_RDONLY | O_CLOEXEC);
		add_list(census, fd);
	}
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
			bytes += kilobytes(text, "\nVmRSS:") + kilobytes(text, "\nVmPTE:");
	}
	return bytes;
}

/* Shared pages count once; of what is mapped from files, only what is memory. A process that makes
 * itself unreadable pays for all it has. */
static int64_t exact_memory(const struct census *census, int64_t files)
{
	int64_t own = 0;
	int64_t shared = 0;
	for (size_t i = 0; i < census->count; i++) {
		char status[4096];
		char rollup[4096];
		if (!read_file(census->pids[i], "status", status, sizeof(status)))
			continue;
		own += kilobytes(status, "\nVmPTE:");
		if (read_file(census->pids[i], "smaps_rollup", rollup, sizeof(rollup))) {
			own += kilobytes(rollup, "\nPss_Anon:");
			shared += kilobytes(rollup, "\nPss_Shmem:");
		} else {
			own += kilobytes(status, "\nRssAnon:");
			shared += kilobytes(status, "\nRssShmem:");
		}
	}
	return own + (shared > files ? shared : files);
}

pid_t sample_other(int init_pidfd, int procs_fd)
{
	auto_free struct census *census = xcalloc(1, sizeof(*census));
	pid_t init = sample_pid(init_pidfd);
	(void)lseek(procs_fd, 0, SEEK_SET);
	add_list(census, procs_fd);
	pid_t found = -1;
	size_t others = 0;
	for (size_t i = 0; i < census->count; i++) {
		if (census->pids[i] == init)
			continue;
		found = census->pids[i];
		others++;
	}
	return init > 0 && others == 1 ? found : -1;
}

static size_t take_census(int init_pidfd, struct census *census)
{
	census->pids[0] = sample_pid(init_pidfd);
	census->count = census->pids[0] > 0 ? 1 : 0;
	for (size_t i = 0; i < census->count; i++)
		add_children(census, census->pids[i]);
	return census->count;
}

/* "rchar: 1234"; 0 when there is no such line. */
static int64_t number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	return at ? strtoll(at + strlen(key), NULL, 10) : 0;
}

static void add_account(const char *text, int64_t *read_bytes, int64_t *written_bytes)
{
	*read_bytes += number_after(text, "rchar: ");
	*written_bytes += number_after(text, "wchar: ");
}

static void add_missing(struct census *census, pid_t pid)
{
	for (size_t i = 0; i < census->count; i++)
		if (census->pids[i] == pid)
			return;
	if (pid > 0 && census->count < PROCESSES_MAX)
		census->pids[census->count++] = pid;
}

void sample_io(int init_pidfd, int procs_fd, int64_t *ret_read, int64_t *ret_written)
{
	auto_free struct census *census = xcalloc(1, sizeof(*census));
	*ret_read = *ret_written = 0;
	add_list(census, procs_fd);
	if (census->count == 0)
		(void)take_census(init_pidfd, census);
	else
		add_missing(census, sample_pid(init_pidfd));
	/* whoever reaps a process takes over its account: what ended is in its parent's */
	for (size_t i = 0; i < census->count; i++) {
		char text[512];
		if (read_file(census->pids[i], "io", text, sizeof(text)))
			add_account(text, ret_read, ret_written);
	}
}

static int open_account(pid_t pid)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/io", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void sample_open_accounts(int procs_fd, int fds[SAMPLE_ACCOUNTS])
{
	auto_free struct census *census = xcalloc(1, sizeof(*census));
	add_list(census, procs_fd);
	if (census->count != SAMPLE_ACCOUNTS)
		return;
	for (size_t i = 0; i < SAMPLE_ACCOUNTS; i++)
		if (fds[i] < 0)
			fds[i] = open_account(census->pids[i]);
}

bool sample_accounts(const int fds[SAMPLE_ACCOUNTS], int64_t *ret_read, int64_t *ret_written)
{
	bool is_whole = true;
	*ret_read = *ret_written = 0;
	for (size_t i = 0; i < SAMPLE_ACCOUNTS && fds[i] >= 0; i++) {
		char text[512];
		ssize_t n = pread(fds[i], text, sizeof(text) - 1, 0);
		is_whole &= n > 0;
		text[n > 0 ? n : 0] = '\0';
		add_account(text, ret_read, ret_written);
	}
	return is_whole;
}

bool sample_is_pair(int procs_fd)
{
	char text[64];
	size_t count = 0;
	ssize_t n = procs_fd < 0 ? -1 : pread(procs_fd, text, sizeof(text), 0);
	for (ssize_t i = 0; i < n; i++)
		count += text[i] == '\n';
	return n < (ssize_t)sizeof(text) && count == SAMPLE_ACCOUNTS;
}

void sample_take(int init_pidfd, int workspace_fd, int64_t memory_limit, struct sample *sample)
{
	auto_free struct census *census = xcalloc(1, sizeof(*census));
	*sample = (struct sample){ 0 };
	if (take_census(init_pidfd, census) == 0)
		return;
	for (size_t i = 0; i < census->count; i++)
		sample->cpu_us += cpu_of(census->pids[i]);
	int64_t files = files_of(workspace_fd);
	sample->processes = (int64_t)census->count - 1;
	sample->memory = rough_memory(census) + files;
	if (sample->memory > memory_limit)
		sample->memory = exact_memory(census, files);
}

static pid_t first_child(pid_t pid)
{
	char path[32];
	char text[64];
	(void)snprintf(path, sizeof(path), "task/%d/children", pid);
	return read_file(pid, path, text, sizeof(text)) ? (pid_t)strtol(text, NULL, 10) : 0;
}

void account_open(struct account *account, pid_t pid, bool has_servant)
{
	pid_t servant = has_servant ? first_child(pid) : 0;
	*account = (struct account){ .fds = { open_account(pid), -1 } };
	if (account->fds[0] >= 0 && servant > 0)
		account->fds[1] = open_account(servant);
	(void)sample_accounts(account->fds, &account->read_bytes, &account->write_bytes);
}

void account_close(struct account *account)
{
	for (size_t i = 0; i < SAMPLE_ACCOUNTS; i++)
		own_close(&account->fds[i]);
}
