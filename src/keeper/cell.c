/* SPDX-License-Identifier: Apache-2.0 */
/* From a task to a standing cell, and from a dead cell to nothing. */
#include "keeper/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/own.h"
#include "keeper/build.h"
#include "keeper/line.h"
#include "wire/json.h"

enum {
	/* a chunk of output, or one message of a runner, each in its longest writing */
	PENDING_MAX = (1 << 20) + 2 * LIMIT_FRAME_BYTES,
	RUN_MAX = 8 * LIMIT_JOB_BYTES, /* a byte may be written with six */
};

static const char *const base_env[] = {
	"PATH=/usr/local/bin:/usr/bin:/bin",
	"HOME=/home/user",
	"USER=user",
	"LANG=C.UTF-8",
	"TERM=dumb",
	"TMPDIR=/tmp",
};

struct cell *cell_new(
	struct keeper *keeper, const struct spec *spec, bool needs_full_proc, enum cell_form form)
{
	struct cell *cell = xcalloc(1, sizeof(*cell));
	cell->keeper = keeper;
	cell->walls = (struct walls){ .memory = spec->memory,
		.pids = spec->pids,
		.cpus_milli = spec->cpus_milli,
		.disk = spec->disk,
		.inodes = spec->inodes,
		.cpu_time_ms = spec->cpu_time_ms,
		.has_full_proc = needs_full_proc,
		.form = form };
	cell->page_fd = cell->slot.fd = -1;
	cell->workspace.fd = -1;
	cell->pidfd = cell->status_fd = cell->gate_fd = cell->listener_fd = cell->mounts_fd = -1;
	cell->stdin_fd = cell->stdin_source_fd = cell->channel_fd = cell->procs_fd = -1;
	cell->elsewhere.pidfd = -1;
	for (int i = 0; i < SAMPLE_ACCOUNTS; i++)
		cell->io_fds[i] = -1;
	for (int i = 0; i < GATE_FD_COUNT; i++)
		cell->delivery[i] = -1;
	buf_init(&cell->job, LIMIT_JOB_BYTES);
	foreseen_init(&cell->foreseen);
	frames_init(&cell->frames, LIMIT_FRAME_BYTES);
	for (int stream = 0; stream < STREAM_COUNT; stream++) {
		cell->out_fds[stream] = -1;
		capture_init(&cell->captures[stream], 0);
		buf_init(&cell->pending[stream], PENDING_MAX);
	}
	return cell;
}

void cell_assign(struct cell *cell, const struct task *task, struct result *result)
{
	cell->task = task;
	cell->result = result;
	for (int stream = 0; stream < STREAM_COUNT; stream++)
		capture_init(&cell->captures[stream], (size_t)task->spec->max_output);
}

void cell_let_go(struct cell *cell)
{
	for (int i = 0; i < GATE_FD_COUNT; i++)
		own_close(&cell->delivery[i]);
}

void cell_note_answer(struct cell *cell)
{
	if (cell->page && !cell->turn)
		__atomic_store_n(&cell->page->orders.is_answered, 1, __ATOMIC_RELAXED);
}

void cell_free(struct cell *cell)
{
	if (!cell)
		return;
	bool is_borrowed = cell->keeper->loan_fd >= 0;
	if (!is_borrowed) /* else the lender ends it */
		cell_kill(cell);
	bool is_dead = cell_is_dead(cell);
	own_close(&cell->listener_fd);
	own_close(&cell->mounts_fd);
	own_close(&cell->workspace.fd);
	own_close(&cell->pidfd);
	own_close(&cell->page_fd);
	own_close(&cell->status_fd);
	own_close(&cell->gate_fd);
	own_close(&cell->stdin_fd);
	own_close(&cell->stdin_source_fd);
	own_close(&cell->channel_fd);
	own_close(&cell->procs_fd);
	elsewhere_close(&cell->elsewhere);
	for (int i = 0; i < SAMPLE_ACCOUNTS; i++)
		own_close(&cell->io_fds[i]);
	cell_let_go(cell);
	buf_done(&cell->job);
	foreseen_done(&cell->foreseen);
	frames_done(&cell->frames);
	for (int stream = 0; stream < STREAM_COUNT; stream++) {
		own_close(&cell->out_fds[stream]);
		capture_done(&cell->captures[stream]);
		buf_done(&cell->pending[stream]);
	}
	if (cell->has_group && is_borrowed)
		cgroup_let_go(&cell->group);
	else if (cell->has_group && cell->slot.fd >= 0 && is_dead)
		berths_give(&cell->keeper->berths, &cell->slot, &cell->group);
	else if (cell->has_group)
		cgroup_remove(&cell->group);
	slot_free(&cell->slot);
	networks_give(&cell->keeper->networks, cell->network, is_dead);
	page_free(cell->page, sizeof(*cell->page));
	free(cell->chunk);
	free(cell->stdin_chunk);
	free(cell);
}

