/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a guest comes to be. It must be a child of the cell's init, and the interpreter must stay
 * where it is, so helpers go between. They borrow the interpreter's memory while it waits, which
 * makes them cheap:
 *
 *   interpreter ── vfork ──► outer ── vfork ──► inner ── clone ──► guest
 *                            setns to the       in the cell,
 *                            cell's pids        ends at once
 *
 * Only the guest has memory of its own. The inner helper's end makes it init's child. Each helper
 * is reaped by whoever made it: an unburied one would keep the cell's init from leaving. Who may
 * come back from where its children go needs no outer one: as root the interpreter may, rootless
 * its own pid namespace is another user's.
 */
#include "interpreter/interpreter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/own.h"
#include "interpreter/habit.h"
#include "interpreter/merge.h"
#include "interpreter/parts.h"
#include "interpreter/trial.h"
#include "zygote/zygote.h"

static struct {
	struct template_page *template; /* which no guest has */
	struct raising raising;         /* in a guest, until it has its job */
	struct thread_note thread;
	int home_fd; /* owned; our own pidfd, by which we come back; -1: we cannot */
	int page_fd; /* owned; in a guest: its page as a file; -1: it is none */
} self = { .home_fd = -1, .page_fd = -1 };

/* What guests are to know of it. */
static struct template_page known;

/* Whoever waits is told why it is in vain. */
static int refuse(struct report *report, const struct err *err)
{
	if (report->failed_text[0] == '\0')
		(void)snprintf(
			report->failed_text, sizeof(report->failed_text), "%.255s", err->text);
	return -1;
}

static int enter(struct template_page *template, int owner_pidfd, struct err *err)
{
	enum template_origin origin = owner_pidfd >= 0 ? ORIGIN_JOINED : ORIGIN_HOST;
	int r = owner_pidfd >= 0 ? jail_join_zygote(owner_pidfd) : 0;
	if (r < 0)
		return err_sys(err, -r, "enter the zygote's user namespace");
	TRY(thread_note_take(&self.thread, err));
	TRY(zygote_raise_template(template, origin, err));
	r = jail_seclude();
	return r < 0 ? err_sys(err, -r, "seclude the interpreter") : 0;
}

/* The C library keeps two signals for itself and hands them on ignored to what it spawns: a cell's
 * programs are to find the default, which signal() would refuse to set. */
static void reset_own_signals(void)
{
	const uint64_t by_default[4] = { 0 };
	for (int number = 32; number < 34; number++)
		(void)syscall(SYS_rt_sigaction, number, by_default, NULL, (size_t)(NSIG - 1) / 8);
}

int interpreter_enter(int control_fd, struct err *err)
{
	enum zygote_request request = ZYGOTE_NONE;
	int fds[2] = { -1, -1 };
	size_t fd_count = COUNT_OF(fds);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)setsid(); /* a terminal's ^C is the supervisor's to handle */
	reset_own_signals();
	ssize_t n = io_recv(control_fd, &request, sizeof(request), fds, &fd_count);
	if (n != sizeof(request) || request != ZYGOTE_TEMPLATE || fd_count < 1)
		return err_set(err, ERR_BROKEN, "no template came");
	struct template_page *template = zygote_map_page(fds[0], sizeof(*template));
	if (!template)
		return err_set(err, ERR_BROKEN, "the template's page is not whole");
	self.template = template;
	if (enter(template, fd_count == 2 ? fds[1] : -1, err) < 0)
		return refuse(&template->base.report, err);
	for (size_t i = 0; i < fd_count; i++)
		(void)close(fds[i]);
	jail_shed();
	int r = jail_lay_down();
	if (r == 0)
		return 0;
	(void)err_sys(err, -r, "lay down privileges");
	return refuse(&template->base.report, err);
}

void interpreter_refuse(const char *why)
{
	struct err err = { 0 };
	(void)err_set(&err, ERR_BROKEN, "%s", why);
	/* in a guest it is only that guest's */
	if (self.raising.page)
		(void)refuse(&self.raising.page->report, &err);
	else if (self.template)
		(void)refuse(&self.template->base.report, &err);
}

struct guest_request {
	int fds[GUEST_FD_COUNT + CGROUP_FDS_MAX];
	size_t fd_count;
};

/* As fork(), but into a v2 cgroup when the request has one. Nothing is known of the plan here:
 * it is on a page that only the guest maps. */
