/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch over one running cell: a single poll loop over its output, its input, init's words,
 * the watcher's listener, the memory alarm and the clock. Nothing here trusts the cell; the
 * worst it can do is keep us busy until the deadline.
 */
#include "keeper/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/own.h"
#include "keeper/watch.h"

#ifndef PIDFD_GET_MNT_NAMESPACE /* since 6.11 */
#define PIDFD_GET_MNT_NAMESPACE _IO(0xFF, 3)
#endif

enum {
	RAISE_WAIT_MS = 30000,
	DEATH_WAIT_MS = 10000,
	SAMPLE_EVERY_US = 20000,
	CPU_LOOK_MIN_US = 5000,
	CPU_LOOK_MAX_US = 100000,
	PULSE_FIRST_US = 1000000,
	PULSE_EVERY_US = 250000,
	AWAKE_US = 1000,     /* most that a wait without sleep may take of a processor */
	AWAKE_LOOKS = 32,    /* before we look whether somebody else wants it: 50 µs */
	OUTLET_CHUNK = 4096, /* a pipe that polls writable takes this much without blocking */
	WORD_MAX = 256,      /* of a runner, before it has a job */
	LATE_MAX = 2 << 20,  /* more than the pipes and the channel of a done program can hold */
};

void cell_hear_init(struct cell *cell)
{
	struct init_message message = { 0 };
	int fd = -1;
	size_t fd_count = 1;
	ssize_t n = io_recv(cell->status_fd, &message, sizeof(message), &fd, &fd_count);
	if (n != sizeof(message)) {
		own_close(&cell->status_fd);
		return;
	}
	if (message.kind == INIT_WORKSPACE && fd_count == 1 && cell->workspace.fd < 0)
		cell->workspace.fd = take_fd(&fd);
	else if (message.kind == INIT_ENDED) {
		cell->end = message;
		cell->has_ended = true;
		cell->ended_us = clock_us();
	}
	if (fd_count == 1)
		own_close(&fd);
}

/* Time counts from when nothing is missing but the program. */
static void start_clock(struct cell *cell)
{
	cell->deadline_us = clock_us() + cell->task->spec->timeout_ms * 1000;
}

/* Its payload has said what it had to, and so have we: the rest is the runner's. */
static void use_gate(struct cell *cell)
{
	if (cell->is_gate_channel && cell->is_ready && cell->is_open)
		cell->channel_fd = take_fd(&cell->gate_fd);
}

/* For the lender may have it, too. */
static void hang_up(struct cell *cell)
{
	if (cell->is_gate_channel && cell->channel_fd >= 0)
		(void)shutdown(cell->channel_fd, SHUT_RDWR);
	own_close(&cell->channel_fd);
}

void cell_hear_gate(struct cell *cell)
{
	struct gate_message message = { 0 };
	int fds[GATE_GIFTS_MAX] = { -1, -1 };
	size_t fd_count = COUNT_OF(fds);
	size_t at = 0;
	ssize_t n = io_recv(cell->gate_fd, &message, sizeof(message), fds, &fd_count);
	if (n != sizeof(message)) {
		own_close(&cell->gate_fd); /* the program runs, or the payload is dead */
		return;
	}
	if (message.kind == GATE_READY && !cell->is_ready) {
		cell->is_ready = true;
		if (cell->task)
			start_clock(cell);
		if ((message.has & GATE_HAS_LISTENER) && at < fd_count)
			cell->listener_fd = take_fd(&fds[at++]);
		if ((message.has & GATE_HAS_ACCOUNT) && at < fd_count)
			cell->io_fds[0] = take_fd(&fds[at++]);
	} else if (message.kind == GATE_EXEC_FAILED) {
		cell->exec_errno = message.sys;
	}
	for (; at < fd_count; at++)
		own_close(&fds[at]);
	use_gate(cell);
}