static const struct slot *slot_of(const struct cell *cell)
{
	return cell->slot.fd >= 0 ? &cell->slot : &cell->keeper->slot;
}

/* A lender's cells are there at once: each has one of its own. */
static int take_berth(struct cell *cell, struct err *err)
{
	struct beginning beginning = BEGINNING_NONE;
	TRY(beginning_find_berth(cell->keeper, &beginning, err));
	cell->slot = beginning.slot;
	cell->group = beginning.group;
	cell->has_group = beginning.has_group;
	return 0;
}

int64_t cell_inits(const struct cell *cell)
{
	bool has_guest = cell->walls.form == FORM_GUEST;
	return jail_has_init_outside(cell->keeper->site.kind, has_guest) ? 0 : 1;
}

static int make_group(struct cell *cell, struct err *err)
{
	const struct walls *walls = &cell->walls;
	const struct cgroup_limits limits = { walls->memory, walls->pids, walls->cpus_milli,
		cell_inits(cell) };
	if (!(cell->keeper->wanted & (UINT64_C(1) << STEP_CGROUP)))
		return 0;
	struct keeper *keeper = cell->keeper;
	if (!cell->has_group && keeper->has_spare_group)
		cell->group = keeper->spare_group;
	else if (!cell->has_group)
		TRY(cgroup_make(&cell->group, &keeper->site, slot_of(cell)->number, err));
	keeper->has_spare_group = false;
	cell->has_group = true;
	return cgroup_limit(&cell->group, &limits, err);
}

void cell_own_workspace(struct cell *cell)
{
	/* rootless, the files the supervisor makes are its own user's, who is the cell's */
	bool is_root = cell->keeper->mode == MODE_ROOT;
	cell->workspace.uid = is_root ? cell->page->plan.uid : geteuid();
	cell->workspace.gid = is_root ? cell->page->plan.gid : getegid();
}

static void fill_plan(struct cell *cell)
{
	const struct walls *walls = &cell->walls;
	struct plan *plan = &cell->page->plan;
	*plan = cell->keeper->template->base.plan;
	plan->wanted = cell->keeper->wanted;
	plan->has_full_proc = walls->has_full_proc;
	plan->has_guest = walls->form == FORM_GUEST;
	plan->has_network = cell->keeper->network_fd >= 0;
	plan->cgroup = cell->has_group ? cell->keeper->site.kind : CGROUP_NONE;
	plan->disk = walls->disk;
	plan->inodes = walls->inodes;
	plan->pids = walls->pids;
	if (cell->keeper->mode == MODE_ROOT)
		plan->uid = plan->gid = (uint32_t)(SLOT_UID_BASE + slot_of(cell)->number);
	plan->memory = walls->memory;
	plan->is_lent = cell->keeper->is_lender;
	plan->processors = plan->is_lent ? apart_processors() : 0;
	plan->cpu_time_ms = walls->cpu_time_ms;
	cell_own_workspace(cell);
}

/* Adds a variable, or replaces the one of its name: the last word counts. */
static void set_variable(struct strings *env, const char *variable)
{
	size_t len = strcspn(variable, "=");
	for (size_t i = 0; i < env->count; i++) {
		if (strcspn(env->items[i], "=") != len ||
			strncmp(env->items[i], variable, len) != 0)
			continue;
		free(env->items[i]);
		env->items[i] = xstrdup(variable);
		return;
	}
	strings_add(env, variable);
}