static pid_t clone_guest(const struct guest_request *request)
{
	struct clone_args args = {
		.flags = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID,
		.child_tid = (uint64_t)(uintptr_t)self.thread.tid_at,
		.exit_signal = SIGCHLD,
	};
	struct stat st;
	if (request->fd_count == GUEST_FD_COUNT + 1 &&
		fstat(request->fds[GUEST_FD_COUNT], &st) == 0 && S_ISDIR(st.st_mode)) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)request->fds[GUEST_FD_COUNT];
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static void bury(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork): no program is
 * executed here, and what the helpers do in the interpreter's memory they do while it waits */

/* The inner helper. Returns 0 in the guest, 1 in whose children go to the cell. */
__attribute__((noinline)) static int fork_inside(const struct guest_request *request)
{
	pid_t inner = vfork();
	if (inner == 0) {
		(void)setsid(); /* the guest's, who must not be its leader: a program may want one
				 */
		if (clone_guest(request) != 0)
			_exit(0);
		return 0;
	}
	if (inner > 0)
		bury(inner);
	return 1;
}

/* Returns 0 in the guest, 1 in the interpreter, whatever became of the guest: if it does not live,
 * its gate closes with our copies of the descriptors. */
__attribute__((noinline)) static int fork_by_helper(const struct guest_request *request)
{
	pid_t outer = vfork();
	if (outer != 0) {
		if (outer > 0)
			bury(outer);
		return 1;
	}
	if (jail_fork_into(request->fds[GUEST_FD_INIT]) < 0)
		_exit(1);
	if (fork_inside(request) == 0)
		return 0;
	_exit(0);
}

/* The same. Nobody else is forked meanwhile: the next one goes to its own cell in any case. */
static int fork_guest(const struct guest_request *request)
{
	if (self.home_fd < 0)
		return fork_by_helper(request);
	if (jail_fork_into(request->fds[GUEST_FD_INIT]) < 0)
		return 1;
	if (fork_inside(request) == 0)
		return 0;
	(void)jail_fork_into(self.home_fd);
	return 1;
}
/* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */

static int take_place(struct raising *raising, const struct guest_request *request, struct err *err)
{
	const struct plan *plan = &raising->page->plan;
	size_t entry_count = request->fd_count - GUEST_FD_COUNT;
	size_t wanted = plan->cgroup == CGROUP_V2 ? 1 : plan->cgroup_fd_count;
	TRY(jail_check_plan(plan, err));
	if (wanted != entry_count)
		return err_set(err, ERR_BROKEN, "plan and descriptors disagree");
	raising->fds[CELL_FD_GATE] = request->fds[GUEST_FD_GATE];
	memcpy(&raising->fds[CELL_FD_CGROUP], &request->fds[GUEST_FD_COUNT],
		entry_count * sizeof(request->fds[0]));
	TRY(jail_join_personally(raising, err));
	return jail_join(raising, request->fds[GUEST_FD_INIT], err);
}

