/* SPDX-License-Identifier: Apache-2.0 */
/* Borrowing a cell that stands ready, from whoever lends on this machine. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/own.h"
#include "keeper/terms.h"
#include "wire/frame.h"

enum { REFUSED_US = 200000 }; /* who had none to spare is not asked again before that */

/* One answer. 1: granted, 0: nobody lends any more, -1: refused; 2: there is more to come. */
static int take_answer(struct loan_message *message, const struct policy *policy,
	const struct borrower *borrower, struct keeper **ret_keeper, struct err *err)
{
	switch (message->kind) {
	case LOAN_QUEUED:
		if (borrower->queued)
			borrower->queued(borrower->context, message->number);
		return 2;
	case LOAN_GRANTED:
		return terms_take(message, policy, ret_keeper, err) < 0 ? -1 : 1;
	case LOAN_REFUSED:
		return loan_refusal(message, err);
	default:
		return err_set(err, ERR_BROKEN, "the daemon's answer makes no sense");
	}
}

static int await_answer(int conn_fd, const struct policy *policy, const struct borrower *borrower,
	struct keeper **ret_keeper, struct err *err)
{
	for (;;) {
		struct loan_message message;
		struct pollfd fds[] = {
			{ .fd = conn_fd, .events = POLLIN },
			{ .fd = borrower->interrupt_fd, .events = POLLIN },
		};
		if (poll(fds, COUNT_OF(fds), -1) < 0 && errno != EINTR)
			return err_sys(err, errno, "wait for a cell");
		if (fds[1].revents)
			return err_set(
				err, ERR_INTERRUPTED, "interrupted while waiting for a cell");
		if (!fds[0].revents)
			continue;
		int r = loan_receive(conn_fd, &message);
		if (r <= 0)
			return 0; /* it died, and its promise with it */
		r = take_answer(&message, policy, borrower, ret_keeper, err);
		loan_message_done(&message);
		if (r != 2)
			return r;
	}
}

/* Who lends; a daemon that is not there is started when HOTCELL_ON_DEMAND says so. */
static int find_lender(void)
{
	char path[PATH_MAX];
	int conn_fd = -1;
	struct err err = { 0 };
	const char *on_demand = getenv("HOTCELL_ON_DEMAND");
	loan_socket_path(path, sizeof(path));
	if (!on_demand || strcmp(on_demand, "1") != 0)
		return loan_connect(path);
	/* where none can be started, a cell is raised as if it had not been wished for */
	return loan_connect_or_start(path, &conn_fd, &err) < 0 ? -1 : conn_fd;
}

/* What the program will be given is made while daemon and keeper are at work: 70 µs that would
 * follow their answer. What cannot be made is tried again when somebody hears why. */
static struct keeper *get_ready(const struct policy *policy, const struct task *task)
{
	struct err err = { 0 };
	if (!task || policy->form == FORM_STARTED)
		return NULL;
	struct keeper *keeper = keeper_for_loan(MODE_NONE, &policy->spec);
	keeper->parked = cell_new(keeper, &policy->spec, policy->has_full_proc, policy->form);
	keeper->parked->task = task;
	if (cell_make_delivery(keeper->parked, &err) == 0)
		return keeper;
	keeper_close(keeper);
	return NULL;
}

/* Takes the connection of a loan that is granted. As keeper_borrow(). */
static int borrow_over(int *conn_fd, const struct policy *policy, const struct borrower *borrower,
	struct keeper **ret_keeper, struct err *err)
{
	enum jail_mode mode = machine_mode();
	struct keeper *keeper = get_ready(policy, borrower->task);
	int r = await_answer(*conn_fd, policy, borrower, &keeper, err);
	if (r == 1) {
		keeper->loan_fd = take_fd(conn_fd);
		/* root's cell for one who is root only in a user namespace: nothing of it is ours
		 * to use */
		r = keeper->mode == mode ? 1 : 0;
	}
	if (r == 1) {
		keeper->ahead = borrower->ahead;
		*ret_keeper = keeper;
	} else {
		keeper_close(keeper);
	}
	return r;
}

/* ---- ahead of the need ------------------------------------------------------------------------
 */

static bool is_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static bool is_hung_up(int fd)
{
	struct pollfd end = { .fd = fd, .events = POLLRDHUP };
	return poll(&end, 1, 0) != 0;
}

static void forget_policy(struct ahead *ahead)
{
	if (ahead->text)
		policy_done(&ahead->policy);
	free(take_ptr(&ahead->text));
}

/* A text that is written now must be the same: it says where the paths lead, and what was read from
 * it is all that it says. */
static void find_places(struct ahead *ahead)
{
	policy_find_places(&ahead->policy, &ahead->places);
	auto_free char *text = policy_to_json(&ahead->policy);
	ahead->has_places = is_same(ahead->text, text);
}