bool keeper_has_variable(const char *variable)
{
	for (size_t i = 0; i < COUNT_OF(base_env); i++)
		if (strcmp(base_env[i], variable) == 0)
			return true;
	return false;
}

/* K=V as it is; K alone from our own environment, when it is there. */
static void fill_env(const struct strings *given, struct strings *env)
{
	for (size_t i = 0; i < COUNT_OF(base_env); i++)
		strings_add(env, base_env[i]);
	for (size_t i = 0; i < given->count; i++) {
		const char *value = getenv(given->items[i]);
		if (strchr(given->items[i], '=')) {
			set_variable(env, given->items[i]);
		} else if (value) {
			auto_free char *variable = xasprintf("%s=%s", given->items[i], value);
			set_variable(env, variable);
		}
	}
}

static int make_job(struct cell *cell, const struct strings *argv, const struct strings *given_env,
	struct err *err)
{
	struct strings env = { 0 };
	fill_env(given_env, &env);
	int r = job_write(&cell->job, HOME_DIR, argv, &env);
	strings_done(&env);
	return r < 0 ? err_set(err, ERR_LIMIT,
			       "arguments and variables together are over %d bytes: hand long data "
			       "over in a file, for example --file data.json",
			       LIMIT_JOB_BYTES)
		     : 0;
}

/* A pipe of which our end does not block. */
static int make_pipe(int *ret_ours, int *ret_theirs, bool do_we_read, struct err *err)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, errno, "make a pipe");
	*ret_ours = ends[do_we_read ? 0 : 1];
	*ret_theirs = ends[do_we_read ? 1 : 0];
	if (fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0)
		return err_sys(err, errno, "make a pipe non-blocking");
	return 0;
}

static int open_stdin_source(struct cell *cell, const char *path, struct err *err)
{
	cell->stdin_source_fd = strcmp(path, "-") == 0
					? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					: open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (cell->stdin_source_fd < 0 || fstat(cell->stdin_source_fd, &st) < 0)
		return err_sys(err, errno, "--stdin: open '%s'", path);
	if (S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID, "--stdin: '%s' is a directory", path);
	cell->stdin_chunk = xrealloc(NULL, STDIN_CHUNK, 1);
	return 0;
}

static int open_no_stdin(struct cell *cell, struct err *err)
{
	int *fd = &cell->delivery[GATE_FD_STDIN];
	if (*fd < 0)
		*fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? err_sys(err, errno, "open /dev/null") : 0;
}

static int open_stdin(struct cell *cell, struct err *err)
{
	const char *path = cell->task->spec->stdin_path;
	if (!path)
		return open_no_stdin(cell, err);
	own_close(&cell->delivery[GATE_FD_STDIN]);
	TRY(open_stdin_source(cell, path, err));
	return make_pipe(&cell->stdin_fd, &cell->delivery[GATE_FD_STDIN], false, err);
}

/* One that was started has a pipe already. */
static int fill_stdin(struct cell *cell, struct err *err)
{
	const char *path = cell->task->spec->stdin_path;
	if (path)
		return open_stdin_source(cell, path, err);
	own_close(&cell->stdin_fd);
	return 0;
}

static int make_pair(int type, int *ret_ours, int *ret_theirs, struct err *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, errno, "make a socket pair");
	*ret_ours = pair[0];
	*ret_theirs = pair[1];
	return 0;
}

/* It lies in the channel when the runner begins, which need not wait for it. */
static int tell_policy(struct cell *cell, struct err *err)
{
	auto_free char *text = xasprintf("{\"guard\":%s}", cell->task->policy);
	int r = frame_write(cell->channel_fd, text, strlen(text));
	return r < 0 ? err_sys(err, -r, "tell the runner the policy of the guard") : 0;
}

/* Unless it is there already. */
static int make_output(struct cell *cell, int stream, int number, struct err *err)
{
	int *theirs = &cell->delivery[number];
	return *theirs >= 0 ? 0 : make_pipe(&cell->out_fds[stream], theirs, true, err);
}

