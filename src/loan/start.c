/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the programs that others connect to. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/place.h"
#include "loan/loan.h"

enum { ENV_MAX = 64, START_MS = 10000, POLL_MS = 2, TRIES = 3 };

/* What a program that stays may keep of the environment of whoever happened to start it. */
static const char *const kept_variables[] = { "PATH=", "HOME=", "USER=", "LANG=", "TMPDIR=", "XDG_",
	"HOTCELL_", "ASAN_OPTIONS=", "UBSAN_OPTIONS=" };

static void choose_environment(char *chosen[ENV_MAX])
{
	size_t count = 0;
	for (char **at = environ; *at && count < ENV_MAX - 1; at++)
		for (size_t i = 0; i < COUNT_OF(kept_variables); i++)
			if (strncmp(*at, kept_variables[i], strlen(kept_variables[i])) == 0) {
				chosen[count++] = *at;
				break;
			}
	chosen[count] = NULL;
}

/* Signals as a new program expects them, whatever ours ignores or blocks. */
static int choose_signals(posix_spawnattr_t *attr)
{
	sigset_t none, usual;
	(void)sigemptyset(&none);
	(void)sigemptyset(&usual);
	for (int number = 1; number < SIGSYS; number++)
		if (number != SIGKILL && number != SIGSTOP)
			(void)sigaddset(&usual, number);
	int r = posix_spawnattr_setsigmask(attr, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attr, &usual);
	if (r == 0)
		r = posix_spawnattr_setflags(
			attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	return r;
}

static int choose_files(posix_spawn_file_actions_t *actions, bool keeps_stderr)
{
	int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, STDIN_FILENO, STDOUT_FILENO);
	if (r == 0 && !keeps_stderr)
		r = posix_spawn_file_actions_adddup2(actions, STDIN_FILENO, STDERR_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
	if (r == 0)
		r = posix_spawn_file_actions_addchdir_np(actions, "/");
	return r;
}

int loan_start(
	const char *program, char *const args[], bool keeps_stderr, pid_t *ret_pid, struct err *err)
{
	char path[PATH_MAX + 64];
	char *env[ENV_MAX];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	TRY(place_program(program, path, sizeof(path), err));
	choose_environment(env);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attr);
	int r = choose_files(&actions, keeps_stderr);
	if (r == 0)
		r = choose_signals(&attr);
	if (r == 0)
		r = posix_spawn(ret_pid, path, &actions, &attr, args, env);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attr);
	return r == 0 ? 0 : err_sys(err, r, "start '%s'", path);
}

static bool is_nobody(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED;
}

static int start_daemon(const char *path, pid_t *ret_pid, struct err *err)
{
	char dir[PATH_MAX] = "";
	if (path[0] != '/' && !getcwd(dir, sizeof(dir)))
		return err_sys(err, errno, "find the working directory");
	auto_free char *whole = xasprintf("%s%s%s", dir, path[0] == '/' ? "" : "/", path);
	char *const args[] = { (char *)"hotcelld", (char *)"--on-demand", (char *)"--socket", whole,
		NULL };
	return loan_start("hotcelld", args, false, ret_pid, err);
}

/* Until it listens, or ended. */
static int wait_for_daemon(const char *path, pid_t pid, int64_t end_us)
{
	int fd = loan_connect(path);
	while (is_nobody(fd) && clock_us() < end_us) {
		bool has_ended = waitpid(pid, NULL, WNOHANG) != 0;
		fd = loan_connect(path);
		if (has_ended)
			break;
		if (is_nobody(fd))
			(void)poll(NULL, 0, POLL_MS);
	}
	return fd;
}

int loan_connect_or_start(const char *path, int *ret_fd, struct err *err)
{
	int64_t end_us = clock_us() + START_MS * 1000;
	int fd = loan_connect(path);
	/* one that we start leaves when another is there, which may be about to leave as well */
	for (int i = 0; i < TRIES && is_nobody(fd); i++) {
		pid_t pid = 0;
		TRY(start_daemon(path, &pid, err));
		fd = wait_for_daemon(path, pid, end_us);
	}
	if (is_nobody(fd))
		return err_set(err, ERR_BROKEN,
			"the daemon that was started does not listen at '%s'; hotcell serve "
			"--socket %s says why",
			path, path);
	if (fd == -EPERM)
		return err_set(err, ERR_INVALID, "'%s' is another user's", path);
	if (fd < 0)
		return err_sys(err, -fd, "connect to '%s'", path);
	*ret_fd = fd;
	return 0;
}
