/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/own.h"
#include "relay/talk.h"
#include "wire/json.h"

enum { PART_BYTES = 64 << 10, FDS_MAX = 16, AGAIN_MS = 2, INSIST_MS = 20, INSIST_MAX = 50 };

void relay_break(struct relay *relay, const char *fmt, ...)
{
	va_list ap;
	if (relay->is_over)
		return;
	relay->is_over = true;
	va_start(ap, fmt);
	(void)vsnprintf(relay->why, sizeof(relay->why), fmt, ap);
	va_end(ap);
}

/* ---- what the child writes --------------------------------------------------------------------
 */

static int64_t waiting_bytes(int fd)
{
	int count = 0;
	return fd >= 0 && ioctl(fd, FIONREAD, &count) == 0 ? count : 0;
}

void relay_owe(struct relay *relay)
{
	for (size_t i = 0; i < COUNT_OF(relay->flows); i++) {
		struct flow *flow = &relay->flows[i];
		flow->owed = waiting_bytes(flow->from);
		flow->is_owed = true;
	}
}

static bool flow_is_owing(const struct flow *flow)
{
	return flow->is_owed && flow->owed > 0 && flow->from >= 0;
}

bool relay_is_owing(const struct relay *relay)
{
	return flow_is_owing(&relay->flows[0]) || flow_is_owing(&relay->flows[1]);
}

static void flow_moved(struct flow *flow, ssize_t n)
{
	flow->is_full = false;
	if (n == 0)
		own_close(&flow->from);
	else if (flow->is_owed)
		flow->owed -= n;
}

static void flow_drop(struct flow *flow)
{
	char part[4096];
	size_t len = sizeof(part);
	if (flow->is_owed && flow->owed < (int64_t)len)
		len = (size_t)flow->owed;
	ssize_t n = len > 0 ? read(flow->from, part, len) : -1;
	if (n >= 0)
		flow_moved(flow, n);
}

/* One step; whoever reads slowly makes the child wait. */
static void flow_move(struct flow *flow)
{
	size_t len = PART_BYTES;
	if (flow->is_owed && flow->owed <= 0)
		return;
	if (flow->to < 0) {
		flow_drop(flow);
		return;
	}
	if (flow->is_owed && flow->owed < (int64_t)len)
		len = (size_t)flow->owed;
	ssize_t n = splice(flow->from, NULL, flow->to, NULL, len, SPLICE_F_NONBLOCK);
	if (n >= 0)
		flow_moved(flow, n);
	else if (errno == EAGAIN)
		flow->is_full = waiting_bytes(flow->from) > 0;
	else if (errno != EINTR)
		own_close(&flow->to); /* nobody reads any more */
}

static void flow_watch(const struct flow *flow, struct pollfd *ready)
{
	*ready = (struct pollfd){ .fd = -1 };
	if (flow->is_owed && flow->owed <= 0)
		return;
	if (flow->is_full && flow->to >= 0)
		*ready = (struct pollfd){ .fd = flow->to, .events = POLLOUT };
	else
		*ready = (struct pollfd){ .fd = flow->from, .events = POLLIN };
}

/* ---- what the child may read ------------------------------------------------------------------
 */

static void in_done(struct turn *turn)
{
	own_close(&turn->in);
	own_close(&turn->in_write);
	turn->in_at = turn->in_len = 0;
}

static void in_watch(const struct turn *turn, struct pollfd *ready)
{
	*ready = (struct pollfd){ .fd = -1 };
	if (turn->in_len > 0)
		*ready = (struct pollfd){ .fd = turn->in_write, .events = POLLOUT };
	else
		*ready = (struct pollfd){ .fd = turn->in, .events = POLLIN };
}