/* A guest's is its gate, but for one that is told something before its job. */
static int make_channel(struct cell *cell, bool is_told, struct err *err)
{
	int *theirs = &cell->delivery[GATE_FD_CHANNEL];
	cell->is_gate_channel = cell->walls.form == FORM_GUEST && !is_told && *theirs < 0;
	return cell->is_gate_channel || *theirs >= 0
		       ? 0
		       : make_pair(SOCK_STREAM, &cell->channel_fd, theirs, err);
}

size_t cell_delivery_count(const struct cell *cell)
{
	return cell->channel_fd < 0 ? GATE_FD_CHANNEL : GATE_FD_COUNT;
}

/* Some compilers complain on one, some on the other: one pipe keeps their order. */
static int share_output(struct cell *cell, struct err *err)
{
	int *stdio = cell->delivery;
	own_close(&cell->out_fds[STREAM_OUT]);
	own_close(&stdio[STDOUT_FILENO]);
	stdio[STDOUT_FILENO] = fcntl(stdio[STDERR_FILENO], F_DUPFD_CLOEXEC, 3);
	return stdio[STDOUT_FILENO] < 0 ? err_sys(err, errno, "share a pipe") : 0;
}

/* Whether the task wants nothing else than what its payload was handed ahead. */
static bool suits(const struct task *task, const struct cell *cell)
{
	size_t wanted = task->ear.hear ? GATE_FD_COUNT : GATE_FD_CHANNEL;
	return cell->handed_count == wanted && !task->spec->stdin_path && !task->is_build &&
	       !(task->policy && cell->is_gate_channel);
}

/* It gets others in their place. */
static void take_back(struct cell *cell)
{
	for (int stream = 0; stream < STREAM_COUNT; stream++)
		own_close(&cell->out_fds[stream]);
	own_close(&cell->channel_fd);
	cell->is_gate_channel = false;
	cell->handed_count = 0;
}

int cell_make_streams(struct cell *cell, struct err *err)
{
	const struct task *task = cell->task;
	if (suits(task, cell))
		return task->policy ? tell_policy(cell, err) : 0;
	if (cell->handed_count > 0)
		take_back(cell);
	TRY(open_stdin(cell, err));
	TRY(make_output(cell, STREAM_ERR, STDERR_FILENO, err));
	TRY(task->is_build ? share_output(cell, err)
			   : make_output(cell, STREAM_OUT, STDOUT_FILENO, err));
	if (!task->ear.hear) {
		own_close(&cell->channel_fd);
		own_close(&cell->delivery[GATE_FD_CHANNEL]);
		return 0;
	}
	TRY(make_channel(cell, task->policy, err));
	return task->policy ? tell_policy(cell, err) : 0;
}

/* Those of the next program are most likely like those of the last. */
static void hand_over(struct cell *cell)
{
	const struct gate_message message = { .kind = GATE_HAND,
		.cpu = sched_getcpu(),
		.has = cell->is_gate_channel ? GATE_IS_CHANNEL : 0 };
	size_t count = cell_delivery_count(cell);
	for (size_t i = 0; i < count; i++)
		if (cell->delivery[i] < 0)
			return;
	if (io_send(cell->gate_fd, &message, sizeof(message), cell->delivery, count) < 0)
		return;
	cell->handed_count = cell->is_gate_channel ? GATE_FD_COUNT : count;
	cell_let_go(cell);
	/* for ahead_rouse(), which needs to know what to give back */
	bool can_meet = cell->has_group && cell->page->plan.processors != 0;
	auto_fd int procs_fd = can_meet ? cgroup_open_procs(&cell->group) : -1;
	if (procs_fd >= 0)
		(void)elsewhere_find(&cell->elsewhere, cell->pidfd, procs_fd);
}

