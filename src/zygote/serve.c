/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The zygote: one thread, no allocation to speak of, nothing secret. Its supervisor hands it a
 * socket and asks twice: first for the template, which the zygote becomes, then for cells, as
 * often as it likes. The zygote dies with its supervisor, and its cells with it.
 *
 * Requests are one number and descriptors. The page says what to raise; a failure is written into
 * the page's report and answered by the absence of a pidfd.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "zygote/parts.h"
#include "zygote/zygote.h"

struct zygote {
	int control_fd;
	const struct template_page *template;
	int life[2]; /* cells hold the reading end: it hangs up when we die */
	bool has_spare_network;
	bool is_born; /* in the namespaces of our only cell, whose init we become */
};

/* Maps a page only when it is whole: a short file would fault later. */
static void *map_page(int fd, size_t size)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || st.st_size != (off_t)size)
		return NULL;
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return page == MAP_FAILED ? NULL : page;
}

static void note_refusal(struct cell_page *page, const struct err *err)
{
	if (page->report.failed_text[0] == '\0')
		(void)snprintf(page->report.failed_text, sizeof(page->report.failed_text), "%.255s",
			err->text);
}

static void raise_template(struct zygote *zygote, const int *fds, size_t fd_count)
{
	struct err err = { 0 };
	if (fd_count != 1 || zygote->template)
		return;
	struct template_page *template = map_page(fds[0], sizeof(*template));
	if (!template)
		return;
	struct raising raising = { .page = &template->base,
		.template = template,
		.is_born = zygote->is_born,
		.listener_fd = -1,
		.io_fd = -1,
		.life_fd = -1 };
	if (jail_check_template(template, &err) == 0 &&
		jail_walk(&raising, STAGE_TEMPLATE, &err) == 0)
		zygote->template = template;
	else
		note_refusal(&template->base, &err);
}

static pid_t clone_init(struct raising *raising, uint64_t flags, int *ret_pidfd)
{
	const struct plan *plan = &raising->page->plan;
	struct clone_args args = {
		.flags = flags | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
	};
	if (plan->cgroup == CGROUP_V2 && (plan->wanted & (UINT64_C(1) << STEP_CGROUP))) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)raising->fds[CELL_FD_CGROUP];
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static int raise_cell(struct zygote *zygote, struct raising *raising, struct err *err)
{
	uint64_t flags = 0;
	int pidfd = -1;
	if (!zygote->template)
		return err_set(err, ERR_BROKEN, "no template");
	TRY(jail_check_plan(&raising->page->plan, err));
	raising->template = zygote->template;
	raising->is_born = zygote->is_born;
	raising->has_spare_network = zygote->has_spare_network;
	TRY(jail_walk(raising, STAGE_NETWORK, err));
	TRY(jail_clone_flags(raising, &flags, err));
	zygote->has_spare_network = false; /* the cell's now, whatever becomes of it */
	if (zygote->is_born) {
		jail_note_clone(raising, 0);
		init_run(raising);
	}
	pid_t pid = clone_init(raising, flags, &pidfd);
	if (pid == 0) {
		(void)close(zygote->control_fd);
		(void)close(zygote->life[1]);
		init_run(raising);
	}
	jail_note_clone(raising, pid < 0 ? errno : 0);
	return pid < 0 ? err_set(err, ERR_SYSTEM, "clone") : pidfd;
}

static void answer_raise(struct zygote *zygote, const int *fds, size_t fd_count)
{
	struct err err = { 0 };
	struct raising raising = { .listener_fd = -1,
		.io_fd = -1,
		.life_fd = zygote->is_born ? zygote->control_fd : zygote->life[0] };
	enum zygote_request echo = ZYGOTE_RAISE;
	auto_fd int pidfd = -1;
	if (fd_count >= CELL_FD_COUNT && fd_count <= CELL_FD_COUNT + CGROUP_FDS_MAX) {
		memcpy(raising.fds, fds, fd_count * sizeof(fds[0]));
		raising.page = map_page(fds[CELL_FD_PAGE], sizeof(*raising.page));
	}
	if (raising.page && raising.page->plan.cgroup_fd_count != fd_count - CELL_FD_COUNT)
		(void)err_set(&err, ERR_BROKEN, "plan and descriptors disagree");
	else if (raising.page)
		pidfd = raise_cell(zygote, &raising, &err);
	if (raising.page && pidfd < 0)
		note_refusal(raising.page, &err);
	if (zygote->is_born)
		_exit(1); /* our death is the answer */
	(void)io_send(zygote->control_fd, &echo, sizeof(echo), &pidfd, pidfd >= 0 ? 1 : 0);
	if (raising.page && raising.page->plan.is_resident && !zygote->has_spare_network)
		zygote->has_spare_network = jail_spare_network() == 0;
	if (raising.page)
		(void)munmap(raising.page, sizeof(*raising.page));
}

static int serve_one(struct zygote *zygote)
{
	enum zygote_request request = ZYGOTE_NONE;
	int fds[IO_FDS_MAX];
	size_t fd_count = COUNT_OF(fds);
	ssize_t n = io_recv(zygote->control_fd, &request, sizeof(request), fds, &fd_count);
	if (n != sizeof(request))
		return -1;
	if (request == ZYGOTE_TEMPLATE)
		raise_template(zygote, fds, fd_count);
	else if (request == ZYGOTE_RAISE)
		answer_raise(zygote, fds, fd_count);
	for (size_t i = 0; i < fd_count; i++)
		(void)close(fds[i]);
	return 0;
}

static void serve(int control_fd, bool is_born)
{
	struct zygote zygote = { .control_fd = control_fd, .life = { -1, -1 }, .is_born = is_born };
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "hotcell-zygote", 0, 0, 0);
	(void)umask(0022); /* the caller's would make a skeleton that nobody may enter */
	/* what our caller ignored is no concern of a cell's programs */
	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	(void)signal(SIGCHLD, SIG_IGN); /* ended cells need no burial; their pidfds tell */
	(void)signal(SIGINT, SIG_IGN);  /* a terminal's ^C is the supervisor's to handle */
	(void)signal(SIGTERM, SIG_IGN);
	if (pipe2(zygote.life, O_CLOEXEC) < 0)
		return;
	/* our supervisor is still busy; without privilege yet, both fail and are done later */
	zygote.has_spare_network = jail_spare_network() == 0;
	jail_empty_bounding_set();
	while (serve_one(&zygote) == 0)
		;
}

void zygote_serve(int control_fd)
{
	serve(control_fd, false);
}

/* Nothing of the parent but its memory: no descriptor, no signal, no name. */
static _Noreturn void become_zygote(int control_fd, bool is_born)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < ZYGOTE_CONTROL_FD; fd++)
		(void)dup2(null_fd, fd);
	(void)dup2(control_fd, ZYGOTE_CONTROL_FD);
	(void)close_range(ZYGOTE_CONTROL_FD + 1, ~0U, 0);
	serve(ZYGOTE_CONTROL_FD, is_born);
	_exit(0);
}

int zygote_fork(int control_fd, pid_t *ret_pid)
{
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		become_zygote(control_fd, false);
	*ret_pid = pid;
	return 0;
}

int zygote_bear(int control_fd, uint64_t flags, int cgroup_fd, pid_t *ret_pid, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = flags | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
	};
	if (cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup_fd;
	}
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return -errno;
	if (pid == 0)
		become_zygote(control_fd, true);
	*ret_pid = pid;
	return 0;
}
