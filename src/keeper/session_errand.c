/* SPDX-License-Identifier: Apache-2.0 */
/* Errands: what needs the cell of a family for itself, one after the other. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "keeper/sample.h"
#include "keeper/session.h"
#include "keeper/terms.h"
#include "wire/json.h"

enum {
	START_US = 30 * 1000000, /* a runner must be ready within this */
	COPY_US = 60 * 1000000,  /* and have copied itself within this */
	FILES_US = 10 * 1000000, /* who reaches for files must be done within this */
	GRACE_US = 2 * 1000000,  /* what code has to come back after it was interrupted */
	LOOK_US = 2000,          /* a runner takes a turn within a few of these */
	HANG_UP_US = 50000,      /* a client may hang up a moment before its turn is over */
	LOST_US = 1000000,       /* init tells within this that a process ended */
	LATE_MAX = 64,           /* answers of a runner that nobody waits for any more */
};

struct errand *errand_new(enum errand_kind kind, struct session *session, struct caller *caller)
{
	struct errand *errand = xcalloc(1, sizeof(*errand));
	*errand = (struct errand){ .kind = kind,
		.session = session,
		.family = session->family,
		.caller = caller,
		.client = caller ? caller_pid(caller) : 0,
		.fds = { -1, -1, -1, -1 } };
	if (caller)
		caller->errand = errand;
	return errand;
}

static void leave_caller(struct errand *errand)
{
	if (errand->caller)
		errand->caller->errand = NULL;
	errand->caller = NULL;
}

void errand_free(struct errand *errand)
{
	leave_caller(errand);
	scribes_forget(&errand->family->sessions->scribes, errand);
	runner_free(errand->copy);
	for (size_t i = 0; i < COUNT_OF(errand->fds); i++)
		own_close(&errand->fds[i]);
	json_free(&errand->notes);
	json_free(&errand->evicted);
	free(errand);
}

/* It is over, and has said what it had to say. */
static void finish(struct errand *errand)
{
	struct family *family = errand->family;
	session_use(errand->session);
	sessions_due(
		family->sessions, errand->session->used_us + errand->session->idle_s * 1000000);
	struct session *session = errand->session;
	family->errand = NULL;
	errand_free(errand);
	if (!family->waiting)
		ahead_plan(session);
	errand_next(family);
}

static void refuse(struct errand *errand, const struct err *err)
{
	struct caller *caller = errand->caller;
	if (caller)
		caller_refuse(caller, err);
	finish(errand);
}

void errand_answer(struct errand *errand, struct json_object *answer, int fd)
{
	if (errand->caller)
		caller_tell(errand->caller, answer, fd);
	else
		json_free(&answer);
	finish(errand);
}

void errand_fail(struct errand *errand)
{
	const struct err err = errand->err;
	refuse(errand, &err);
}

void errand_set_deadline(struct errand *errand, int64_t at_us)
{
	errand->kill_us = at_us;
	sessions_due(errand->family->sessions, at_us);
}

/* ---- turns ------------------------------------------------------------------------------------
 */

static void grant(struct errand *errand, const struct account *account)
{
	const struct session *session = errand->session;
	const char *notes = errand->notes ? json_object_to_json_string(errand->notes) : "[]";
	auto_free char *words = xasprintf("{\"session\":\"%s\",\"language\":\"%s\",\"warm\":%s,"
					  "\"limits\":%s,\"guard\":%s,\"guarded\":%s,\"notes\":%s}",
		session->name, session->language, session->is_warm ? "true" : "false",
		session->limits ? session->limits : "{}", session->guard ? session->guard : "null",
		session->is_told ? "true" : "false", notes);
	/* who does not take it will hang up */
	(void)terms_send_turn(
		errand->caller->fd, errand->family->cell, account, errand->number, words);
}