void cell_foresee(struct cell *cell, const struct ahead *ahead)
{
	struct err err = { 0 };
	foresee_program(ahead, &cell->workspace, &cell->foreseen);
	foresee_build(ahead, &cell->workspace, &cell->foreseen);
	if (cell->walls.form == FORM_STARTED) {
		/* it has streams, hears its job on the channel, and is one of those with threads */
		cell->procs_fd = cell->has_group ? cgroup_open_procs(&cell->group) : -1;
		if (cell->procs_fd >= 0)
			elsewhere_begin(&cell->elsewhere, cell->pidfd, cell->procs_fd);
		return;
	}
	(void)open_no_stdin(cell, &err);
	(void)make_output(cell, STREAM_ERR, STDERR_FILENO, &err);
	(void)make_output(cell, STREAM_OUT, STDOUT_FILENO, &err);
	if (cell->walls.form == FORM_GUEST)
		(void)make_channel(cell, false, &err);
	hand_over(cell);
}

/* Whether the program finds nothing in its directory but its own file. */
static bool has_only_code(const struct task *task)
{
	const struct spec *spec = task->spec;
	return task->program && !task->is_build && !task->build &&
	       spec->files.count + spec->ro.count + spec->rw.count == 0;
}

int cell_make_delivery(struct cell *cell, struct err *err)
{
	const struct task *task = cell->task;
	const struct strings *argv = cell->walls.form == FORM_GATE ? task->argv : task->own_argv;
	TRY(make_job(cell, argv, &task->spec->env, err));
	if (cell->walls.form == FORM_GUEST && has_only_code(task) &&
		cell->job.len + task->code_len < JOB_SHORT)
		(void)job_add_code(&cell->job, task->code, task->code_len);
	return cell_make_streams(cell, err);
}

int cell_start(struct cell *cell, const struct strings *argv, struct err *err)
{
	const struct strings no_env = { 0 };
	int *stdio = cell->delivery;
	TRY(make_job(cell, argv, &no_env, err));
	TRY(make_pipe(&cell->stdin_fd, &stdio[STDIN_FILENO], false, err));
	TRY(make_pipe(&cell->out_fds[STREAM_OUT], &stdio[STDOUT_FILENO], true, err));
	TRY(make_pipe(&cell->out_fds[STREAM_ERR], &stdio[STDERR_FILENO], true, err));
	TRY(make_pair(SOCK_STREAM, &cell->channel_fd, &cell->delivery[GATE_FD_CHANNEL], err));
	return cell_open_gate(cell, err);
}

int cell_start_session(struct cell *cell, const struct strings *argv, const struct strings *env,
	int *ret_line_fd, struct err *err)
{
	int *stdio = cell->delivery;
	TRY(make_job(cell, argv, env, err));
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
		stdio[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (stdio[i] < 0)
			return err_sys(err, errno, "open /dev/null");
	}
	__atomic_store_n(&cell->page->orders.is_session, 1, __ATOMIC_RELEASE);
	TRY(line_make(&cell->channel_fd, &cell->delivery[GATE_FD_CHANNEL], err));
	int r = cell_open_gate(cell, err);
	*ret_line_fd = take_fd(&cell->channel_fd);
	return r;
}

static void put_list(struct buf *text, const char *key, const struct strings *list)
{
	(void)buf_append(text, key, strlen(key));
	(void)buf_append(text, "[", 1);
	for (size_t i = 0; i < list->count; i++) {
		if (i > 0)
			(void)buf_append(text, ",", 1);
		(void)json_quote(text, list->items[i], strlen(list->items[i]));
	}
	(void)buf_append(text, "]", 1);
}

/* The text is written as it comes: objects would take longer than the rest of the way. */
static void write_run(const struct task *task, struct buf *text)
{
	static const char end[] = ",\"cwd\":\"" HOME_DIR "\"}";
	struct strings env = { 0 };
	fill_env(&task->spec->env, &env);
	put_list(text, "{\"run\":{\"argv\":", task->own_argv);
	put_list(text, ",\"env\":", &env);
	(void)buf_append(text, end, sizeof(end) - 1);
	if (task->policy)
		(void)buf_printf(text, ",\"guard\":%s", task->policy);
	(void)buf_append(text, "}", 1);
	strings_done(&env);
}

int cell_send_job(struct cell *cell, struct err *err)
{
	auto_buf struct buf text;
	buf_init(&text, RUN_MAX);
	write_run(cell->task, &text);
	elsewhere_end(&cell->elsewhere);
	cell->started_us = clock_us();
	int r = frame_write(cell->channel_fd, text.data, text.len);
	if (r == -EPIPE || r == -ECONNRESET)
		return err_set(err, ERR_BROKEN, "the program that stood ready is gone");
	return r < 0 ? err_sys(err, -r, "hand over the job") : 0;
}