static void in_move(struct turn *turn)
{
	ssize_t n;
	if (turn->in_len == 0) {
		n = read(turn->in, turn->in_data, PART_BYTES);
		if (n <= 0 && !(n < 0 && (errno == EINTR || errno == EAGAIN)))
			in_done(turn); /* which the child sees as the end of its input */
		turn->in_len = n > 0 ? (size_t)n : 0;
		turn->in_at = 0;
	}
	if (turn->in_len == 0)
		return;
	n = write(turn->in_write, turn->in_data + turn->in_at, turn->in_len);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		in_done(turn);
	if (n > 0) {
		turn->in_at += (size_t)n;
		turn->in_len -= (size_t)n;
	}
}

/* ---- the channel ------------------------------------------------------------------------------
 */

void relay_answer_text(struct relay *relay, const char *text, size_t len)
{
	struct turn *turn = &relay->turn;
	const unsigned char head[4] = { (unsigned char)(len >> 24), (unsigned char)(len >> 16),
		(unsigned char)(len >> 8), (unsigned char)len };
	if (turn->channel < 0 || len > RELAY_FRAME_MAX)
		return;
	if (buf_append(&turn->answers, head, sizeof(head)) < 0 ||
		buf_append(&turn->answers, text, len) < 0)
		own_close(&turn->channel);
}

void relay_answer(struct relay *relay, struct json_object *json)
{
	auto_json struct json_object *taken = json;
	auto_free char *text = json_print(taken, false);
	relay_answer_text(relay, text, strlen(text));
}

void relay_answer_done(struct relay *relay, int code)
{
	struct json_object *done = json_object_new_object();
	json_put(done, "event", json_new_string("done"));
	json_put(done, "exit_code", json_object_new_int(code));
	if (relay->executions > 0)
		json_put(done, "execution_count", json_object_new_int64(relay->executions));
	json_put(done, "interrupted",
		json_object_new_boolean(relay->turn.is_interrupted && code != 0));
	relay_answer(relay, done);
}

static void send_answers(struct turn *turn)
{
	struct buf *answers = &turn->answers;
	if (answers->len == 0)
		return;
	ssize_t n = turn->channel < 0 ? (ssize_t)answers->len
				      : send(turn->channel, answers->data, answers->len,
						MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		own_close(&turn->channel);
		n = (ssize_t)answers->len;
	}
	answers->len -= (size_t)n;
	memmove(answers->data, answers->data + n, answers->len);
}

static void hear_client(struct relay *relay)
{
	struct turn *turn = &relay->turn;
	char part[PART_BYTES / 4];
	const char *data;
	size_t len;
	int r = 0;
	ssize_t n = recv(turn->channel, part, sizeof(part), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || frames_push(&turn->requests, part, (size_t)n) < 0) {
		turn->is_deaf = true;
		return;
	}
	while (turn->is_on && !turn->is_ending &&
		(r = frames_next(&turn->requests, &data, &len)) > 0)
		relay->talk->take(relay, data, len);
	turn->is_deaf |= r < 0;
}

/* ---- turns ------------------------------------------------------------------------------------
 */

static bool open_input(struct turn *turn)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	turn->in_read = ends[0];
	turn->in_write = ends[1];
	(void)fcntl(turn->in_write, F_SETFL, O_NONBLOCK);
	return true;
}

static void begin_turn(struct relay *relay, struct order *order)
{
	struct turn *turn = &relay->turn;
	*turn = (struct turn){
		.is_on = true, .number = order->number, .in_read = -1, .in_write = -1
	};
	turn->in = take_fd(&order->fds[TURN_IN]);
	turn->channel = take_fd(&order->fds[TURN_CHANNEL]);
	turn->in_data = xcalloc(1, PART_BYTES);
	frames_init(&turn->requests, RELAY_FRAME_MAX);
	buf_init(&turn->answers, 2 * (RELAY_FRAME_MAX + 4));
	for (size_t i = 0; i < COUNT_OF(relay->flows); i++) {
		struct flow *flow = &relay->flows[i];
		flow->to = take_fd(&order->fds[TURN_OUT + i]);
		flow->is_full = flow->is_owed = false;
	}
	if (!open_input(turn))
		relay_break(relay, "cannot make a pipe: %s", strerror(errno));
	else
		relay->talk->begin(relay);
}

