/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A turn, as the client that has it sees it. The client makes streams and channel, passes the
 * program's ends on with its request, and supervises as it would a cell of its own; but the cell is
 * not its own, and lives on. So what would end a run interrupts the code here, and only code that
 * does not stop then costs the session its process.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/own.h"
#include "keeper/sample.h"
#include "keeper/terms.h"
#include "wire/json.h"

enum { DEATH_WAIT_US = 10 * 1000000, WORDS_DEPTH = 8 };

/* ---- the keeper's words -----------------------------------------------------------------------
 */

static void die(struct turn *turn, const char *why)
{
	turn->end.has_died = turn->is_over = true;
	(void)snprintf(turn->end.why, sizeof(turn->end.why), "%s", why);
}

static void read_back(struct turn *turn, struct json_object *point)
{
	const char *name = json_object_get_string(json_object_object_get(point, "name"));
	turn->end.is_back = point != NULL;
	turn->end.back_id = (uint32_t)json_object_get_int64(json_object_object_get(point, "id"));
	(void)snprintf(turn->end.back_name, sizeof(turn->end.back_name), "%s", name ? name : "");
}

static void read_words(struct turn *turn, const struct loan_message *message)
{
	auto_json struct json_object *json = NULL;
	struct json_object *why = NULL;
	struct err err = { 0 };
	if (json_read(message->text, message->len, LOAN_TEXT_MAX, WORDS_DEPTH, &json, &err) < 0)
		return;
	if (json_object_object_get_ex(json, "died", &why)) {
		die(turn, json_object_get_string(why));
		turn->wait_status =
			json_object_get_int(json_object_object_get(json, "wait_status"));
		turn->is_oom = json_object_get_boolean(json_object_object_get(json, "oom"));
		read_back(turn, json_object_object_get(json, "back"));
	} else if (json_object_object_get_ex(json, "idle", NULL)) {
		turn->is_over = true;
	}
}

void turn_hear(struct cell *cell)
{
	struct loan_message message;
	int r = loan_receive(cell->turn->fd, &message);
	if (r == -EAGAIN)
		return;
	if (r <= 0) {
		die(cell->turn, "the keeper ended");
		return;
	}
	if (message.kind == LOAN_SESSION)
		read_words(cell->turn, &message);
	loan_message_done(&message);
}

