/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreter/interpreter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "zygote/zygote.h"

static struct {
	const struct template_page *template;
	int own_pids_fd; /* our own pid namespace, to come back to */
} self = { .own_pids_fd = -1 };

int interpreter_enter(int control_fd, struct err *err)
{
	enum zygote_request request = ZYGOTE_NONE;
	int page_fd = -1;
	size_t fd_count = 1;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	self.own_pids_fd = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	if (self.own_pids_fd < 0)
		return err_sys(err, errno, "open our own pid namespace");
	ssize_t n = io_recv(control_fd, &request, sizeof(request), &page_fd, &fd_count);
	if (n != sizeof(request) || request != ZYGOTE_TEMPLATE || fd_count != 1)
		return err_set(err, ERR_BROKEN, "no template came");
	struct template_page *template = zygote_map_page(page_fd, sizeof(*template));
	own_close(&page_fd);
	if (!template)
		return err_set(err, ERR_BROKEN, "the template's page is not whole");
	/* what modules do while they load must reach nobody */
	int r = jail_spare_network();
	if (r < 0)
		return err_sys(err, -r, "leave the network");
	TRY(zygote_raise_template(template, false, err));
	self.template = template;
	jail_empty_bounding_set();
	return 0;
}

/* As fork(), but the supervisor becomes the parent, and the thread's own record of its id, which
 * libc keeps, is put right by the kernel. */
static pid_t fork_guest(int *ret_pidfd)
{
	void *tid_at = NULL;
	if (prctl(PR_GET_TID_ADDRESS, &tid_at, 0, 0, 0) < 0)
		return -1;
	struct clone_args args = {
		.flags = CLONE_PARENT | CLONE_PIDFD | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID,
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		.child_tid = (uint64_t)(uintptr_t)tid_at,
	};
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

struct guest_request {
	int fds[GUEST_FD_COUNT + CGROUP_FDS_MAX];
	size_t fd_count;
};

static int live_as_guest(
	const struct guest_request *request, int control_fd, struct job *ret_job, struct err *err)
{
	struct delivery delivery;
	struct raising raising = {
		.template = self.template, .listener_fd = -1, .io_fd = -1, .life_fd = -1
	};
	raising.page = zygote_map_page(request->fds[GUEST_FD_PAGE], sizeof(*raising.page));
	if (!raising.page)
		return err_set(err, ERR_BROKEN, "the cell's page is not whole");
	raising.fds[CELL_FD_GATE] = request->fds[GUEST_FD_GATE];
	memcpy(&raising.fds[CELL_FD_CGROUP], &request->fds[GUEST_FD_COUNT],
		CGROUP_FDS_MAX * sizeof(int));
	(void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	TRY(jail_check_plan(&raising.page->plan, err));
	if (raising.page->plan.cgroup_fd_count != request->fd_count - GUEST_FD_COUNT)
		return err_set(err, ERR_BROKEN, "plan and descriptors disagree");
	TRY(jail_join(&raising, request->fds[GUEST_FD_INIT], err));
	(void)io_write_at(AT_FDCWD, "/proc/self/oom_score_adj", "500");
	/* the number stays taken until the program's own descriptors are placed */
	(void)dup2(raising.fds[CELL_FD_GATE], control_fd);
	if (payload_confine(&raising, &delivery) < 0)
		return err_set(err, ERR_BROKEN, "the walls did not stand");
	int r = payload_take_job(&raising, &delivery, ret_job);
	if (r < 0)
		return err_sys(err, -r, "take the job");
	/* nothing of ours stays: no descriptor, no shared page */
	(void)close_range(delivery.count > GATE_FD_CHANNEL ? 4 : 3, ~0U, 0);
	(void)munmap(raising.page, sizeof(*raising.page));
	(void)munmap((void *)self.template, sizeof(*self.template));
	return 0;
}

/* Returns 0 in the payload, 1 in the interpreter. */
static int answer(const struct guest_request *request, int control_fd,
	const struct fork_hooks *hooks, struct job *ret_job, struct err *err)
{
	enum zygote_request echo = ZYGOTE_GUEST;
	auto_fd int pidfd = -1;
	pid_t pid = -1;
	if (jail_fork_into(request->fds[GUEST_FD_INIT]) == 0) {
		hooks->before();
		pid = fork_guest(&pidfd);
		if (pid == 0) {
			hooks->after_in_child();
			pidfd = -1;
			/* what is not wholly in the cell must not go back to the interpreter */
			if (live_as_guest(request, control_fd, ret_job, err) < 0)
				_exit(1);
			return 0;
		}
		hooks->after_in_parent();
		int r = jail_fork_into(self.own_pids_fd);
		if (r < 0)
			return err_sys(err, -r, "come back to our own pid namespace");
	}
	(void)io_send(control_fd, &echo, sizeof(echo), &pidfd, pid > 0 ? 1 : 0);
	return 1;
}

int interpreter_serve(
	int control_fd, const struct fork_hooks *hooks, struct job *ret_job, struct err *err)
{
	for (;;) {
		struct guest_request request = { .fd_count = COUNT_OF(request.fds) };
		enum zygote_request kind = ZYGOTE_NONE;
		ssize_t n =
			io_recv(control_fd, &kind, sizeof(kind), request.fds, &request.fd_count);
		if (n != sizeof(kind))
			return 1;
		int r = kind == ZYGOTE_GUEST && request.fd_count >= GUEST_FD_COUNT
				? answer(&request, control_fd, hooks, ret_job, err)
				: 1;
		if (r != 1)
			return r;
		for (size_t i = 0; i < request.fd_count; i++)
			(void)close(request.fds[i]);
	}
}