void errand_run_turn(struct errand *errand)
{
	struct session *session = errand->session;
	char text[64];
	if (!errand->caller) { /* it left while files were copied */
		finish(errand);
		return;
	}
	ahead_drop(session);
	errand->phase = PHASE_RUN;
	errand->kill_us = 0;
	errand->number = ++session->number;
	errand->since_us = clock_us();
	(void)snprintf(text, sizeof(text), "{\"turn\":%" PRIu32 "}", errand->number);
	struct account account; /* before anything of the turn is in it */
	account_open(&account, session->live->pid, session->memory == MEMORY_NONE);
	int r = line_send(session->live->fd, text, errand->fds, COUNT_OF(errand->fds));
	for (size_t i = 0; i < COUNT_OF(errand->fds); i++)
		own_close(&errand->fds[i]);
	if (r < 0) {
		account_close(&account);
		session_end(session, "its runner does not listen: %s", strerror(-r));
		return;
	}
	family_watch_calls(errand->family, false);
	grant(errand, &account);
	account_close(&account);
}

static void end_turn(struct errand *errand)
{
	struct json_object *json = json_object_new_object();
	errand->session->executions += !errand->is_question;
	ahead_end_turn(errand->session, errand->is_question);
	family_watch_calls(errand->family, true);
	json_put(json, "idle", json_object_new_int64(errand->number));
	errand_answer(errand, json, -1);
}

/* The session's process is no more, and with it the turn. */
static void tell_death(struct errand *errand, const struct ending *ending, const struct point *back)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "died", json_new_string(ending->why));
	json_put(json, "wait_status", json_object_new_int64(ending->wait_status));
	json_put(json, "oom", json_object_new_boolean(ending->is_oom));
	json_put(json, "back", back ? point_describe(back, false) : NULL);
	if (errand->caller)
		caller_tell(errand->caller, json, -1);
	else
		json_free(&json);
	leave_caller(errand);
}

/* ---- files --------------------------------------------------------------------------------------
 */

/* Until the client hangs up. */
static void lend_files(struct errand *errand)
{
	if (!errand->caller) {
		finish(errand);
		return;
	}
	errand->phase = PHASE_RUN;
	errand_set_deadline(errand, clock_us() + FILES_US);
	caller_tell_files(errand->caller, errand->session);
}

/* ---- beginning --------------------------------------------------------------------------------
 */

static void begin_main(struct errand *errand)
{
	switch (errand->kind) {
	case ERRAND_TURN:
		if (errand->session->undo > 0 && !errand->is_question)
			point_begin(errand, false);
		else
			errand_run_turn(errand);
		return;
	case ERRAND_CHECKPOINT:
		point_begin(errand, false);
		return;
	case ERRAND_BRANCH:
		point_begin(errand, true);
		return;
	case ERRAND_ROLLBACK:
		rollback_begin(errand);
		return;
	case ERRAND_FILES:
		lend_files(errand);
		return;
	default:
		return;
	}
}

static void are_files_back(
	void *context, int r, const struct snapshot_report *report, const struct err *err)
{
	struct errand *errand = context;
	(void)report;
	if (r < 0) {
		errand->err = *err;
		(void)err_wrap(&errand->err, "bring back the files of session '%s'",
			errand->session->name);
		errand_fail(errand);
		return;
	}
	errand->family->in_place = errand->session;
	errand->session->base = errand->session->files;
	begin_main(errand);
}

static void bring_files_back(struct errand *errand)
{
	const struct scribe_order order = { .work = SCRIBE_RESTORE, .id = errand->session->files };
	errand->phase = PHASE_BACK;
	scribes_order(&errand->family->sessions->scribes, &errand->family->cell->workspace, &order,
		are_files_back, errand);
}