/* While init raises its walls, the interpreter forks the payload. */
static int invite_guest(struct cell *cell, const int *cell_fds, size_t entry_count, struct err *err)
{
	int fds[GUEST_FD_COUNT + CGROUP_FDS_MAX];
	fds[GUEST_FD_PAGE] = cell_fds[CELL_FD_PAGE];
	fds[GUEST_FD_GATE] = cell_fds[CELL_FD_GATE];
	fds[GUEST_FD_INIT] = cell->pidfd;
	memcpy(&fds[GUEST_FD_COUNT], &cell_fds[CELL_FD_CGROUP], entry_count * sizeof(fds[0]));
	if (cell->has_group && cell->group.site->kind == CGROUP_V2)
		fds[GUEST_FD_COUNT + entry_count++] = cell->group.dir_fds[0];
	cell->keeper->host.guest_count++;
	return zygote_invite_guest(
		&cell->keeper->host.zygote, fds, GUEST_FD_COUNT + entry_count, err);
}

static int send_raise(struct cell *cell, const struct kit *kit, struct err *err)
{
	int fds[CELL_FD_COUNT + CGROUP_FDS_MAX];
	size_t entry_count = 0;
	fds[CELL_FD_PAGE] = kit->page_fd;
	fds[CELL_FD_GATE] = kit->gate_fds[1];
	/* a cell without a slot has nothing to lock, one that makes its own network gets none: any
	 * descriptor will do */
	fds[CELL_FD_LOCK] = cell->keeper->has_slot ? slot_of(cell)->fd : kit->page_fd;
	fds[CELL_FD_NETWORK] =
		cell->keeper->network_fd >= 0 ? cell->keeper->network_fd : kit->page_fd;
	int r = 0;
	if (cell->has_group)
		r = cgroup_entry_fds(&cell->group, &fds[CELL_FD_CGROUP], &entry_count, err);
	cell->page->plan.cgroup_fd_count = (uint32_t)entry_count;
	/* the guest takes longer; one whose init does not come ends with it */
	if (r == 0 && cell->walls.form == FORM_GUEST)
		r = invite_guest(cell, fds, entry_count, err);
	if (r == 0)
		r = zygote_raise(cell->status_fd, fds, CELL_FD_COUNT + entry_count, err);
	if (cell->has_group)
		cgroup_all_in(&cell->group);
	return r;
}

int cell_failure(const struct cell *cell, struct err *err)
{
	const struct cell_page *template = cell->keeper->base;
	const struct template_page *hosted = cell->keeper->host.page;
	const struct cell_page *page = template->report.failed_text[0] ? template : cell->page;
	bool is_guest = cell->walls.form == FORM_GUEST;
	if (is_guest && hosted && hosted->base.report.failed_text[0])
		return err_set(err, ERR_BROKEN, "the interpreter does not stand ready: %.255s",
			hosted->base.report.failed_text);
	if (is_guest && page->report.failed == STEP_NONE && !page->report.failed_text[0])
		return err_set(err, ERR_BROKEN,
			"the cell died while it was raised, or its interpreter before");
	return page_failure(page, err);
}

int cell_raise(struct cell *cell, struct err *err)
{
	struct zygote *zygote = &cell->keeper->zygote;
	auto_kit struct kit kit = cell->keeper->spare_kit;
	cell->keeper->spare_kit = KIT_NONE;
	if (!kit.page)
		TRY(kit_make(&kit, err));
	cell->page = take_ptr(&kit.page);
	cell->gate_fd = take_fd(&kit.gate_fds[0]);
	/* an init that failed while nobody needed it gets another chance: what was scarce then may
	 * not be now */
	bool is_begun = zygote->pidfd < 0 && beginning_take(cell);
	if (cell->slot.fd < 0 && !cell->has_group)
		TRY(take_berth(cell, err));
	TRY(make_group(cell, err));
	fill_plan(cell);
	if (zygote->pidfd < 0) {
		if (!is_begun)
			TRY(beginning_ask_now(cell, err));
		TRY(send_raise(cell, &kit, err));
		if (cell->keeper->is_resident)
			cell->page_fd = take_fd(&kit.page_fd);
		return 0;
	}
	/* it becomes the cell's init itself */
	zygote_call_back(zygote);
	cell->pidfd = fcntl(zygote->pidfd, F_DUPFD_CLOEXEC, 3);
	cell->status_fd = fcntl(zygote->sock, F_DUPFD_CLOEXEC, 3);
	if (cell->pidfd < 0 || cell->status_fd < 0)
		return err_sys(err, errno, "keep the cell's descriptors");
	return send_raise(cell, &kit, err);
}

