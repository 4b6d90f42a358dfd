/* SPDX-License-Identifier: Apache-2.0 */
/* A user namespace that exists only as a table of ids for an id-mapped mount. */
#include "jail/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"

static int write_map(
	pid_t pid, const char *file, uint32_t host_id, uint32_t cell_id, struct err *err)
{
	char path[64];
	char map[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	(void)snprintf(map, sizeof(map), "%u %u 1", host_id, cell_id);
	int r = io_write_at(AT_FDCWD, path, map);
	return r < 0 ? err_sys(err, -r, "write %s", file) : 0;
}

static int map_and_open(pid_t pid, const uint32_t ids[4], int *ret_fd, struct err *err)
{
	char path[64];
	TRY(write_map(pid, "uid_map", ids[0], ids[2], err));
	TRY(write_map(pid, "gid_map", ids[1], ids[3], err));
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "open the user namespace of an id map");
	*ret_fd = fd;
	return 0;
}

int idmap_open(uint32_t host_uid, uint32_t host_gid, uint32_t cell_uid, uint32_t cell_gid,
	int *ret_fd, struct err *err)
{
	/* A namespace cannot be made without a process to live in it, so one is born for the
	 * moment it takes to write the maps. */
	pid_t parent = getpid();
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid < 0)
		return err_sys(err, errno, "make a user namespace for an id map");
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* a parent that died before that was told sends no signal any more */
		while (getppid() == parent)
			(void)pause();
		_exit(0);
	}
	const uint32_t ids[4] = { host_uid, host_gid, cell_uid, cell_gid };
	int r = map_and_open(pid, ids, ret_fd, err);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return r;
}
