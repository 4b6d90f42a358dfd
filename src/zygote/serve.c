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
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "base/pin.h"
#include "base/text.h"
#include "zygote/parts.h"
#include "zygote/zygote.h"

struct zygote {
	int control_fd;
	struct template_page *template;
	int life[2]; /* cells hold the reading end: it hangs up when we die */
	bool has_spare_network;
	int spare_fd; /* owned; the same; -1: it cannot be had */
	bool is_born; /* in the namespaces of our only cell, whose init we become */
};

static void note_refusal(struct cell_page *page, const struct err *err)
{
	if (page->report.failed_text[0] == '\0')
		(void)snprintf(page->report.failed_text, sizeof(page->report.failed_text), "%.255s",
			err->text);
}

/* NOLINTBEGIN(performance-no-int-to-ptr): pages are told by their addresses */
static void *page_of(const void *at, size_t size)
{
	return (void *)((uintptr_t)at / size * size);
}
/* NOLINTEND(performance-no-int-to-ptr) */

/* Every init writes to these at once, and so do we after each birth: copied at the birth, neither
 * of us waits for it. Of the stack, what is from `zygote` down to where an init gets. They are ours
 * until we die, and inits close what they do not need. */
static void pin_own_pages(const struct zygote *zygote)
{
	enum { DEPTH = 3 * 4096 };
	volatile char depth[DEPTH];
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < DEPTH; i += size)
		depth[i] = 0; /* a page that was never there cannot be pinned */
	void *chunk = malloc(1);
	char *bottom = page_of((const void *)depth, size);
	char *top = page_of(zygote, size);
	const struct iovec pages[] = {
		{ bottom, (size_t)(top - bottom) + size },
		{ page_of(chunk, size), size },
		{ page_of(&errno, size), size },
	};
	free(chunk);
	auto_fd int fd = pin_open();
	if (fd >= 0 && pin_pages(fd, pages, COUNT_OF(pages)) == 0)
		(void)take_fd(&fd);
}

static void raise_template(struct zygote *zygote, const int *fds, size_t fd_count)
{
	struct err err = { 0 };
	if (fd_count != 1 || zygote->template)
		return;
	struct template_page *template = zygote_map_page(fds[0], sizeof(*template));
	enum template_origin origin = zygote->is_born ? ORIGIN_BORN : ORIGIN_HOST;
	if (template && zygote_raise_template(template, origin, &err) == 0)
		zygote->template = template;
	else if (template)
		note_refusal(&template->base, &err);
	if (!zygote->template || !template->base.plan.is_resident)
		return;
	text_place((uintptr_t)zygote_serve, text_hand_down);
	pin_own_pages(zygote);
}

static pid_t clone_init(uint64_t flags, int cgroup_fd, int *ret_pidfd)
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
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* What the birth of an init did is told on its cell's page, once it has one. */
static void copy_birth(const struct cell_page *birth, struct cell_page *page)
{
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++)
		if (jail_steps[id].stage == STAGE_NETWORK || jail_steps[id].stage == STAGE_CLONE)
			page->report.steps[id] = birth->report.steps[id];
}

static int take_cell(struct raising *raising, const int *fds, size_t fd_count, struct err *err)
{
	if (fd_count < CELL_FD_COUNT || fd_count > CELL_FD_COUNT + CGROUP_FDS_MAX)
		return -1;
	memcpy(raising->fds, fds, fd_count * sizeof(fds[0]));
	raising->page = zygote_map_page(fds[CELL_FD_PAGE], sizeof(*raising->page));
	if (!raising->page)
		return -1;
	raising->processors = raising->page->plan.processors;
	if (raising->page->plan.cgroup_fd_count != fd_count - CELL_FD_COUNT)
		return err_set(err, ERR_BROKEN, "plan and descriptors disagree");
	return jail_check_plan(&raising->page->plan, err);
}