/* The first word of what was started. It has not been given anything to say more. */
static void hear_started(struct cell *cell)
{
	char word[WORD_MAX];
	(void)recv(cell->channel_fd, word, sizeof(word), MSG_DONTWAIT);
	cell->is_waiting = true;
}

/* Descriptors that wait in a socket count against what their user may have under way. */
bool cell_collect(struct cell *cell)
{
	bool awaits_word = cell->is_ready && !cell_stands(cell);
	struct pollfd said[] = {
		{ .fd = cell->workspace.fd < 0 ? cell->status_fd : -1, .events = POLLIN },
		{ .fd = cell->is_ready ? -1 : cell->gate_fd, .events = POLLIN },
		{ .fd = awaits_word ? cell->channel_fd : -1, .events = POLLIN },
	};
	if ((said[0].fd < 0 && said[1].fd < 0 && said[2].fd < 0) ||
		poll(said, COUNT_OF(said), 0) <= 0)
		return false;
	if (said[0].revents)
		cell_hear_init(cell);
	if (said[1].revents)
		cell_hear_gate(cell);
	if (said[2].revents)
		hear_started(cell);
	return true;
}

bool cell_stands(const struct cell *cell)
{
	return cell->is_ready && (cell->walls.form != FORM_STARTED || cell->is_waiting);
}

bool cell_warm(struct cell *cell)
{
	const struct gate_message message = { .kind = GATE_WARM };
	if (cell->walls.form != FORM_GUEST || !cell->is_ahead || !cell->is_ready || cell->is_warm)
		return false;
	cell->is_warm = true;
	return io_send(cell->gate_fd, &message, sizeof(message), NULL, 0) == 0;
}

void cell_open_gauges(struct cell *cell)
{
	if (!cell->has_group)
		return;
	cgroup_open_gauges(&cell->group);
	if (cell->walls.form != FORM_STARTED)
		return; /* its init will tell, or the guest did */
	auto_fd int procs_fd = cgroup_open_procs(&cell->group);
	sample_open_accounts(procs_fd, cell->io_fds);
}

/* What goes into the cell needs the workspace; init sends it long before the gate is reached. */
int cell_await_workspace(struct cell *cell, struct err *err)
{
	while (cell->workspace.fd < 0) {
		struct pollfd status = { .fd = cell->status_fd, .events = POLLIN };
		int n = poll(&status, 1, RAISE_WAIT_MS);
		if (n == 0)
			return err_set(err, ERR_BROKEN, "the cell was not raised in time");
		if (n > 0)
			cell_hear_init(cell);
		if (cell->status_fd < 0)
			return cell_failure(cell, err);
	}
	return 0;
}

static void end_for(struct cell *cell, enum cell_cause cause)
{
	if (cell->cause == CAUSE_NONE && !cell->has_ended)
		cell->cause = cause;
}

/* What waits to be written where this stream goes. Where both go to one place they wait in one
 * line, or their pieces would mix. */
static struct buf *pending_of(struct cell *cell, int stream)
{
	const struct outlet *outlet = &cell->task->outlet;
	bool is_shared = outlet->fds[STREAM_OUT] == outlet->fds[STREAM_ERR];
	return &cell->pending[is_shared ? STREAM_OUT : stream];
}

static void read_stream(struct cell *cell, int stream)
{
	const struct outlet *outlet = &cell->task->outlet;
	ssize_t n = read(cell->out_fds[stream], cell->chunk, CELL_CHUNK);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		own_close(&cell->out_fds[stream]);
		return;
	}
	capture_add(&cell->captures[stream], cell->chunk, (size_t)n);
	if (outlet->fds[stream] >= 0 && outlet->render)
		outlet->render(
			outlet->context, stream, cell->chunk, (size_t)n, pending_of(cell, stream));
	if (cell->captures[stream].total > cell->task->spec->output_limit)
		end_for(cell, CAUSE_OUTPUT);
}