static void remember(struct ahead *ahead, const char *text)
{
	struct err err = { 0 };
	char path[PATH_MAX];
	loan_socket_path(path, sizeof(path));
	if (!is_same(ahead->text, text)) {
		forget_policy(ahead);
		ahead->text = xstrdup(text);
		policy_init(&ahead->policy);
		if (policy_from_json(&ahead->policy, text, strlen(text), &err) < 0)
			forget_policy(ahead);
		else
			find_places(ahead);
	}
	if (!is_same(ahead->socket, path)) {
		free(ahead->socket);
		ahead->socket = xstrdup(path);
	}
}

void ahead_keep_seat(struct ahead *ahead, int *conn_fd)
{
	own_close(&ahead->seat_fd);
	ahead->seat_fd = take_fd(conn_fd);
}

/* The one that was kept, if it is of this daemon and the keeper has not hung up; else -1. It is the
 * caller's. */
static int take_seat(struct ahead *ahead)
{
	char path[PATH_MAX];
	auto_fd int fd = ahead ? take_fd(&ahead->seat_fd) : -1;
	if (fd < 0)
		return -1;
	loan_socket_path(path, sizeof(path));
	return is_same(ahead->socket, path) && !is_hung_up(fd) ? take_fd(&fd) : -1;
}

/* It is no more than that: the connection is as good as before. */
static void note_refusal(struct ahead *ahead, int *conn_fd)
{
	ahead->refused_us = clock_us();
	ahead_keep_seat(ahead, conn_fd);
}

bool borrow_end(struct keeper *keeper)
{
	if (keeper->ahead && loan_send(keeper->loan_fd, LOAN_RETURN, 0, NULL, 0, NULL, 0) == 0)
		return true;
	(void)shutdown(keeper->loan_fd, SHUT_RDWR);
	return false;
}

static void let_go(struct ahead *ahead)
{
	own_close(&ahead->conn_fd);
	keeper_close(take_ptr(&ahead->keeper));
}

/* Whether the text of a policy is that of the last cell; true only where it need not be written to
 * know that. */
static bool is_last(const struct ahead *ahead, const struct policy *policy)
{
	struct policy_places places;
	if (!ahead->text || !ahead->has_places || !policy_is_same(&ahead->policy, policy))
		return false;
	policy_find_places(policy, &places);
	return memcmp(&places, &ahead->places, sizeof(places)) == 0;
}

/* The cell that was asked for ahead, if it is such a one and still ours. Whatever is wrong with it,
 * another is to be had. */
static bool take_ahead(struct ahead *ahead, const char *text, const struct policy *policy,
	const struct borrower *borrower, struct keeper **ret_keeper)
{
	char path[PATH_MAX];
	struct err err = { 0 };
	loan_socket_path(path, sizeof(path));
	if (!is_same(ahead->text, text) || !is_same(ahead->socket, path)) {
		let_go(ahead);
		return false;
	}
	struct keeper *keeper = take_ptr(&ahead->keeper);
	if (!keeper) {
		auto_fd int conn_fd = take_fd(&ahead->conn_fd);
		int r = borrow_over(&conn_fd, policy, borrower, &keeper, &err);
		if (r < 0 && err.code != ERR_INTERRUPTED)
			note_refusal(ahead, &conn_fd);
		if (r != 1)
			return false;
	}
	if (!is_hung_up(keeper->loan_fd) && terms_settle(keeper->parked, HOLD_TAKEN)) {
		*ret_keeper = keeper;
		return true;
	}
	keeper_close(keeper);
	return false;
}

int ahead_fd(const struct ahead *ahead)
{
	return ahead->keeper ? ahead->keeper->loan_fd : ahead->conn_fd;
}

/* 1: the cell is ours; 0: it will never be; 2: it may come yet. */
static int hear_answer(struct ahead *ahead)
{
	struct loan_message message;
	struct err err = { 0 };
	const struct borrower nobody = { .interrupt_fd = -1 };
	int r = loan_receive(ahead->conn_fd, &message);
	if (r <= 0)
		return r == -EAGAIN ? 2 : 0;
	r = take_answer(&message, &ahead->policy, &nobody, &ahead->keeper, &err);
	if (message.kind == LOAN_REFUSED)
		note_refusal(ahead, &ahead->conn_fd);
	loan_message_done(&message);
	return r < 0 ? 0 : r;
}