static int start_spill(struct cell *cell, struct err *err)
{
	static const char *const names[STREAM_COUNT] = { "stdout", "stderr" };
	const char *dir = cell->task->spec->spill;
	for (int stream = 0; dir && stream < STREAM_COUNT; stream++) {
		auto_free char *name = xasprintf("%s.%s", cell->result->id, names[stream]);
		TRY(capture_spill(&cell->captures[stream], dir, name, err));
	}
	return 0;
}

static int put_program(struct cell *cell, struct err *err)
{
	const struct task *task = cell->task;
	auto_fd int fd = -1;
	if (task->ahead)
		foresight_keep_program(task->ahead, task->program);
	TRY(foreseen_take_program(&cell->foreseen, &cell->workspace, task->program, &fd, err));
	if (!task->program)
		return 0;
	return fd >= 0 ? workspace_fill(fd, task->program, task->code, task->code_len, err)
		       : workspace_put(
				 &cell->workspace, task->program, task->code, task->code_len, err);
}

static int put_build(struct cell *cell, struct err *err)
{
	const struct task *task = cell->task;
	bool is_there = false;
	if (task->ahead)
		foresight_keep_build(task->ahead, task->build);
	TRY(foreseen_take_build(&cell->foreseen, &cell->workspace, task->build, &is_there, err));
	return is_there || !task->build ? 0
					: workspace_put_build(&cell->workspace, *task->build, err);
}

static int feed(struct cell *cell, struct err *err)
{
	const struct task *task = cell->task;
	if (!task->program && task->spec->files.count == 0 && !task->is_build && !task->build &&
		!cell->foreseen.program && !cell->foreseen.has_build)
		return 0;
	TRY(cell_await_workspace(cell, err));
	if (task->is_build)
		TRY(workspace_prepare_build(&cell->workspace, err));
	TRY(put_build(cell, err));
	TRY(put_program(cell, err));
	return workspace_copy_in(&cell->workspace, &task->spec->files, err);
}

/* The template's steps were written on its own page, the cell's on this one. */
void cell_report(const struct cell *cell, struct report *report)
{
	const struct report *template = &cell->keeper->base->report;
	if (!cell->page)
		*report = (struct report){ 0 };
	else if (report != &cell->page->report)
		*report = cell->page->report;
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++)
		if (jail_steps[id].stage == STAGE_TEMPLATE ||
			template->steps[id].state == STEP_FAILED)
			report->steps[id] = template->steps[id];
	report->unmapped_mounts = template->unmapped_mounts;
	if (template->failed != STEP_NONE) {
		report->failed = template->failed;
		memcpy(report->failed_text, template->failed_text, sizeof(report->failed_text));
	}
}

static int finish(struct cell *cell, struct err *err)
{
	struct result *result = cell->result;
	cell_judge(cell);
	TRY(capture_finish(&cell->captures[STREAM_OUT], &result->out, err));
	TRY(capture_finish(&cell->captures[STREAM_ERR], &result->err, err));
	return workspace_copy_out(
		&cell->workspace, cell->task->spec, cell->task->program, result, err);
}