static void write_outlet(struct cell *cell, int stream)
{
	struct buf *pending = pending_of(cell, stream);
	size_t len = pending->len < OUTLET_CHUNK ? pending->len : OUTLET_CHUNK;
	ssize_t n = write(cell->task->outlet.fds[stream], pending->data, len);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0) {
		/* whoever listened is gone, as when `| head` has enough */
		pending->len = 0;
		end_for(cell, CAUSE_INTERRUPT);
		return;
	}
	memmove(pending->data, pending->data + n, pending->len - (size_t)n);
	pending->len -= (size_t)n;
}

/* The program has ended; its process is still on its way out, and nobody need wait for that. */
static void end_at_word(struct cell *cell, int exit_code)
{
	if (cell->has_ended)
		return;
	cell->end =
		(struct init_message){ .kind = INIT_ENDED, .wait_status = (exit_code & 0xff) << 8 };
	cell->has_ended = cell->is_done = true;
	cell->ended_us = clock_us();
}

/* Hears one message at most: what it becomes must reach the outlet before the next. */
static void hear_message(struct cell *cell)
{
	const struct ear *ear = &cell->task->ear;
	const char *data = NULL;
	size_t len = 0;
	struct heard heard = { 0 };
	int r = frames_next(&cell->frames, &data, &len);
	if (r == 1)
		heard = ear->hear(ear->context, data, len, &cell->pending[STREAM_OUT]);
	if (heard.is_nonsense)
		r = -EBADMSG;
	/* only one that stood ready says it for certain: any other program could */
	if (heard.is_done && (cell->walls.form != FORM_GATE || cell->turn))
		end_at_word(cell, heard.exit_code);
	if (heard.is_done && heard.is_interrupted && cell->cause == CAUSE_NONE)
		cell->cause = CAUSE_INTERRUPT;
	cell->deadline_us += heard.waited_us;
	if (r < 0) {
		result_warn(cell->result, "the runner said something that is no message");
		hang_up(cell);
		frames_done(&cell->frames);
	}
	cell->has_message = r == 1;
}

/* Whether something came. */
static bool read_channel(struct cell *cell)
{
	size_t room = frames_room(&cell->frames);
	if (cell->channel_fd < 0)
		return false;
	ssize_t n = recv(
		cell->channel_fd, cell->chunk, room < CELL_CHUNK ? room : CELL_CHUNK, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		own_close(&cell->channel_fd);
		return false;
	}
	(void)frames_push(&cell->frames, cell->chunk, (size_t)n);
	cell->has_message = true;
	return true;
}

/* Everything the runner said that is whole, as far as the outlet takes it. */
static void hear_messages(struct cell *cell)
{
	while (cell->has_message && cell->pending[STREAM_OUT].len == 0)
		hear_message(cell);
}

static void read_stdin(struct cell *cell)
{
	ssize_t n = read(cell->stdin_source_fd, cell->stdin_chunk, STDIN_CHUNK);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		own_close(&cell->stdin_source_fd);
		own_close(&cell->stdin_fd);
		return;
	}
	cell->stdin_at = 0;
	cell->stdin_len = (size_t)n;
}

static void write_stdin(struct cell *cell)
{
	ssize_t n = write(cell->stdin_fd, cell->stdin_chunk + cell->stdin_at,
		cell->stdin_len - cell->stdin_at);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) { /* the program closed its end: its right */
		own_close(&cell->stdin_source_fd);
		own_close(&cell->stdin_fd);
		return;
	}
	cell->stdin_at += (size_t)n;
	if (cell->stdin_at == cell->stdin_len)
		cell->stdin_at = cell->stdin_len = 0;
}

static void answer_watched(struct cell *cell)
{
	int n = watch_answer(cell->listener_fd, cell->result);
	cell->denied_calls += n > 0 ? n : 0;
	/* a session's keeper listens on, so calls that we leave unanswered would wait for it */
	if (n < 0 || (cell->denied_calls >= LIMIT_DENIED_CALLS && !cell->turn))
		own_close(&cell->listener_fd);
}