/* Everything up to the gate. */
static int become_guest(const struct guest_request *request, int control_fd)
{
	struct err err = { 0 };
	struct raising *raising = &self.raising;
	self.template = NULL;
	*raising = (struct raising){
		.template = &known, .listener_fd = -1, .io_fd = -1, .life_fd = -1, .is_guest = true
	};
	raising->page = zygote_map_page(request->fds[GUEST_FD_PAGE], sizeof(*raising->page));
	if (!raising->page)
		return -1;
	raising->processors = raising->page->plan.processors;
	(void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* short waits are to be short */
	thread_note_restore(&self.thread);
	if (take_place(raising, request, &err) < 0)
		return refuse(&raising->page->report, &err);
	/* the number stays taken until the program's own descriptors are placed */
	(void)dup2(STDIN_FILENO, control_fd);
	/* they came in this order, so each has its place or a later one */
	self.page_fd = dup2(request->fds[GUEST_FD_PAGE], control_fd + 1);
	raising->fds[CELL_FD_GATE] = dup2(request->fds[GUEST_FD_GATE], control_fd + 2);
	(void)close_range((unsigned)control_fd + 3, ~0U, 0);
	return payload_confine(raising) < 0 ? -1 : 0;
}

/* To unmap the page takes a while. A guest that hears of its turn does it while nobody waits; what
 * is left to say then is written to the page as to a file. */
static void drop_page(void)
{
	if (self.raising.page)
		(void)munmap(self.raising.page, sizeof(*self.raising.page));
	self.raising.page = NULL;
}

static void tell_start(void)
{
	int64_t now_us = clock_us();
	(void)pwrite(self.page_fd, &now_us, sizeof(now_us),
		offsetof(struct cell_page, report.started_us));
}

static void warm_up(void)
{
	habit_follow();
	if (self.page_fd >= 0)
		drop_page();
}

/* What was handed over is in its places, and is needed there only. */
static int take_fds(const struct delivery *delivery)
{
	if (payload_settle(&self.raising, delivery) < 0)
		return -1;
	for (size_t i = 0; i < delivery->count; i++)
		(void)close(delivery->fds[i]);
	return 1;
}

/* Nothing of ours stays: no descriptor, no shared page. Where the program's came before, there is
 * nothing else but what took their last number, the page and the gate, in this order. */
static void leave_nothing(size_t fd_count)
{
	if (fd_count > 0)
		(void)close_range((unsigned)fd_count, ~0U, 0);
	else
		(void)close_range(GATE_FD_CHANNEL, (unsigned)self.raising.fds[CELL_FD_GATE], 0);
	drop_page();
}

int guest_take_job(struct job *ret_job, bool *ret_has_fds)
{
	struct delivery delivery;
	int kind = payload_await_word(&self.raising, &delivery);
	*ret_has_fds = kind >= 0 && delivery.count > 0;
	if (kind == GATE_WARM)
		warm_up();
	if (kind == GATE_WARM || kind == GATE_HAND)
		return kind == GATE_WARM ? 1 : take_fds(&delivery);
	if (kind < 0 || payload_take_job(&self.raising, &delivery, ret_job) < 0)
		return -1;
	if (!self.raising.page)
		tell_start();
	leave_nothing(delivery_count(&delivery));
	return 0;
}

/* Returns 0 in the guest, 1 in the interpreter. */
static int answer(const struct guest_request *request, int control_fd)
{
	if (fork_guest(request) != 0)
		return 1;
	/* what is not wholly in the cell must not go back to the interpreter */
	if (become_guest(request, control_fd) < 0)
		_exit(1);
	return 0;
}

static void *page_of_trial(void)
{
	void *page = mmap(NULL, sizeof(struct cell_page), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		_exit(1);
	return page;
}

/* Returns 0 in the trial, which goes on as any guest does. */
static int try_out(const char *code)
{
	const struct guest_request nowhere = { .fd_count = 0 };
	struct trial trial;
	pid_t pid = -1;
	if (trial_open(&trial, code) == 0)
		pid = clone_guest(&nowhere);
	if (pid == 0) {
		thread_note_restore(&self.thread);
		self.template = NULL;
		self.raising = (struct raising){ .page = page_of_trial(),
			.fds[CELL_FD_GATE] = trial.gate_fds[1] };
		return 0;
	}
	if (pid > 0)
		trial_watch(&trial, pid);
	trial_close(&trial);
	return 1;
}

/* The template's page names directories of the host, and each guest would have to unmap it: 13 µs.
 */
static int keep_template(struct err *err)
{
	jail_copy_inner(&known, self.template);
	if (madvise(self.template, sizeof(*self.template), MADV_DONTFORK) < 0)
		return err_sys(err, errno, "keep the template from guests");
	return 0;
}

/* Guests are born with it: what takes memory without end is one of them. */
static void offer_to_oom_killer(int proc_fd)
{
	(void)io_write_at(proc_fd, "self/oom_score_adj", OOM_SCORE);
}

static void settle_template(void)
{
	auto_fd int proc_fd = jail_open_proc();
	offer_to_oom_killer(proc_fd);
	merge_memory(proc_fd);
}

int interpreter_serve(int control_fd, const char *code, struct err *err)
{
	if (!jail_is_single_threaded()) {
		(void)err_set(
			err, ERR_BROKEN, "a module has started a thread, which no fork would copy");
		return refuse(&self.template->base.report, err);
	}
	int r = jail_take_up();
	if (r < 0) {
		(void)err_sys(err, -r, "take privileges up again");
		return refuse(&self.template->base.report, err);
	}
	self.home_fd = pidfd_open(getpid(), 0);
	if (self.home_fd >= 0 && jail_fork_into(self.home_fd) < 0)
		own_close(&self.home_fd);
	if (keep_template(err) < 0)
		return refuse(&self.template->base.report, err);
	settle_template();
	if (try_out(code) == 0)
		return 0;
	if (jail_hand_down_limits(err) < 0)
		return refuse(&self.template->base.report, err);
	__atomic_store_n(&self.template->base.report.started_us, clock_us(), __ATOMIC_RELEASE);
	for (;;) {
		struct guest_request request = { .fd_count = COUNT_OF(request.fds) };
		enum zygote_request kind = ZYGOTE_NONE;
		ssize_t n =
			io_recv(control_fd, &kind, sizeof(kind), request.fds, &request.fd_count);
		if (n != sizeof(kind))
			return 1;
		if (kind == ZYGOTE_GUEST && request.fd_count >= GUEST_FD_COUNT &&
			answer(&request, control_fd) == 0)
			return 0;
		for (size_t i = 0; i < request.fd_count; i++)
			(void)close(request.fds[i]);
	}
}