/* A new init has its namespaces and nothing else; it waits for the cell it is to raise. */
static _Noreturn void await_cell(struct raising *raising)
{
	struct err err = { 0 };
	struct cell_page *birth = raising->page;
	enum zygote_request request = ZYGOTE_NONE;
	int fds[IO_FDS_MAX];
	size_t fd_count = COUNT_OF(fds);
	if (jail_die_with_zygote(raising, &err) < 0)
		_exit(1);
	ssize_t n = io_recv(ZYGOTE_CONTROL_FD, &request, sizeof(request), fds, &fd_count);
	if (n != sizeof(request) || request != ZYGOTE_RAISE)
		_exit(1);
	if (take_cell(raising, fds, fd_count, &err) < 0) {
		if (raising->page && raising->page != birth)
			note_refusal(raising->page, &err);
		_exit(1);
	}
	copy_birth(birth, raising->page);
	raising->status_fd = ZYGOTE_CONTROL_FD;
	init_run(raising);
}

/* What a request for an init came with. */
struct wish {
	int sock;       /* the init's way to who asked */
	int network_fd; /* -1: it is to have one that nobody used yet */
	int cgroup_fd;  /* v2; -1: none */
};

/* Returns the init's number; *ret_pidfd is the caller's. */
static pid_t bear_init(struct zygote *zygote, struct raising *raising, const struct wish *wish,
	int *ret_pidfd, struct err *err)
{
	uint64_t flags = 0;
	TRY(jail_walk(raising, STAGE_NETWORK, err));
	TRY(jail_clone_flags(raising, &flags, err));
	jail_note_clone(raising, 0);
	pid_t pid = clone_init(flags, wish->cgroup_fd, ret_pidfd);
	if (pid == 0) {
		/* the number stays taken: what comes later must not sit where a program's
		 * descriptors go */
		(void)dup2(wish->sock, ZYGOTE_CONTROL_FD);
		(void)close(wish->sock);
		(void)close(zygote->life[1]);
		own_close(&zygote->spare_fd);
		await_cell(raising);
	}
	if (pid < 0)
		jail_note_clone(raising, errno);
	return pid < 0 ? err_set(err, ERR_SYSTEM, "clone") : pid;
}

/* Why there is no init is told on the template's page. */
static void copy_failure(const struct cell_page *birth, struct cell_page *base)
{
	copy_birth(birth, base);
	base->report.failed = birth->report.failed;
	base->report.failed_errno = birth->report.failed_errno;
	memcpy(base->report.failed_text, birth->report.failed_text,
		sizeof(base->report.failed_text));
}

/* While nobody waits for us: the network of the next cell, and ourselves in it. */
static void get_ready(struct zygote *zygote)
{
	if (!zygote->template->base.plan.is_resident || zygote->has_spare_network)
		return;
	zygote->has_spare_network = jail_spare_network() == 0;
	if (zygote->has_spare_network)
		zygote->spare_fd = jail_open_network();
}

/* Only one without any interface that is up can be as it was. */
static int read_wish(const struct zygote *zygote, enum zygote_request request, const int *fds,
	size_t fd_count, struct wish *wish, struct err *err)
{
	size_t own_count = request == ZYGOTE_INIT_IN ? 2 : 1;
	if (!zygote->template || fd_count < own_count || fd_count > own_count + 1)
		return err_set(err, ERR_BROKEN, "a wish for an init that makes no sense");
	if (request == ZYGOTE_INIT_IN && zygote->template->base.plan.net != NET_NONE)
		return err_set(err, ERR_BROKEN, "a network that was used, for a cell with one");
	*wish = (struct wish){ .sock = fds[0],
		.network_fd = request == ZYGOTE_INIT_IN ? fds[1] : -1,
		.cgroup_fd = fd_count > own_count ? fds[own_count] : -1 };
	return 0;
}