/* What to wait for, and whom to call then. A descriptor of -1 is passed over by poll. */
enum wait_slot {
	WAIT_STATUS = 0,
	WAIT_GATE,
	WAIT_LISTENER,
	WAIT_OOM,
	WAIT_INTERRUPT,
	WAIT_OUT,
	WAIT_ERR,
	WAIT_OUTLET_OUT,
	WAIT_OUTLET_ERR,
	WAIT_STDIN_SOURCE,
	WAIT_STDIN,
	WAIT_CHANNEL,
	WAIT_SAY,  /* of a turn: to the runner */
	WAIT_TURN, /* and the keeper's word */
	WAIT_SLOT_COUNT,
};

static void prepare_wait(struct cell *cell, struct pollfd *fds)
{
	const struct outlet *outlet = &cell->task->outlet;
	for (int i = 0; i < WAIT_SLOT_COUNT; i++)
		fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	/* the payload's word comes first; hearing init only then, and the gate no more, spares us
	 * being woken for nothing */
	if (cell->is_ready)
		fds[WAIT_STATUS].fd = cell->status_fd;
	else
		fds[WAIT_GATE].fd = cell->gate_fd;
	fds[WAIT_LISTENER].fd = cell->listener_fd;
	fds[WAIT_OOM].fd = cell->has_group ? cell->group.oom_fd : -1;
	/* what ended already cannot be interrupted again, though it may take its time */
	fds[WAIT_INTERRUPT].fd = cell->cause == CAUSE_NONE ? cell->task->interrupt_fd : -1;
	for (int stream = 0; stream < STREAM_COUNT; stream++) {
		bool is_behind = pending_of(cell, stream)->len > 0;
		bool has_pending = cell->pending[stream].len > 0;
		fds[WAIT_OUT + stream].fd = is_behind ? -1 : cell->out_fds[stream];
		fds[WAIT_OUTLET_OUT + stream].fd = has_pending ? outlet->fds[stream] : -1;
		fds[WAIT_OUTLET_OUT + stream].events = POLLOUT;
	}
	/* one who does not listen is not talked to: what a cell says waits in the socket */
	bool is_deaf = cell->pending[STREAM_OUT].len > 0;
	fds[WAIT_CHANNEL].fd = is_deaf ? -1 : cell->channel_fd;
	bool has_input = cell->stdin_len > cell->stdin_at;
	fds[WAIT_STDIN_SOURCE].fd = has_input ? -1 : cell->stdin_source_fd;
	fds[WAIT_STDIN].fd = has_input ? cell->stdin_fd : -1;
	fds[WAIT_STDIN].events = POLLOUT;
	if (!cell->turn)
		return;
	fds[WAIT_TURN].fd = cell->turn->fd;
	bool has_words = cell->turn->said < cell->turn->frames->len;
	fds[WAIT_SAY].fd = has_words ? cell->channel_fd : -1;
	fds[WAIT_SAY].events = POLLOUT;
}

static void serve(struct cell *cell, const struct pollfd *fds)
{
	if (fds[WAIT_OOM].revents)
		end_for(cell, CAUSE_MEMORY);
	if (fds[WAIT_INTERRUPT].revents && task_is_interrupt(cell->task))
		end_for(cell, CAUSE_INTERRUPT);
	if (fds[WAIT_LISTENER].revents)
		answer_watched(cell);
	if (fds[WAIT_GATE].revents)
		cell_hear_gate(cell);
	for (int stream = 0; stream < STREAM_COUNT; stream++) {
		if (fds[WAIT_OUT + stream].revents && pending_of(cell, stream)->len == 0)
			read_stream(cell, stream);
		if (fds[WAIT_OUTLET_OUT + stream].revents)
			write_outlet(cell, stream);
	}
	/* after the streams: a runner flushes them before it speaks */
	if (fds[WAIT_CHANNEL].revents)
		(void)read_channel(cell);
	hear_messages(cell);
	if (fds[WAIT_SAY].revents)
		turn_say(cell);
	if (fds[WAIT_TURN].revents)
		turn_hear(cell);
	if (fds[WAIT_STDIN_SOURCE].revents)
		read_stdin(cell);
	if (fds[WAIT_STDIN].revents)
		write_stdin(cell);
	if (fds[WAIT_STATUS].revents)
		cell_hear_init(cell);
}