static void are_files_aside(
	void *context, int r, const struct snapshot_report *report, const struct err *err)
{
	struct errand *errand = context;
	struct family *family = errand->family;
	struct session *before = family->in_place;
	const struct scribe_order drop = { .work = SCRIBE_DROP, .id = before ? before->files : 0 };
	(void)report;
	if (r < 0) {
		errand->err = *err;
		(void)err_wrap(&errand->err, "put the files of its branch aside");
		errand_fail(errand);
		return;
	}
	if (before && drop.id != 0)
		scribes_order(
			&family->sessions->scribes, &family->cell->workspace, &drop, NULL, NULL);
	if (before)
		before->files = before->base = errand->id;
	family->in_place = NULL;
	bring_files_back(errand);
}

/* Another of the family was served last: its files make room for this one's. */
static void exchange_files(struct errand *errand)
{
	struct family *family = errand->family;
	if (!family->in_place) {
		bring_files_back(errand);
		return;
	}
	errand->phase = PHASE_ASIDE;
	errand->id = ++family->last_id;
	const struct scribe_order order = {
		.work = SCRIBE_TAKE, .id = errand->id, .previous = family->in_place->base
	};
	scribes_order(&family->sessions->scribes, &family->cell->workspace, &order, are_files_aside,
		errand);
}

static void begin(struct errand *errand)
{
	struct family *family = errand->family;
	family->errand = errand;
	errand->since_us = clock_us();
	if (errand->kind == ERRAND_START) {
		errand->phase = PHASE_RUN;
		errand_set_deadline(errand, errand->since_us + START_US);
	} else if (family->in_place != errand->session && errand->session->files != 0) {
		exchange_files(errand);
	} else {
		begin_main(errand);
	}
}

void errand_next(struct family *family)
{
	if (family->is_dying || family->errand || !family->waiting)
		return;
	struct errand *errand = family->waiting;
	family->waiting = errand->next;
	errand->next = NULL;
	begin(errand);
}

static bool has_hung_up(const struct caller *caller)
{
	struct pollfd end = { .fd = caller->fd, .events = POLLRDHUP };
	return poll(&end, 1, 0) != 0 && (end.revents & (POLLRDHUP | POLLHUP)) != 0;
}

/* All but a turn is over in a moment, and so is a turn whose client is gone, or its code is
 * interrupted. */
static bool is_ending(const struct errand *errand)
{
	return errand->kind != ERRAND_TURN || !errand->caller || has_hung_up(errand->caller);
}

static int refuse_busy(const struct errand *errand, const struct session *wanted, struct err *err)
{
	const char *name = errand->session->name;
	char whose[SESSION_NAME_BYTES + 80] = "";
	int seconds = (int)((clock_us() - errand->since_us) / 1000000);
	if (errand->session != wanted)
		(void)snprintf(whose, sizeof(whose), ", whose cell it shares with '%s'", name);
	return err_set(err, ERR_BUSY,
		"session '%s' is busy%s: process %d has had the turn for %d s; wait for it with "
		"--wait, or stop it with hotcell session interrupt %s",
		wanted->name, whose, (int)errand->client, seconds, name);
}

static void push_first(struct errand *errand)
{
	errand->next = errand->family->waiting;
	errand->family->waiting = errand;
}

static void push_last(struct errand *errand)
{
	struct errand **at = &errand->family->waiting;
	while (*at)
		at = &(*at)->next;
	*at = errand;
}

/* What comes before a runner has taken a turn was meant for the one before, and is dropped: so what
 * is meant for this one waits until it has. */
void errand_signal(struct errand *errand, int64_t now_us)
{
	errand->signal_us = 0;
	if (!line_is_unread(errand->session->live->fd)) {
		runner_signal(errand->session->live, SIGINT);
		return;
	}
	errand->signal_us = now_us + LOOK_US;
	sessions_due(errand->family->sessions, errand->signal_us);
}

void errand_interrupt(struct errand *errand, int64_t now_us)
{
	if (errand->kind != ERRAND_TURN || errand->phase != PHASE_RUN)
		return;
	errand_signal(errand, now_us);
	errand->interrupt_us = 0;
	errand_set_deadline(errand, now_us + GRACE_US);
}