void relay_end_turn(struct relay *relay)
{
	relay_owe(relay);
	relay->turn.is_ending = true;
}

static void finish_turn(struct relay *relay)
{
	struct turn *turn = &relay->turn;
	turn->is_on = false;
	in_done(turn);
	own_close(&turn->in_read);
	own_close(&turn->channel);
	free(turn->in_data);
	frames_done(&turn->requests);
	buf_done(&turn->answers);
	for (size_t i = 0; i < COUNT_OF(relay->flows); i++)
		own_close(&relay->flows[i].to);
	if (turn->number > 0)
		order_answer(relay->line_fd, "idle", turn->number);
	else if (!relay->is_over)
		order_say_ready(relay->line_fd);
}

/* False when there is nobody left to serve. */
static bool obey(struct relay *relay)
{
	char why[128];
	struct order order;
	if (order_receive(relay->line_fd, &order) == 0)
		return false;
	bool is_bye = order.kind == ORDER_BYE;
	switch (order.kind) {
	case ORDER_TURN:
		if (relay->turn.is_on)
			order_refuse(relay->line_fd, order.number, "a turn is on");
		else
			begin_turn(relay, &order);
		break;
	case ORDER_FORK:
	case ORDER_POINT:
	case ORDER_ROLLBACK:
		(void)snprintf(
			why, sizeof(why), "process state of %s cannot be copied", relay->program);
		order_refuse(relay->line_fd, order.number, why);
		break;
	default:
		break;
	}
	order_done(&order);
	return !is_bye;
}

/* ---- interrupts and death -----------------------------------------------------------------------
 */

/* Between turns nothing listens, as at a prompt. */
static void hear_signal(struct relay *relay)
{
	struct signalfd_siginfo info;
	while (read(relay->signal_fd, &info, sizeof(info)) > 0)
		relay->turn.wants_interrupt |= relay->turn.is_on && relay->turn.number > 0;
}

static void interrupt(struct relay *relay)
{
	struct turn *turn = &relay->turn;
	if (!turn->is_on || !turn->wants_interrupt || turn->is_ending || !relay->talk->ready(relay))
		return;
	turn->wants_interrupt = false;
	turn->is_interrupted = true;
	relay->talk->interrupt(relay);
}

static bool is_insisting(const struct relay *relay)
{
	const struct turn *turn = &relay->turn;
	return turn->is_on && turn->is_interrupted && !turn->is_ending && relay->talk->insist &&
	       turn->insisted < INSIST_MAX;
}

static int patience_ms(const struct relay *relay)
{
	if (relay->turn.is_on && relay->turn.wants_interrupt)
		return AGAIN_MS;
	return is_insisting(relay) ? INSIST_MS : -1;
}

static int exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void tell_death(struct relay *relay, int code)
{
	struct json_object *error = json_object_new_object();
	json_put(error, "event", json_new_string("error"));
	json_put(error, "kind", json_new_string("runtime"));
	json_put(error, "name", json_new_string("SessionEnded"));
	json_put(error, "value", json_new_string(relay->why));
	relay_answer(relay, error);
	relay_answer_done(relay, code);
	relay_end_turn(relay);
}