static void look_around(struct cell *cell)
{
	struct sample sample;
	int64_t now_us = clock_us();
	if (cell->turn && now_us < cell->turn->next_sample_us)
		return; /* a turn may be over before that */
	if (cell->turn)
		cell->turn->next_sample_us = now_us + SAMPLE_EVERY_US;
	sample_take(cell->pidfd, cell->workspace.fd, cell->task->spec->memory, &sample);
	cell->sampled_cpu_us = sample.cpu_us;
	if (sample.memory > cell->sampled_memory)
		cell->sampled_memory = sample.memory;
	if (sample.processes > cell->sampled_processes)
		cell->sampled_processes = sample.processes;
	if (sample.memory > cell->task->spec->memory)
		end_for(cell, CAUSE_MEMORY);
}

/* Tells who waits how the run is doing. Returns how long poll may wait until the next time. */
static int64_t tell_pulse(struct cell *cell)
{
	const struct outlet *outlet = &cell->task->outlet;
	int64_t now_us = clock_us();
	if (cell->next_pulse_us == 0)
		cell->next_pulse_us = now_us + PULSE_FIRST_US;
	if (now_us < cell->next_pulse_us)
		return cell->next_pulse_us - now_us;
	cell->next_pulse_us = now_us + PULSE_EVERY_US;
	if (cell->pending[STREAM_OUT].len > 0 || cell->pending[STREAM_ERR].len > 0)
		return PULSE_EVERY_US;
	const struct pulse pulse = {
		.elapsed_us = now_us - (cell->deadline_us - cell->task->spec->timeout_ms * 1000),
		.timeout_ms = cell->task->spec->timeout_ms,
		.memory = cell->has_group ? cgroup_memory(&cell->group) : cell->sampled_memory,
		.output_bytes = cell->captures[STREAM_OUT].total + cell->captures[STREAM_ERR].total,
	};
	outlet->tick(outlet->context, &pulse);
	return PULSE_EVERY_US;
}

/* Looks at the clock, the CPU used and, without a cgroup, the memory. Returns how long poll may
 * wait until the next look. */
static int64_t check_limits(struct cell *cell)
{
	const struct spec *spec = cell->task->spec;
	int64_t left_us = cell->deadline_us - clock_us();
	if (left_us <= 0) {
		end_for(cell, CAUSE_TIMEOUT);
		return 0;
	}
	if (!cell->is_ready)
		return left_us;
	if (!cell->has_group) {
		look_around(cell);
		left_us = left_us < SAMPLE_EVERY_US ? left_us : SAMPLE_EVERY_US;
	}
	if (spec->cpu_time_ms > 0) {
		int64_t used = cell->has_group ? cgroup_cpu_us(&cell->group) : cell->sampled_cpu_us;
		int64_t cpu_left = spec->cpu_time_ms * 1000 - (used - cell->earlier_cpu_us);
		if (cpu_left <= 0)
			end_for(cell, CAUSE_CPU);
		/* many processors burn it faster than the clock goes */
		int64_t look = cpu_left / sysconf(_SC_NPROCESSORS_ONLN);
		look = look < CPU_LOOK_MIN_US ? CPU_LOOK_MIN_US : look;
		look = look > CPU_LOOK_MAX_US ? CPU_LOOK_MAX_US : look;
		left_us = left_us < look ? left_us : look;
	}
	if (cell->task->outlet.tick) {
		int64_t look = tell_pulse(cell);
		left_us = left_us < look ? left_us : look;
	}
	return left_us;
}