int errand_submit(struct errand *errand, bool waits, bool is_forced, struct err *err)
{
	struct family *family = errand->family;
	struct errand *before = family->errand;
	if (!before && !family->waiting) {
		begin(errand);
		return 0;
	}
	if (is_forced && before) {
		push_first(errand);
		errand_interrupt(before, clock_us());
		return 0;
	}
	if (waits || !before || is_ending(before)) {
		push_last(errand);
		return 0;
	}
	int r = refuse_busy(before, errand->session, err);
	errand_free(errand);
	return r;
}

/* ---- what the runner says ---------------------------------------------------------------------
 */

void errand_take_notes(struct errand *errand, struct json_object *notes)
{
	if (!notes)
		return;
	if (!errand->notes)
		errand->notes = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(notes); i++)
		(void)json_object_array_add(
			errand->notes, json_object_get(json_object_array_get_idx(notes, i)));
}

/* One of the answers that a copy or a point waits for. */
void errand_take_answer(struct errand *errand)
{
	if (--errand->pending > 0)
		return;
	if (errand->phase == PHASE_POINT)
		point_finish(errand);
	else
		rollback_go_on(errand);
}

static void fail_copy(struct errand *errand, const char *why)
{
	if (!errand->has_failed)
		(void)err_set(&errand->err, ERR_BROKEN, "session '%s' could not be copied: %s",
			errand->session->name, why);
	errand->has_failed = true;
	errand->is_copy_lost = false;
	errand_take_answer(errand);
}

/* "thread Thread-1 (work), child process 17 (sleep)": by name, whatever cannot be carried. */
static void refuse_copy(struct errand *errand, const struct line_word *word)
{
	auto_buf struct buf why;
	buf_init(&why, 256);
	for (size_t i = 0; word->notes && i < json_object_array_length(word->notes); i++)
		if (buf_printf(&why, "%s%s", i ? ", " : "",
			    json_object_get_string(json_object_array_get_idx(word->notes, i))) < 0)
			break;
	if (!errand->has_failed)
		(void)err_set(&errand->err, ERR_INVALID,
			"the state of session '%s' cannot be carried over now: %s",
			errand->session->name, why.len > 0 ? buf_text(&why) : "its runner refused");
	errand->has_failed = true;
	errand_take_answer(errand);
}

static void hear_newborn(struct runner *runner, const struct line_word *word)
{
	struct errand *errand = runner->birth;
	bool is_it = word->kind == LINE_FORKED && word->number == errand->number;
	bool has_hung_up = word->kind == LINE_NONE && word->number == 0;
	if (is_it && runner_meet(runner, word->pid) == 0) {
		runner->birth = NULL;
		errand_take_notes(errand, word->notes);
		errand_take_answer(errand);
		return;
	}
	runner_free(take_ptr(&errand->copy));
	if (!has_hung_up) {
		fail_copy(errand, "the copy talks nonsense");
		return;
	}
	/* the original has said why, or will not any more */
	errand->is_copy_lost = true;
	errand_set_deadline(errand, clock_us() + LOST_US);
}

/* A copy that has said who it is has nothing more to say until it is a point or a session. */
static void hear_child(struct runner *runner)
{
	struct errand *errand = runner->family->errand;
	runner_free(take_ptr(&errand->copy));
	if (!errand->has_failed)
		(void)err_set(&errand->err, ERR_BROKEN, "session '%s' could not be copied: %s",
			errand->session->name, "the copy did not stay");
	errand->has_failed = true;
}

static void hear_point(struct runner *runner, const struct line_word *word)
{
	struct errand *errand = runner->family->errand;
	struct point *point = runner->point;
	if (word->kind == LINE_REFUSED && ahead_is_refused(runner->session, word->number))
		return;
	if (word->kind == LINE_REFUSED && errand && errand->point == point &&
		errand->phase == PHASE_FORK && word->number == errand->number) {
		runner_free(take_ptr(&errand->copy));
		refuse_copy(errand, word);
		return;
	}
	point_lose(point);
}