static void bury_child(struct relay *relay)
{
	int status = 0;
	char how[64];
	while (waitpid(relay->pid, &status, 0) < 0 && errno == EINTR)
		;
	own_close(&relay->pid_fd);
	bool is_signal = WIFSIGNALED(status);
	const char *more = relay->talk->explain(relay, is_signal);
	if (is_signal)
		(void)snprintf(how, sizeof(how), "was ended by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		(void)snprintf(how, sizeof(how), "ended with status %d", WEXITSTATUS(status));
	relay_break(relay, "%s %s%s%s", relay->program, how, more ? ": " : "", more ? more : "");
	if (relay->turn.is_on && !relay->turn.is_ending)
		tell_death(relay, exit_code(status));
}

/* ---- the loop ---------------------------------------------------------------------------------
 */

enum {
	SLOT_LINE = 0,
	SLOT_SIGNAL,
	SLOT_CHILD,
	SLOT_OUT,
	SLOT_ERR,
	SLOT_IN,
	SLOT_CHANNEL,
	SLOT_TALK
};

static size_t watch_all(struct relay *relay, struct pollfd *fds)
{
	struct turn *turn = &relay->turn;
	fds[SLOT_LINE] = (struct pollfd){ .fd = relay->line_fd, .events = POLLIN };
	fds[SLOT_SIGNAL] = (struct pollfd){ .fd = relay->signal_fd, .events = POLLIN };
	fds[SLOT_CHILD] = (struct pollfd){ .fd = relay->pid_fd, .events = POLLIN };
	for (int i = SLOT_OUT; i < SLOT_TALK; i++)
		fds[i] = (struct pollfd){ .fd = -1 };
	if (!turn->is_on)
		return SLOT_TALK;
	flow_watch(&relay->flows[0], &fds[SLOT_OUT]);
	flow_watch(&relay->flows[1], &fds[SLOT_ERR]);
	in_watch(turn, &fds[SLOT_IN]);
	if (turn->channel >= 0) {
		int wanted = (turn->answers.len > 0 ? POLLOUT : 0) |
			     (turn->is_deaf || turn->is_ending ? 0 : POLLIN);
		if (wanted)
			fds[SLOT_CHANNEL] =
				(struct pollfd){ .fd = turn->channel, .events = (short)wanted };
	}
	return SLOT_TALK +
	       (turn->is_ending || relay->is_over ? 0 : relay->talk->watch(relay, &fds[SLOT_TALK]));
}

static void wake_turn(struct relay *relay, const struct pollfd *fds, size_t count)
{
	struct turn *turn = &relay->turn;
	for (size_t i = 0; i < COUNT_OF(relay->flows); i++)
		if (fds[SLOT_OUT + i].revents)
			flow_move(&relay->flows[i]);
	if (fds[SLOT_IN].revents)
		in_move(turn);
	if (fds[SLOT_CHANNEL].revents & (POLLIN | POLLHUP | POLLERR) && !turn->is_deaf &&
		!turn->is_ending)
		hear_client(relay);
	if (count > SLOT_TALK && !turn->is_ending)
		relay->talk->wake(relay, &fds[SLOT_TALK], count - SLOT_TALK);
	if (!relay_is_owing(relay)) {
		if (!turn->is_ending)
			relay->flows[0].is_owed = relay->flows[1].is_owed = false;
		send_answers(turn);
	}
	if (turn->is_ending && !relay_is_owing(relay) && turn->answers.len == 0)
		finish_turn(relay);
}

int relay_serve(struct relay *relay)
{
	struct order start = { .fds = { -1, -1, -1, -1 } };
	begin_turn(relay, &start);
	while (!relay->is_over || relay->turn.is_on) {
		struct pollfd fds[FDS_MAX];
		size_t count = watch_all(relay, fds);
		int r = poll(fds, count, patience_ms(relay));
		if (r < 0 && errno != EINTR)
			break;
		if (r == 0 && is_insisting(relay)) {
			bool is_last = ++relay->turn.insisted == INSIST_MAX;
			relay->talk->insist(relay, is_last);
		}
		if (relay->turn.is_on)
			wake_turn(relay, fds, count);
		if (fds[SLOT_SIGNAL].revents)
			hear_signal(relay);
		interrupt(relay);
		if (fds[SLOT_CHILD].revents)
			bury_child(relay);
		if (fds[SLOT_LINE].revents && !obey(relay))
			break;
		if (relay->is_over && !relay->turn.is_ending)
			break; /* nothing will end the turn any more */
	}
	if (relay->is_over)
		order_say_ended(relay->line_fd, relay->why);
	(void)kill(-relay->pid, SIGHUP);
	return relay->pid_fd < 0 ? 0 : 1;
}