/* The last process of a cell takes the mounts down before anyone hears of its death, unless
 * somebody still holds them. */
void cell_hold_mounts(struct cell *cell)
{
	cell->mounts_fd = ioctl(cell->pidfd, PIDFD_GET_MNT_NAMESPACE, 0);
}

void cell_strike(struct cell *cell)
{
	if (cell->pidfd >= 0 && !cell->is_dead)
		(void)syscall(SYS_pidfd_send_signal, cell->pidfd, SIGKILL, NULL, 0);
}

/* The kernel says so of an init only when everybody else of its pid namespace is gone, with all
 * they had open. */
static void await_death(struct cell *cell, int most_ms)
{
	struct pollfd death = { .fd = cell->pidfd, .events = POLLIN };
	int r = 0;
	while ((r = poll(&death, 1, most_ms)) < 0 && errno == EINTR)
		;
	cell->is_dead = r > 0;
}

bool cell_is_dead(struct cell *cell)
{
	if (cell->pidfd >= 0 && !cell->is_dead)
		await_death(cell, 0);
	return cell->is_dead;
}

void cell_kill(struct cell *cell)
{
	if (cell->pidfd < 0 || cell_is_dead(cell))
		return;
	cell_strike(cell);
	await_death(cell, DEATH_WAIT_MS);
}

/* Waits for a slow reader, unless we are told to stop. */
static void flush(struct cell *cell, int stream)
{
	while (pending_of(cell, stream)->len > 0) {
		struct pollfd fds[] = {
			{ .fd = cell->task->outlet.fds[stream], .events = POLLOUT },
			{ .fd = cell->task->interrupt_fd, .events = POLLIN },
		};
		if (poll(fds, COUNT_OF(fds), -1) < 0 && errno != EINTR)
			return;
		if (fds[0].revents)
			write_outlet(cell, stream);
		else if (fds[1].revents && task_is_interrupt(cell->task))
			pending_of(cell, stream)->len = 0;
	}
}

/* Who said that it is done and goes on all the same would keep us here for ever. */
static void count_late(struct cell *cell, int64_t bytes, int64_t *left)
{
	if (!cell->is_done || *left <= 0)
		return;
	*left -= bytes;
	if (*left > 0)
		return;
	if (!cell->turn)
		cell_kill(cell);
	/* a session lives on, with whatever goes on in it; this turn has heard enough */
	own_close(&cell->out_fds[STREAM_OUT]);
	own_close(&cell->out_fds[STREAM_ERR]);
	hang_up(cell);
}

/* All writers are dead, or have said that they are done: what is left in the pipes is all there
 * will ever be. */
void cell_drain(struct cell *cell)
{
	int64_t late = LATE_MAX;
	for (int stream = 0; stream < STREAM_COUNT; stream++) {
		int64_t last = -1;
		while (cell->out_fds[stream] >= 0 && cell->captures[stream].total != last) {
			last = cell->captures[stream].total;
			flush(cell, stream);
			read_stream(cell, stream);
			count_late(cell, cell->captures[stream].total - last, &late);
		}
		flush(cell, stream);
	}
	do {
		hear_messages(cell);
		flush(cell, STREAM_OUT);
		count_late(cell, CELL_CHUNK, &late);
	} while (cell->has_message || read_channel(cell));
	if (cell->is_done)
		return; /* by its own word, and nobody else's counts any more */
	/* init and payload may have spoken in the moment we killed them */
	struct pollfd said = { .fd = cell->status_fd, .events = POLLIN };
	while (cell->status_fd >= 0 && poll(&said, 1, 0) == 1)
		cell_hear_init(cell);
	said.fd = cell->gate_fd;
	while (cell->gate_fd >= 0 && poll(&said, 1, 0) == 1)
		cell_hear_gate(cell);
}