static void become_ready(struct errand *errand, struct runner *runner, pid_t pid)
{
	struct session *session = errand->session;
	int r = runner_meet(runner, pid);
	if (r < 0) {
		session_end(session, "its runner cannot be told from others: %s", strerror(-r));
		return;
	}
	session->is_started = true;
	family_settle(errand->family);
	errand_answer(errand, session_describe(session, DETAIL_MADE),
		errand->wants_workspace ? errand->family->cell->workspace.fd : -1);
}

/* Its process ended, which init tells in a moment, or it closed what it cannot do without. */
static void lose_line(struct session *session)
{
	loop_remove(&session->sessions->loop, &session->live->watch);
	session->lost_us = clock_us() + LOST_US;
	sessions_due(session->sessions, session->lost_us);
}

static void hear_live(struct session *session, const struct line_word *word)
{
	struct errand *errand = session->family->errand;
	bool is_ours = errand && errand->session == session;
	bool is_number = is_ours && errand->number == word->number;
	if (word->kind == LINE_NONE && word->number == 0) {
		lose_line(session);
		return;
	}
	if (word->kind == LINE_READY && is_ours && errand->kind == ERRAND_START) {
		become_ready(errand, session->live, word->pid);
		return;
	}
	if (word->kind == LINE_IDLE && is_number && errand->kind == ERRAND_TURN &&
		errand->phase == PHASE_RUN) {
		end_turn(errand);
		return;
	}
	if (word->kind == LINE_REFUSED && ahead_is_refused(session, word->number))
		return;
	if (word->kind == LINE_REFUSED && is_number && errand->pending > 0) {
		runner_free(take_ptr(&errand->copy));
		refuse_copy(errand, word);
		return;
	}
	if (word->kind == LINE_DONE && is_number && errand->pending > 0) {
		errand_take_notes(errand, word->notes);
		errand_take_answer(errand);
		return;
	}
	/* an answer that came after it was given up is no news, but there are not many of those */
	bool is_late = (word->kind == LINE_REFUSED || word->kind == LINE_DONE) &&
		       word->number <= session->number && session->late_count++ < LATE_MAX;
	if (!is_late)
		session_end(session, "its runner said something that is no message");
}

void errand_hear(struct runner *runner, const struct line_word *word)
{
	if (runner->is_early)
		ahead_hear(runner, word);
	else if (runner->birth)
		hear_newborn(runner, word);
	else if (runner->point)
		hear_point(runner, word);
	else if (runner->session->live != runner)
		hear_child(runner);
	else
		hear_live(runner->session, word);
}

/* ---- losses -----------------------------------------------------------------------------------
 */

static struct point *newest_whole(const struct session *session)
{
	struct point *point = session->points;
	while (point && !point->runner)
		point = point->next;
	return point;
}

static bool is_rollback_next(const struct session *session)
{
	const struct errand *next = session->family->waiting;
	return next && next->session == session && next->kind == ERRAND_ROLLBACK;
}

void errand_lose_live(struct session *session, const struct ending *ending)
{
	struct family *family = session->family;
	struct errand *errand =
		family->errand && family->errand->session == session ? family->errand : NULL;
	/* an errand in the middle of copying a process cannot go on without it */
	bool is_between = !errand || (errand->kind == ERRAND_TURN && errand->phase == PHASE_RUN);
	bool is_back_asked = is_between && is_rollback_next(session);
	struct point *back = is_between && ending->does_recover ? newest_whole(session) : NULL;
	if (errand && is_between)
		tell_death(errand, ending, is_back_asked ? NULL : back);
	if (!back && !is_back_asked) {
		session_end(session, "%s", ending->why);
		return;
	}
	ahead_drop(session);
	runner_free(take_ptr(&session->live));
	session->lost_us = 0;
	if (!is_back_asked) {
		struct errand *rescue = errand_new(ERRAND_ROLLBACK, session, NULL);
		rescue->id = back->id;
		push_first(rescue);
	}
	family_watch_calls(family, true);
	if (errand)
		finish(errand);
	else
		errand_next(family);
}