static void answer_init(
	struct zygote *zygote, enum zygote_request request, const int *fds, size_t fd_count)
{
	struct err err = { 0 };
	struct cell_page birth = { 0 };
	struct wish wish = { -1, -1, -1 };
	struct birth_notice notice = { .request = ZYGOTE_INIT, .pid = -1 };
	int answer[2] = { -1, -1 };
	int r = read_wish(zygote, request, fds, fd_count, &wish, &err);
	bool is_used = wish.network_fd >= 0;
	struct raising raising = { .page = &birth,
		.template = zygote->template,
		.has_spare_network = zygote->has_spare_network && !is_used,
		.is_used_network = is_used,
		.listener_fd = -1,
		.io_fd = -1,
		.life_fd = zygote->life[0] };
	raising.fds[CELL_FD_NETWORK] = wish.network_fd;
	if (r == 0) {
		birth.plan = zygote->template->base.plan;
		birth.plan.has_network = is_used;
		notice.pid = bear_init(zygote, &raising, &wish, &answer[0], &err);
	}
	if (zygote->template && notice.pid < 0) {
		copy_failure(&birth, &zygote->template->base);
		note_refusal(&zygote->template->base, &err);
	}
	/* the cell's now, whatever becomes of it; or we go back to ours */
	if (!is_used)
		answer[1] = take_fd(&zygote->spare_fd);
	zygote->has_spare_network =
		is_used && zygote->spare_fd >= 0 && jail_return_to_network(zygote->spare_fd) == 0;
	bool is_told = answer[1] >= 0 && birth.plan.net == NET_NONE;
	(void)io_send(zygote->control_fd, &notice, sizeof(notice), answer,
		answer[0] < 0 ? 0
		: is_told     ? 2
			      : 1);
	own_close(&answer[0]);
	own_close(&answer[1]);
	if (zygote->template)
		get_ready(zygote);
}

/* One that was born in its cell's namespaces becomes the init; its death is the answer. */
static _Noreturn void become_init(struct zygote *zygote, const int *fds, size_t fd_count)
{
	struct err err = { 0 };
	struct raising raising = { .template = zygote->template,
		.is_born = true,
		.has_spare_network = zygote->has_spare_network,
		.status_fd = zygote->control_fd,
		.listener_fd = -1,
		.io_fd = -1,
		.life_fd = zygote->control_fd };
	uint64_t flags = 0;
	int r = take_cell(&raising, fds, fd_count, &err);
	if (r == 0 && !zygote->template)
		r = err_set(&err, ERR_BROKEN, "no template");
	if (r == 0)
		r = jail_walk(&raising, STAGE_NETWORK, &err);
	if (r == 0)
		r = jail_clone_flags(&raising, &flags, &err);
	if (r < 0) {
		if (raising.page)
			note_refusal(raising.page, &err);
		_exit(1);
	}
	jail_note_clone(&raising, 0);
	if (jail_die_with_zygote(&raising, &err) < 0)
		_exit(1);
	init_run(&raising);
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
	else if ((request == ZYGOTE_INIT || request == ZYGOTE_INIT_IN) && !zygote->is_born)
		answer_init(zygote, request, fds, fd_count);
	else if (request == ZYGOTE_RAISE && zygote->is_born)
		become_init(zygote, fds, fd_count);
	for (size_t i = 0; i < fd_count; i++)
		(void)close(fds[i]);
	return 0;
}

/* Where the network of the next cell comes from. */
enum source {
	SOURCE_SELF = 0,   /* we go into a new one */
	SOURCE_SUPERVISOR, /* it comes with the request */
	SOURCE_BIRTH,      /* we are in it */
};

/* What our caller ignored is no concern of a cell's programs. signal() refuses the two signals that
   the C library keeps for itself, and its posix_spawn() hands them on ignored; so we ask the
   kernel, to which zero bytes are the default of everything. */
static void reset_signals(void)
{
	const uint64_t by_default[4] = { 0 };
	for (int number = 1; number < NSIG; number++)
		(void)syscall(SYS_rt_sigaction, number, by_default, NULL, (size_t)(NSIG - 1) / 8);
}