int cell_open_gate(struct cell *cell, struct err *err)
{
	size_t fd_count = cell->handed_count > 0 ? 0 : cell_delivery_count(cell);
	uint32_t has = fd_count > 0 && cell->is_gate_channel ? GATE_IS_CHANNEL : 0;
	int r = job_send(cell->gate_fd, &cell->job, has, cell->delivery, fd_count);
	cell_let_go(cell);
	if (r == -EPIPE || r == -ECONNRESET)
		return cell_failure(cell, err);
	if (r < 0)
		return err_sys(err, -r, "open the gate");
	cell->is_open = true;
	use_gate(cell);
	return 0;
}

/* Init and payload are all there is; the payload may have threads. */
static bool is_pair(const struct cell *cell)
{
	auto_fd int own_fd = cell->procs_fd < 0 ? cgroup_open_procs(&cell->group) : -1;
	return sample_is_pair(cell->procs_fd < 0 ? own_fd : cell->procs_fd);
}

/* Whether those that are open tell all there is. A guest's own does if there was never anybody else
 * but init, which has nothing to read or write. */
static bool has_accounts(const struct cell *cell)
{
	bool is_guest = cell->walls.form == FORM_GUEST;
	if (!cell->has_group || cell->io_fds[0] < 0 || (!is_guest && cell->io_fds[1] < 0))
		return false;
	return cgroup_pids_peak(&cell->group) == cell_inits(cell) + 1 ||
	       (!is_guest && is_pair(cell));
}

/* Who is gone has left its account to who reaped it. */
static void count_io(struct cell *cell)
{
	struct init_message *end = &cell->end;
	if (has_accounts(cell) &&
		sample_accounts(cell->io_fds, &end->read_bytes, &end->write_bytes))
		return;
	auto_fd int procs_fd = cell->has_group ? cgroup_open_procs(&cell->group) : -1;
	sample_io(cell->pidfd, procs_fd, &end->read_bytes, &end->write_bytes);
}

/* Init will not tell what the cell used: it is not waited for. Whoever lent the cell, or buries it,
 * ends it once the answer is out: a process that ends has its memory to take down, a millisecond
 * that it would take from us on our own processor. Only one whose files are wanted must be still
 * while they are read. */
static void leave_done(struct cell *cell)
{
	if (!cell->has_group)
		look_around(cell);
	count_io(cell);
	if (cell->task->spec->outs.count > 0)
		cell_kill(cell);
}

/* Nobody is in the group but init: there was never anybody but the payload, or whoever there was is
 * gone. A process that is not yet reaped counts. */
static bool is_init_alone(const struct cell *cell)
{
	int64_t inits = cell_inits(cell);
	if (cgroup_pids_peak(&cell->group) == inits + 1)
		return true;
	int64_t count = cgroup_pids(&cell->group);
	return count >= 0 && count <= inits;
}

/* Whether init has buried the payload and nobody else is left: init itself, on its way out with
 * its namespaces, has nothing to say any more. It takes a fifth of a millisecond. */
static bool is_over(const struct cell *cell)
{
	return cell->has_ended && cell->cause == CAUSE_NONE && cell->has_group &&
	       is_init_alone(cell);
}

/* Whether our processor is ours alone. A payload that ends and the init that buries it are there
 * at once for a moment: only who is there at two looks counts. */
static bool has_processor(struct cell *cell)
{
	bool was_crowded = cell->is_crowded;
	cell->is_crowded = load_spare(&cell->task->ahead->load) < 0;
	return !cell->is_crowded || !was_crowded;
}

/* Sleeping and waking up again takes as long as a tenth of a short run: who has short ones, and a
 * processor that nobody else wants, looks instead. True: something came. */
static bool wait_awake(struct cell *cell, struct pollfd *fds)
{
	const struct timespec no_time = { 0 };
	int n = 0;
	while (n == 0 && clock_us() < cell->awake_us && has_processor(cell))
		for (int i = 0; i < AWAKE_LOOKS && n == 0; i++) {
			/* the payload may stand in line behind us, while another processor idles */
			(void)sched_yield();
			n = ppoll(fds, WAIT_SLOT_COUNT, &no_time, NULL);
		}
	return n > 0;
}