void errand_forget_caller(struct errand *errand)
{
	struct family *family = errand->family;
	int64_t now_us = clock_us();
	leave_caller(errand);
	if (errand != family->errand) {
		struct errand **at = &family->waiting;
		while (*at != errand)
			at = &(*at)->next;
		*at = errand->next;
		errand_free(errand);
		return;
	}
	if (errand->kind == ERRAND_START) {
		session_end(errand->session, "nobody waited for it");
	} else if (errand->kind == ERRAND_FILES && errand->phase == PHASE_RUN) {
		finish(errand);
	} else if (errand->kind == ERRAND_TURN && errand->phase == PHASE_RUN) {
		family_watch_calls(family, true); /* nobody else answers them now */
		errand->interrupt_us = now_us + HANG_UP_US;
		sessions_due(family->sessions, errand->interrupt_us);
	}
}

void errand_tick(struct errand *errand, int64_t now_us)
{
	const struct ending stubborn = {
		"its client left or gave it up, and its code did not stop when it was interrupted",
		SIGKILL, false, true
	};
	struct session *session = errand->session;
	if (errand->signal_us > 0 && errand->signal_us <= now_us && errand->phase == PHASE_RUN)
		errand_signal(errand, now_us);
	if (errand->interrupt_us > 0 && errand->interrupt_us <= now_us) {
		errand_interrupt(errand, now_us);
		return;
	}
	if (errand->kill_us == 0 || errand->kill_us > now_us)
		return;
	errand->kill_us = 0;
	if (errand->kind == ERRAND_START)
		session_end(session, "it was not ready within %d s", START_US / 1000000);
	else if (errand->kind == ERRAND_FILES && errand->phase == PHASE_RUN)
		finish(errand);
	else if (errand->is_copy_lost)
		fail_copy(errand, "the copy ended");
	else if (errand->phase == PHASE_RUN)
		errand_lose_live(session, &stubborn);
	else
		session_end(session, "its runner did not answer within %d s", COPY_US / 1000000);
}

int64_t errand_due_us(const struct errand *errand)
{
	const int64_t times_us[] = { errand->signal_us, errand->interrupt_us, errand->kill_us };
	int64_t next_us = INT64_MAX;
	for (size_t i = 0; i < COUNT_OF(times_us); i++)
		if (times_us[i] > 0 && times_us[i] < next_us)
			next_us = times_us[i];
	return next_us;
}

void errand_drop_of(struct session *session, const char *why)
{
	struct family *family = session->family;
	struct err err = { 0 };
	(void)err_set(&err, ERR_MISSING, "session '%s' ended: %s", session->name, why);
	for (struct errand **at = &family->waiting; *at;) {
		struct errand *errand = *at;
		if (errand->session != session) {
			at = &errand->next;
			continue;
		}
		*at = errand->next;
		if (errand->caller)
			caller_refuse(errand->caller, &err);
		errand_free(errand);
	}
	struct errand *errand = family->errand;
	if (!errand || errand->session != session)
		return;
	family->errand = NULL;
	if (errand->kind == ERRAND_TURN && errand->phase == PHASE_RUN) {
		tell_death(errand, &(struct ending){ .why = why, .wait_status = SIGKILL }, NULL);
		family_watch_calls(family, true);
	} else if (errand->caller) {
		if (errand->kind == ERRAND_START)
			(void)err_set(
				&err, ERR_BROKEN, "the session could not be started: %s", why);
		caller_refuse(errand->caller, &err);
	}
	errand_free(errand);
}