static int run_cell(struct cell *cell, struct report *report, struct err *err)
{
	TRY(workspace_check_out(&cell->task->spec->outs, err));
	TRY(start_spill(cell, err));
	int r = cell->page ? 0 : cell_raise(cell, err);
	/* the janitor's moment: init is at work, and we have nothing to do yet */
	if (r == 0)
		keeper_sweep(cell->keeper);
	if (r == 0 && cell->walls.form == FORM_STARTED)
		r = fill_stdin(cell, err);
	else if (r == 0 && cell->job.len == 0)
		r = cell_make_delivery(cell, err);
	if (r == 0)
		r = feed(cell, err);
	if (r == 0)
		r = cell_supervise(cell, err);
	cell_report(cell, report);
	if (r < 0)
		cell->result->isolation_count = 0; /* nothing ran in it */
	TRY(r);
	if (cell->result->isolation_count == 0)
		cell_describe(cell, report);
	if (cell->exec_errno != 0)
		return err_sys(err, cell->exec_errno, "execute '%s' in the cell",
			cell->task->argv->items[0]);
	return finish(cell, err);
}

static bool is_same(const struct walls *a, const struct walls *b)
{
	return a->memory == b->memory && a->pids == b->pids && a->cpus_milli == b->cpus_milli &&
	       a->disk == b->disk && a->inodes == b->inodes && a->cpu_time_ms == b->cpu_time_ms &&
	       a->has_full_proc == b->has_full_proc && a->form == b->form;
}

/* A cell that died while it was parked is of no use, and neither is one with other walls. */
static bool is_fit(const struct cell *cell, const struct cell *wanted)
{
	struct pollfd death = { .fd = cell->pidfd, .events = POLLIN };
	return is_same(&cell->walls, &wanted->walls) && poll(&death, 1, 0) == 0;
}

/* NULL: it was borrowed, and is used. */
static struct cell *choose_cell(struct keeper *keeper, const struct task *task)
{
	struct cell *parked = take_ptr(&keeper->parked);
	if (keeper->loan_fd >= 0)
		return parked;
	enum cell_form form = keeper_is_host(keeper) ? task->form : FORM_GATE;
	struct cell *fresh = cell_new(keeper, task->spec, task->needs_full_proc, form);
	bool is_parked = parked && is_fit(parked, fresh);
	cell_free(is_parked ? fresh : parked);
	return is_parked ? parked : fresh;
}

int keeper_park(struct keeper *keeper, const struct spec *spec, bool needs_full_proc,
	enum cell_form form, struct err *err)
{
	cell_free(take_ptr(&keeper->parked));
	cell_free(take_ptr(&keeper->last)); /* its slot's groups are to be used again */
	struct cell *cell = cell_new(keeper, spec, needs_full_proc, form);
	if (cell_raise(cell, err) < 0) {
		cell_free(cell);
		return -1;
	}
	keeper->parked = cell;
	return 0;
}

int keeper_run(struct keeper *keeper, const struct task *task, struct result *result,
	struct report *report, struct err *err)
{
	struct report own;
	/* these are the template's, and were settled when it was raised */
	if (task->spec->net != (int)keeper->base->plan.net)
		return err_set(err, ERR_INVALID, "--net: this keeper's cells have '%s'",
			net_mode_names[keeper->base->plan.net]);
	if (!strings_are_same(&task->spec->commands, &keeper->commands))
		return err_set(err, ERR_INVALID, "--commands: this keeper's cells have others");
	cell_free(take_ptr(&keeper->last));
	keeper->last = choose_cell(keeper, task);
	if (!keeper->last)
		return err_set(err, ERR_BROKEN, "a borrowed cell is for one run");
	result->is_warm = keeper->last->page != NULL && (keeper->loan_fd < 0 || keeper->is_warm);
	cell_assign(keeper->last, task, result);
	if (task->outlet.begun)
		task->outlet.begun(task->outlet.context);
	result->runtime = "local";
	int r = run_cell(keeper->last, report ? report : &own, err);
	if (report && keeper->last->page)
		jail_tell_steps(&keeper->last->page->plan, report);
	return r;
}

int keeper_take_build(struct keeper *keeper, int *ret_fd, struct err *err)
{
	if (!keeper->last || keeper->last->workspace.fd < 0)
		return err_set(err, ERR_BROKEN, "no cell of this keeper has built anything");
	return workspace_take_build(&keeper->last->workspace, ret_fd, err);
}