int cell_watch(struct cell *cell, struct err *err)
{
	struct pollfd fds[WAIT_SLOT_COUNT];
	int64_t wait_us = check_limits(cell);
	struct timespec wait = { .tv_sec = wait_us / 1000000, .tv_nsec = wait_us % 1000000 * 1000 };
	prepare_wait(cell, fds);
	if (!(cell->awake_us > 0 && wait_us > AWAKE_US && wait_awake(cell, fds)) &&
		ppoll(fds, WAIT_SLOT_COUNT, &wait, NULL) < 0 && errno != EINTR)
		return err_sys(err, errno, "watch the cell");
	serve(cell, fds);
	return 0;
}

/* What will be read when the program has ended is found faster by who has read it a moment ago. */
static void try_gauges(struct cell *cell)
{
	const struct cgroup_limits limits = { .memory = cell->walls.memory,
		.pids = cell->walls.pids };
	struct cgroup_usage usage;
	int64_t bytes[2];
	cgroup_read(&cell->group, &limits, &usage);
	(void)sample_accounts(cell->io_fds, &bytes[0], &bytes[1]);
}

static int watch_until_end(struct cell *cell, struct err *err)
{
	struct ahead *ahead = cell->task->ahead;
	int64_t brisk_us = clock_us() + AWAKE_US;
	cell->awake_us = ahead && ahead->is_brisk && ahead->load.fd >= 0 ? brisk_us : 0;
	if (cell->awake_us > 0 && cell->is_ready && cell->has_group)
		try_gauges(cell);
	while (!cell->has_ended && cell->cause == CAUSE_NONE && cell->status_fd >= 0 &&
		(cell->is_ready || cell->gate_fd >= 0))
		TRY(cell_watch(cell, err));
	if (ahead)
		ahead->is_brisk = cell->has_ended && cell->ended_us < brisk_us;
	return 0;
}

int cell_supervise(struct cell *cell, struct err *err)
{
	cell->deadline_us = clock_us() + RAISE_WAIT_MS * 1000;
	if (cell->is_ready)
		start_clock(cell);
	/* before the gate is open: who is behind it may be done before we are here again */
	if (cell->is_ready && cell->has_group)
		cell->earlier_cpu_us = cgroup_cpu_us(&cell->group);
	TRY(cell->walls.form == FORM_STARTED ? cell_send_job(cell, err)
					     : cell_open_gate(cell, err));
	if (cell->keeper->is_resident)
		cell_hold_mounts(cell);
	/* a cell that was lent ready is told of by its own page, whole since then */
	if (cell->is_ready && cell->keeper->loan_fd >= 0)
		cell_describe(cell, &cell->page->report);
	if (cell->task->meanwhile)
		cell->task->meanwhile(cell->task->meanwhile_context);
	cell->chunk = malloc(CELL_CHUNK);
	if (!cell->chunk)
		return err_sys(err, errno, "make room for output");
	TRY(watch_until_end(cell, err));
	if (cell->is_done)
		leave_done(cell);
	else if (!is_over(cell))
		cell_kill(cell);
	if (cell->ended_us == 0)
		cell->ended_us = clock_us();
	cell_drain(cell);
	if (cell->started_us == 0)
		cell->started_us = cell->page->report.started_us;
	/* a payload that ended at its gate ran nothing */
	bool has_run = cell->is_ready &&
		       (cell->started_us != 0 || cell->exec_errno != 0 || cell->keeper->is_probe);
	if (!has_run && cell->cause == CAUSE_NONE)
		return cell_failure(cell, err);
	if (!cell->is_ready && cell->cause != CAUSE_INTERRUPT)
		return cell_failure(cell, err);
	return 0;
}