/* What does not fit the socket waits: the runner may have words of its own first. */
void turn_say(struct cell *cell)
{
	struct turn *turn = cell->turn;
	const struct buf *frames = turn->frames;
	if (cell->channel_fd < 0 || turn->said == frames->len)
		return;
	ssize_t n = send(cell->channel_fd, frames->data + turn->said, frames->len - turn->said,
		MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		turn->said += (size_t)n;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		turn->said = frames->len; /* it does not listen any more: its end will be told */
}

/* ---- asking -----------------------------------------------------------------------------------
 */

static int ask(struct cell *cell, const struct turn_wish *wish, struct err *err)
{
	int r = loan_send(cell->turn->fd, LOAN_SESSION, 0, wish->ask, strlen(wish->ask),
		cell->delivery, GATE_FD_COUNT);
	cell_let_go(cell);
	return r < 0 ? err_sys(err, -r, "ask for the turn") : 0;
}

static int take_grant(struct cell *cell, const struct turn_wish *wish, struct loan_message *message,
	struct err *err)
{
	const char *words = NULL;
	size_t len = 0;
	if (message->kind == LOAN_REFUSED)
		return loan_refusal(message, err);
	if (message->kind == LOAN_SESSION && wish->unchecked) {
		wish->unchecked(wish->context, message->text, message->len, err);
		return -1;
	}
	if (message->kind != LOAN_GRANTED)
		return err_set(err, ERR_BROKEN, "the keeper's answer makes no sense");
	TRY(terms_take_turn(message, cell, &words, &len, err));
	return wish->granted(wish->context, words, len, err);
}

static int await_grant(struct cell *cell, const struct turn_wish *wish, struct err *err)
{
	for (;;) {
		struct loan_message message;
		struct pollfd fds[] = {
			{ .fd = cell->turn->fd, .events = POLLIN },
			{ .fd = cell->task->interrupt_fd, .events = POLLIN },
		};
		if (poll(fds, COUNT_OF(fds), -1) < 0 && errno != EINTR)
			return err_sys(err, errno, "wait for the turn");
		if (fds[1].revents && task_is_interrupt(cell->task))
			return err_set(
				err, ERR_INTERRUPTED, "interrupted while waiting for the turn");
		if (!fds[0].revents)
			continue;
		int r = loan_receive(cell->turn->fd, &message);
		if (r == -EAGAIN)
			continue;
		if (r <= 0)
			return err_set(err, ERR_BROKEN,
				"the daemon or its keeper ended before the turn began");
		r = take_grant(cell, wish, &message, err);
		loan_message_done(&message);
		return r;
	}
}

/* ---- the turn ---------------------------------------------------------------------------------
 */

static void tell_keeper(const struct cell *cell, const char *verb)
{
	char text[32];
	(void)snprintf(text, sizeof(text), "{\"verb\":\"%s\"}", verb);
	(void)loan_send(cell->turn->fd, LOAN_SESSION, 0, text, strlen(text), NULL, 0);
}

/* What is there already is no affair of this turn. */
static void note_earlier(struct cell *cell)
{
	struct turn *turn = cell->turn;
	turn->earlier = (struct cgroup_usage){ -1, -1, -1, -1, -1 };
	if (cell->has_group) {
		cgroup_read(&cell->group, NULL, &turn->earlier);
		cgroup_reset_peak(&cell->group);
		cell->earlier_cpu_us = turn->earlier.cpu_us;
	} else {
		struct sample sample;
		sample_take(cell->pidfd, -1, INT64_MAX, &sample);
		cell->earlier_cpu_us = sample.cpu_us;
	}
}

/* Interrupts first; code that does not stop for that is killed. Returns when the turn is over. */
static int supervise(struct cell *cell, int64_t grace_ms, struct err *err)
{
	struct turn *turn = cell->turn;
	bool is_killed = false;
	while (!cell->has_ended && !turn->is_over) {
		bool is_late = cell->cause != CAUSE_NONE && clock_us() >= cell->deadline_us;
		if (cell->cause != CAUSE_NONE && !turn->end.was_interrupted) {
			turn->end.was_interrupted = true;
			tell_keeper(cell, "interrupt");
			cell->deadline_us = clock_us() + grace_ms * 1000;
		} else if (is_late && !is_killed) {
			is_killed = true;
			tell_keeper(cell, "kill");
			cell->deadline_us = clock_us() + DEATH_WAIT_US;
		} else if (is_late) {
			die(turn, "it did not end when it was killed");
			break;
		}
		TRY(cell_watch(cell, err));
	}
	if (turn->end.has_died) {
		cell->end = (struct init_message){ .wait_status = turn->wait_status };
		cell->has_ended = true;
	}
	if (cell->ended_us == 0)
		cell->ended_us = clock_us();
	cell->is_done = true;
	cell_drain(cell);
	if (!cell->has_ended)
		result_warn(cell->result, "the runner ended the turn without a word");
	cell->has_ended = true;
	return 0;
}

static int run(struct cell *cell, const struct turn_wish *wish, struct err *err)
{
	struct result *result = cell->result;
	struct report report;
	TRY(cell_make_streams(cell, err));
	turn_say(cell);
	TRY(ask(cell, wish, err));
	TRY(await_grant(cell, wish, err));
	for (int stream = 0; stream < STREAM_COUNT; stream++)
		capture_init(&cell->captures[stream], (size_t)cell->task->spec->max_output);
	if (cell->task->outlet.begun)
		cell->task->outlet.begun(cell->task->outlet.context);
	cell->is_ready = true;
	cell->started_us = clock_us();
	cell->deadline_us = cell->started_us + cell->task->spec->timeout_ms * 1000;
	note_earlier(cell);
	if (cell->task->meanwhile)
		cell->task->meanwhile(cell->task->meanwhile_context);
	cell->chunk = malloc(CELL_CHUNK);
	if (!cell->chunk)
		return err_sys(err, errno, "make room for output");
	TRY(supervise(cell, wish->grace_ms, err));
	result->runtime = "local";
	cell_report(cell, &report);
	cell_describe(cell, &report);
	cell_judge(cell);
	TRY(capture_finish(&cell->captures[STREAM_OUT], &result->out, err));
	return capture_finish(&cell->captures[STREAM_ERR], &result->err, err);
}

int keeper_take_turn(const struct turn_wish *wish, const struct task *task,
	struct turn_end *ret_end, struct result *result, struct err *err)
{
	struct turn turn = { .fd = wish->conn_fd, .frames = wish->frames };
	struct keeper *keeper = keeper_for_loan(MODE_NONE, task->spec);
	struct cell *cell = cell_new(keeper, task->spec, false, FORM_GATE);
	keeper->loan_fd = wish->conn_fd; /* so the cell is not ours to end */
	keeper->last = cell;
	cell->turn = &turn;
	cell_assign(cell, task, result);
	int r = run(cell, wish, err);
	*ret_end = turn.end;
	keeper_close(keeper);
	return r;
}

int keeper_fill_workspace(int workspace_fd, const struct spec *spec, struct err *err)
{
	struct workspace workspace = { 0 };
	TRY(workspace_of_session(workspace_fd, &workspace, err));
	return workspace_copy_in(&workspace, &spec->files, err);
}
