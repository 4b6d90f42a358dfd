/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies that are made while nobody waits. To copy a process takes about as long as to start a
 * small program, so a session that is likely to need a copy makes it as soon as it is idle:
 *
 *   ahead   a copy of the live process as its last turn left it. A point or a branch takes it as it
 *           is; the next turn takes it as its automatic point, or makes it worthless.
 *   spare   a copy of the process of the point that the present state came from: going back there,
 *           it is the live one. Its memory is its own already, so that the turn after that is no
 *           slower than others.
 *
 * What is likely is what was done before. A session that was copied after its last turn but one is
 * copied ahead after the next; one that went back has a spare for some turns. There is one of each
 * at most, and none where the cell has not a quarter of its processes and memory left. A copy that
 * has something to tell (a timer, a process left behind) could be out of date when it is needed,
 * and is not kept.
 */
#include <signal.h>

#include "base/clock.h"
#include "base/own.h"
#include "keeper/session.h"
#include "wire/json.h"

/* Who asks again at once is not to wait for what may never be needed. */
enum { PAUSE_US = 2000 };

static bool is_ready(const struct runner *runner)
{
	return runner->pidfd >= 0;
}

void ahead_drop(struct session *session)
{
	runner_free(take_ptr(&session->ahead));
}

void ahead_drop_spare(struct session *session, const struct point *point)
{
	if (point && session->spare_of != point)
		return;
	runner_free(take_ptr(&session->spare));
	session->spare_of = NULL;
}

static void drop(struct runner *runner)
{
	struct session *session = runner->session;
	if (session->ahead == runner) {
		ahead_drop(session);
		session->is_pointing = false;
	} else {
		ahead_drop_spare(session, NULL);
		session->backs = 0;
	}
}

/* ---- making ------------------------------------------------------------------------------------
 */

static bool is_below(int64_t used, int64_t limit)
{
	return used < 0 || limit <= 0 || used < limit / 4 * 3;
}

static bool has_room(const struct family *family)
{
	const struct cell *cell = family->cell;
	return !cell->has_group ||
	       (is_below(cgroup_pids(&cell->group), cell->walls.pids) &&
		       is_below(cgroup_memory(&cell->group), cell->walls.memory));
}

static struct runner *ask(
	struct session *session, const struct runner *original, enum copy_kind kind)
{
	struct err err = { 0 }; /* whoever needs it will ask again, and be told */
	struct runner *copy = copy_ask(session, original, kind, &err);
	if (copy)
		copy->is_early = true;
	return copy;
}

/* Whether there was a turn that nothing was copied after. */
static bool wants_ahead(const struct session *session)
{
	return !session->ahead && !session->has_pointed && session->executions > 0 &&
	       (session->is_pointing || session->undo > 0);
}

static struct point *wants_spare(const struct session *session)
{
	struct point *point = session->backs > 0 ? point_of(session, session->current) : NULL;
	return point && point->runner && point != session->spare_of ? point : NULL;
}

void ahead_retire(struct session *session, struct runner *runner)
{
	runner_free(session->retired);
	session->retired = runner;
	if (runner) {
		runner_rest(runner);
		runner_signal(runner, SIGSTOP);
	}
}

void ahead_plan(struct session *session)
{
	bool has_work = session->retired || (session->spare && session->backs == 0) ||
			wants_ahead(session) || wants_spare(session);
	session->prepare_us =
		session->memory == MEMORY_COPY && has_work ? clock_us() + PAUSE_US : 0;
	sessions_due(session->sessions, session->prepare_us);
}

void ahead_prepare(struct session *session)
{
	struct point *point = wants_spare(session);
	bool is_ahead = wants_ahead(session);
	const struct family *family = session->family;
	session->prepare_us = 0;
	runner_free(take_ptr(&session->retired));
	if (session->backs == 0)
		ahead_drop_spare(session, NULL);
	if (family->errand || family->is_dying || !session->live || (!point && !is_ahead) ||
		!has_room(family))
		return;
	if (is_ahead)
		session->ahead = ask(session, session->live, COPY_AHEAD);
	if (!point)
		return;
	ahead_drop_spare(session, NULL);
	session->spare = ask(session, point->runner, COPY_SPARE);
	session->spare_of = session->spare ? point : NULL;
}

void ahead_end_turn(struct session *session, bool is_question)
{
	if (!is_question) {
		session->is_pointing = session->has_pointed;
		session->backs -= session->backs > 0;
	}
	session->has_pointed = false;
	session->late_count = 0;
}

/* ---- what becomes of them ----------------------------------------------------------------------
 */

void ahead_hear(struct runner *runner, const struct line_word *word)
{
	bool has_notes = word->notes && json_object_array_length(word->notes) > 0;
	bool is_it = word->kind == LINE_FORKED && word->number == runner->order &&
		     !is_ready(runner) && (!has_notes || runner == runner->session->spare);
	if (is_it && runner_meet(runner, word->pid) == 0)
		runner->notes = json_object_get(word->notes);
	else
		drop(runner);
}

bool ahead_is_refused(struct session *session, uint32_t number)
{
	if (session->ahead && session->ahead->order == number)
		drop(session->ahead);
	else if (session->spare && session->spare->order == number)
		drop(session->spare);
	else
		return false;
	return true;
}

bool ahead_lose(struct session *session, int32_t number)
{
	if (session->ahead && session->ahead->number == number)
		drop(session->ahead);
	else if (session->spare && session->spare->number == number)
		drop(session->spare);
	else
		return false;
	return true;
}

/* ---- taking ------------------------------------------------------------------------------------
 */

/* As if the errand had asked for it. */
static void adopt(struct errand *errand, struct runner *copy)
{
	copy->is_early = false;
	errand->copy = copy;
	errand->number = copy->order;
	if (is_ready(copy))
		errand_take_notes(errand, copy->notes);
	else
		copy->birth = errand;
}

bool ahead_take(struct errand *errand, bool is_branch)
{
	struct session *session = errand->session;
	if (!session->ahead)
		return false;
	/* it is heard before anything else on that line, whether the copy is there yet or not */
	if (is_branch && line_send(session->ahead->fd, "{\"branch\":true}", NULL, 0) < 0) {
		ahead_drop(session);
		return false;
	}
	adopt(errand, take_ptr(&session->ahead));
	errand->pending -= !errand->copy->birth;
	return true;
}

bool ahead_take_spare(struct errand *errand)
{
	struct session *session = errand->session;
	if (!session->spare || session->spare_of != errand->point)
		return false;
	session->spare_of = NULL;
	adopt(errand, take_ptr(&session->spare));
	return true;
}