void ahead_collect(struct ahead *ahead)
{
	struct pollfd said = { .fd = ahead_fd(ahead), .events = POLLIN | POLLRDHUP };
	if (said.fd < 0 || poll(&said, 1, 0) <= 0)
		return;
	/* nothing is said to who has the cell, but that it is wanted back */
	int r = ahead->keeper || !(said.revents & POLLIN) ? 0 : hear_answer(ahead);
	if (r == 1) {
		ahead->keeper->ahead = ahead;
		ahead->keeper->loan_fd = take_fd(&ahead->conn_fd);
		r = ahead->keeper->mode == machine_mode() ? 1 : 0;
	}
	if (r == 1)
		cell_foresee(ahead->keeper->parked, ahead);
	else if (r == 0)
		let_go(ahead);
	if (ahead->load.fd < 0) /* who is lent no cell ahead is one of many: it sleeps */
		load_open(&ahead->load);
}

void ahead_ask(struct ahead *ahead)
{
	int old_fd = ahead_fd(ahead);
	if (!ahead->text || !ahead->socket || (old_fd >= 0 && !is_hung_up(old_fd)))
		return;
	if (ahead->refused_us > 0 && clock_us() - ahead->refused_us < REFUSED_US)
		return;
	let_go(ahead);
	auto_fd int fd = take_seat(ahead);
	if (fd < 0)
		fd = loan_connect(ahead->socket);
	if (fd >= 0 &&
		loan_send(fd, LOAN_ASK, LOAN_AHEAD, ahead->text, strlen(ahead->text), NULL, 0) == 0)
		ahead->conn_fd = take_fd(&fd);
}

void ahead_done(struct ahead *ahead)
{
	let_go(ahead);
	own_close(&ahead->seat_fd);
	forget_policy(ahead);
	free(ahead->socket);
	foresight_done(ahead);
	load_close(&ahead->load);
	*ahead = (struct ahead)AHEAD_NONE;
}

/* What it uses until then is not charged, where a cgroup counts. */
void ahead_rouse(const struct ahead *ahead)
{
	const struct gate_message message = { .kind = GATE_ROUSE };
	struct cell *cell = ahead->keeper ? ahead->keeper->parked : NULL;
	if (!cell || cell->is_roused)
		return;
	cell->is_roused = true;
	if (!cell->is_ready || !cell->has_group || load_spare(&ahead->load) <= 0)
		return;
	if (cell->walls.form == FORM_STARTED) {
		elsewhere_follow(&cell->elsewhere);
		(void)frame_write(cell->channel_fd, NULL, 0);
		return;
	}
	elsewhere_meet(&cell->elsewhere, cell->page->plan.processors);
	(void)io_send(cell->gate_fd, &message, sizeof(message), NULL, 0);
	elsewhere_end(&cell->elsewhere); /* it wakes up where it is now */
}

/* As keeper_borrow(), over this connection. */
static int ask_over(int *conn_fd, const char *text, const struct policy *policy,
	const struct borrower *borrower, struct keeper **ret_keeper, struct err *err)
{
	if (*conn_fd < 0 || loan_send(*conn_fd, LOAN_ASK, 0, text, strlen(text), NULL, 0) < 0)
		return 0;
	return borrow_over(conn_fd, policy, borrower, ret_keeper, err);
}

int keeper_borrow(const struct policy *policy, const struct borrower *borrower,
	struct keeper **ret_keeper, struct err *err)
{
	/* given directories are mapped to one user when they are mounted, and as root each cell of
	 * a pool has a user of its own */
	if (policy->spec.ro.count + policy->spec.rw.count > 0 && machine_mode() == MODE_ROOT)
		return 0;
	/* the daemon wakes up while the policy is written: 50 µs */
	bool is_ahead = borrower->ahead && ahead_fd(borrower->ahead) >= 0;
	if (is_ahead)
		ahead_rouse(borrower->ahead);
	auto_fd int seat_fd = is_ahead ? -1 : take_seat(borrower->ahead);
	auto_fd int conn_fd = is_ahead || seat_fd >= 0 ? -1 : find_lender();
	if (conn_fd < 0 && seat_fd < 0 && !is_ahead)
		return 0;
	bool is_known = borrower->ahead && is_last(borrower->ahead, policy);
	auto_free char *text = is_known ? xstrdup(borrower->ahead->text) : policy_to_json(policy);
	if (text && is_ahead && take_ahead(borrower->ahead, text, policy, borrower, ret_keeper))
		return 1;
	if (is_ahead)
		seat_fd = take_seat(borrower->ahead);
	int r = text ? ask_over(&seat_fd, text, policy, borrower, ret_keeper, err) : 0;
	/* who kept its seat may have lost it meanwhile, to somebody who waits; and must not wait
	 * for itself */
	if (r == 0)
		own_close(&seat_fd);
	if (text && r == 0 && conn_fd < 0)
		conn_fd = find_lender();
	if (text && r == 0)
		r = ask_over(&conn_fd, text, policy, borrower, ret_keeper, err);
	if (r == 1 && borrower->ahead)
		remember(borrower->ahead, text);
	return r;
}
