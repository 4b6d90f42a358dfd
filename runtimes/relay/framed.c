/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child that speaks frames, on its descriptor 3. It says {"event":"ready"} once. A turn begins
 * with
 * {"turn":N,"stdin":PATH}, then come the client's requests
 * as they are; what the child says goes to the client as it is, and {"event":"done",…} is the end
 * of the turn.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"
#include "relay/talk.h"
#include "wire/json.h"

enum { SMALL_FRAME = 4096, ANSWERS_MAX = 64 << 10, INSIST_EVERY = 15 };

struct framed {
	int fd;       /* owned */
	int alarm_fd; /* owned */
	bool is_closed;
	struct frames said;
	struct buf orders; /* for the child, not sent yet */
};

static int open_framed(struct relay *relay, int *ret_stdin, int *ret_frames, int *ret_alarm)
{
	int ends[2], pipe[2];
	struct framed *framed = xcalloc(1, sizeof(*framed));
	*ret_stdin = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 ||
		pipe2(pipe, O_CLOEXEC) < 0)
		return -1;
	*ret_alarm = pipe[0];
	framed->alarm_fd = pipe[1];
	(void)fcntl(framed->alarm_fd, F_SETFL, O_NONBLOCK);
	framed->fd = ends[0];
	*ret_frames = ends[1];
	frames_init(&framed->said, RELAY_FRAME_MAX);
	buf_init(&framed->orders, 2 * (RELAY_FRAME_MAX + 4));
	relay->state = framed;
	return 0;
}

static void order_child(struct relay *relay, const char *text, size_t len)
{
	struct framed *framed = relay->state;
	const unsigned char head[4] = { (unsigned char)(len >> 24), (unsigned char)(len >> 16),
		(unsigned char)(len >> 8), (unsigned char)len };
	/* a client that says more than the child takes is not heard */
	if (framed->orders.len + sizeof(head) + len > framed->orders.cap)
		return;
	(void)buf_append(&framed->orders, head, sizeof(head));
	(void)buf_append(&framed->orders, text, len);
}

static void begin_framed(struct relay *relay)
{
	auto_free char *text = NULL;
	if (relay->turn.number == 0)
		return;
	text = xasprintf("{\"turn\":%lld,\"stdin\":\"/proc/%d/fd/%d\"}",
		(long long)relay->turn.number, (int)getpid(), relay->turn.in_read);
	order_child(relay, text, strlen(text));
}

/* Half a frame of one turn would spoil the next: only whole ones go to the child. */
static void take_framed(struct relay *relay, const char *data, size_t len)
{
	order_child(relay, data, len);
}

static size_t watch_framed(struct relay *relay, struct pollfd *fds)
{
	const struct framed *framed = relay->state;
	bool is_heard = !framed->is_closed && !relay_is_owing(relay) &&
			relay->turn.answers.len < ANSWERS_MAX;
	int wanted = (is_heard ? POLLIN : 0) | (framed->orders.len > 0 ? POLLOUT : 0);
	*fds = (struct pollfd){ .fd = wanted ? framed->fd : -1, .events = (short)wanted };
	return 1;
}

static bool is_event(const char *data, size_t len, const char *name)
{
	auto_json struct json_object *json = NULL;
	struct err err = { 0 };
	if (len > SMALL_FRAME ||
		json_read(data, len, SMALL_FRAME, RELAY_FRAME_DEPTH, &json, &err) < 0)
		return false;
	const char *event = json_object_get_string(json_object_object_get(json, "event"));
	return event && strcmp(event, name) == 0;
}

/* Frames that are there already; false once the turn is over, and the rest is of the next. */
static bool pass_frames(struct relay *relay)
{
	struct framed *framed = relay->state;
	const char *data;
	size_t len;
	int r = frames_next(&framed->said, &data, &len);
	for (; r > 0; r = frames_next(&framed->said, &data, &len)) {
		bool is_starting = relay->turn.number == 0;
		if (!is_starting)
			relay_answer_text(relay, data, len);
		if (is_event(data, len, is_starting ? "ready" : "done")) {
			relay_end_turn(relay);
			return false;
		}
	}
	if (r < 0)
		relay_break(relay, "%s says what is no frame", relay->program);
	return r == 0;
}

static void hear_child(struct relay *relay)
{
	struct framed *framed = relay->state;
	char part[16 << 10];
	size_t room = frames_room(&framed->said);
	ssize_t n = recv(framed->fd, part, room < sizeof(part) ? room : sizeof(part), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		/* most often it is about to exit; what it exits with is settled by then */
		framed->is_closed = true;
		(void)kill(relay->pid, SIGKILL);
		return;
	}
	relay_owe(relay);
	(void)frames_push(&framed->said, part, (size_t)n);
	(void)pass_frames(relay);
}

static void send_orders(struct framed *framed)
{
	struct buf *orders = &framed->orders;
	ssize_t n = send(framed->fd, orders->data, orders->len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n <= 0)
		return; /* that it is gone is heard, too */
	orders->len -= (size_t)n;
	memmove(orders->data, orders->data + n, orders->len);
}

static void wake_framed(struct relay *relay, const struct pollfd *fds, size_t count)
{
	struct framed *framed = relay->state;
	(void)count;
	if (framed->orders.len > 0)
		send_orders(framed);
	/* what it said after the last turn is of this one */
	if (framed->said.bytes.len > framed->said.taken && !pass_frames(relay))
		return;
	if (fds->revents & (POLLIN | POLLHUP | POLLERR))
		hear_child(relay);
}

static bool ready_framed(struct relay *relay)
{
	const struct framed *framed = relay->state;
	return framed->orders.len == 0;
}

/* A signal to the whole group, as a terminal has it, and a byte for the thread that watches whether
 * the child comes to hear of it. */
static void interrupt_framed(struct relay *relay)
{
	const struct framed *framed = relay->state;
	(void)write(framed->alarm_fd, "i", 1);
	(void)kill(-relay->pid, SIGINT);
}

static void insist_framed(struct relay *relay, bool is_last)
{
	(void)is_last;
	if (relay->turn.insisted % INSIST_EVERY == 0)
		interrupt_framed(relay);
}

static const char *explain_framed(struct relay *relay, bool is_signal)
{
	const struct framed *framed = relay->state;
	return framed->is_closed && is_signal ? "it has closed its channel" : NULL;
}

const struct talk talk_framed = {
	.open = open_framed,
	.begin = begin_framed,
	.take = take_framed,
	.watch = watch_framed,
	.wake = wake_framed,
	.ready = ready_framed,
	.interrupt = interrupt_framed,
	.insist = insist_framed,
	.explain = explain_framed,
};