static void serve(int control_fd, bool is_born, enum source source)
{
	struct zygote zygote = {
		.control_fd = control_fd, .life = { -1, -1 }, .is_born = is_born, .spare_fd = -1
	};
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "hotcell-zygote", 0, 0, 0);
	(void)umask(0022); /* the caller's would make a skeleton that nobody may enter */
	reset_signals();
	(void)signal(SIGCHLD, SIG_IGN); /* ended cells need no burial; their pidfds tell */
	(void)signal(SIGINT, SIG_IGN);  /* a terminal's ^C is the supervisor's to handle */
	(void)signal(SIGTERM, SIG_IGN);
	if (pipe2(zygote.life, O_CLOEXEC) < 0)
		return;
	/* our supervisor is still busy; without privilege yet, both fail and are done later */
	zygote.has_spare_network =
		source == SOURCE_BIRTH || (source == SOURCE_SELF && jail_spare_network() == 0);
	jail_shed();
	while (serve_one(&zygote) == 0)
		;
}

void zygote_serve(int control_fd)
{
	serve(control_fd, false, SOURCE_SELF);
}

/* Nothing of the parent but its memory: no descriptor, no signal, no name. */
static _Noreturn void become_zygote(int control_fd, bool is_born, enum source source)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < ZYGOTE_CONTROL_FD; fd++)
		(void)dup2(null_fd, fd);
	(void)dup2(control_fd, ZYGOTE_CONTROL_FD);
	(void)close_range(ZYGOTE_CONTROL_FD + 1, ~0U, 0);
	serve(ZYGOTE_CONTROL_FD, is_born, source);
	_exit(0);
}

int zygote_fork(int control_fd, pid_t *ret_pid)
{
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		become_zygote(control_fd, false, SOURCE_SELF);
	*ret_pid = pid;
	return 0;
}

struct birth {
	int control_fd;
	const struct cradle *cradle;
	pid_t pid; /* or -errno */
	int pidfd;
};

static void bear(struct birth *birth, uint64_t flags, enum source source)
{
	struct clone_args args = {
		.flags = flags | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&birth->pidfd,
		.exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD, /* a midwife hands on her own */
	};
	if (birth->cradle->cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)birth->cradle->cgroup_fd;
	}
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		become_zygote(birth->control_fd, true, source);
	birth->pid = pid < 0 ? -errno : pid;
}

static int bear_in_network(void *context)
{
	struct birth *birth = context;
	uint64_t flags = jail_birth_flags(birth->cradle->mode) & ~(uint64_t)CLONE_NEWUSER;
	/* 0 as long as nobody can tell how it ended */
	birth->pid = jail_enter_network(birth->cradle->network_fd);
	if (birth->pid == 0)
		bear(birth, flags | CLONE_PARENT, SOURCE_BIRTH);
	return 0;
}

/* Nobody comes back from a user namespace, so a midwife goes: a child that shares our memory and
 * descriptors while we wait. The zygote lives on in a copy of her stack; what lies below that one
 * are frames to which it never returns. */
static void send_midwife(struct birth *birth)
{
	char stack[8192] __attribute__((aligned(16)));
	int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD;
	pid_t midwife = clone(bear_in_network, stack + sizeof(stack), flags, birth);
	while (midwife > 0 && waitpid(midwife, NULL, 0) < 0 && errno == EINTR)
		;
}

int zygote_bear(int control_fd, const struct cradle *cradle, pid_t *ret_pid, int *ret_pidfd)
{
	bool is_root = cradle->mode == MODE_ROOT;
	struct birth birth = { .control_fd = control_fd, .cradle = cradle, .pid = -1, .pidfd = -1 };
	if (cradle->network_fd >= 0)
		send_midwife(&birth);
	if (birth.pid < 0)
		bear(&birth, jail_birth_flags(cradle->mode),
			is_root ? SOURCE_SUPERVISOR : SOURCE_SELF);
	if (birth.pid <= 0)
		return birth.pid < 0 ? birth.pid : -ECHILD;
	*ret_pid = birth.pid;
	*ret_pidfd = birth.pidfd;
	return 0;
}
