/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points. A point of a process that copies itself is such a copy, which waits on a line of its own,
 * with a copy of the files. Going back is the same again: the point's process copies itself, and
 * that copy becomes the live one. What a process cannot carry over it names, and then there is no
 * point.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "keeper/session.h"
#include "wire/json.h"

enum {
	COPY_US = 60 * 1000000,
	GOES_BACK = 4, /* turns after which nobody is expected to go back any more */
};

struct point *point_find(const struct session *session, const struct session_request *request)
{
	struct point *point = session->points;
	while (point && !(request->point_id ? point->id == request->point_id
					    : strcmp(point->name, request->point) == 0))
		point = point->next;
	return point;
}

struct point *point_of(const struct session *session, uint32_t id)
{
	struct point *point = id == 0 ? NULL : session->points;
	while (point && point->id != id)
		point = point->next;
	return point;
}

void point_lose(struct point *point)
{
	if (point->runner)
		ahead_drop_spare(point->runner->session, point);
	runner_free(take_ptr(&point->runner));
	point->is_lost = true;
}

static void drop_files(struct family *family, uint32_t id)
{
	const struct scribe_order order = { .work = SCRIBE_DROP, .id = id };
	if (!family->is_dying && family->cell->workspace.fd >= 0)
		scribes_order(
			&family->sessions->scribes, &family->cell->workspace, &order, NULL, NULL);
}

/* A runner with points of its own need not keep this one any longer; nobody waits for it. */
static void tell_dropped(const struct session *session, uint32_t id)
{
	char text[32];
	(void)snprintf(text, sizeof(text), "{\"drop\":%" PRIu32 "}", id);
	if (session->memory == MEMORY_OWN && session->live)
		(void)line_send(session->live->fd, text, NULL, 0);
}

void point_drop(struct session *session, struct point *point)
{
	struct point **at = &session->points;
	ahead_drop_spare(session, point);
	tell_dropped(session, point->id);
	while (*at != point)
		at = &(*at)->next;
	*at = point->next;
	session->point_count--;
	/* its children are its parent's now */
	for (struct point *other = session->points; other; other = other->next)
		if (other->parent == point->id)
			other->parent = point->parent;
	if (session->current == point->id)
		session->current = point->parent;
	if (session->base == point->id)
		session->base = session->points ? session->points->id : 0;
	drop_files(session->family, point->id);
	runner_free(point->runner);
	free(point);
}

static void note(struct errand *errand, const char *text)
{
	if (!errand->notes)
		errand->notes = json_object_new_array();
	(void)json_object_array_add(errand->notes, json_new_string(text));
}

/* ---- copying a process ------------------------------------------------------------------------
 */

static void fail(struct errand *errand, const struct err *err)
{
	if (!errand->has_failed)
		errand->err = *err;
	errand->has_failed = true;
}

/* clang-format off */
static const char *const copy_words[COPY_KIND_COUNT] = {
	[COPY_POINT]  = "\"branch\":false",
	[COPY_BRANCH] = "\"branch\":true",
	[COPY_AHEAD]  = "\"branch\":false,\"ahead\":true",
	[COPY_SPARE]  = "\"branch\":false,\"spare\":true,\"like\":",
};
/* clang-format on */

struct runner *copy_ask(struct session *session, const struct runner *original, enum copy_kind kind,
	struct err *err)
{
	char text[96];
	char like[16] = "";
	int ours = -1;
	auto_fd int theirs = -1;
	if (line_make(&ours, &theirs, err) < 0)
		return NULL;
	struct runner *copy = runner_new(session->family, ours);
	if (!copy) {
		(void)err_set(err, ERR_SYSTEM, "watch the line of a copy");
		return NULL;
	}
	copy->session = session;
	copy->order = ++session->number;
	if (kind == COPY_SPARE) /* it will do what the live one does, and touch what that touches */
		(void)snprintf(like, sizeof(like), "%" PRId32, session->live->number);
	(void)snprintf(text, sizeof(text), "{\"fork\":%" PRIu32 ",%s%s}", copy->order,
		copy_words[kind], like);
	int r = line_send(original->fd, text, &theirs, 1);
	if (r == 0)
		return copy;
	runner_free(copy);
	(void)err_sys(err, -r, "ask the session for a copy of itself");
	return NULL;
}

static int ask_copy(
	struct errand *errand, const struct runner *original, bool is_branch, struct err *err)
{
	errand->copy =
		copy_ask(errand->session, original, is_branch ? COPY_BRANCH : COPY_POINT, err);
	if (!errand->copy)
		return -1;
	errand->copy->birth = errand;
	errand->number = errand->copy->order;
	return 0;
}

/* Asks a runner with points of its own. */
static int ask_own(struct errand *errand, const char *verb, uint32_t id, struct err *err)
{
	char text[64];
	errand->number = id;
	(void)snprintf(text, sizeof(text), "{\"%s\":%" PRIu32 "}", verb, id);
	int r = line_send(errand->session->live->fd, text, NULL, 0);
	return r < 0 ? err_sys(err, -r, "ask the session for a %s", verb) : 0;
}

/* ---- making one -------------------------------------------------------------------------------
 */

static void are_files_taken(
	void *context, int r, const struct snapshot_report *report, const struct err *err)
{
	struct errand *errand = context;
	char text[NAME_MAX + 80];
	if (r < 0)
		fail(errand, err);
	if (r == 0 && report->skipped > 0) {
		(void)snprintf(text, sizeof(text),
			"%u files cannot be copied, such as the socket %s", report->skipped,
			report->first_skipped);
		note(errand, text);
	}
	errand_take_answer(errand);
}

void point_begin(struct errand *errand, bool is_branch)
{
	struct session *session = errand->session;
	struct family *family = errand->family;
	struct err err = { 0 };
	int r = 0;
	errand->phase = PHASE_POINT;
	errand->id = ++family->last_id;
	errand->pending = session->memory == MEMORY_NONE ? 1 : 2;
	session->has_pointed = true;
	if (session->memory == MEMORY_COPY && !ahead_take(errand, is_branch))
		r = ask_copy(errand, session->live, is_branch, &err);
	else if (session->memory == MEMORY_OWN)
		r = ask_own(errand, "point", errand->id, &err);
	if (r < 0) {
		fail(errand, &err);
		errand->pending--;
	}
	errand_set_deadline(errand, clock_us() + COPY_US);
	const struct scribe_order order = {
		.work = SCRIBE_TAKE, .id = errand->id, .previous = session->base
	};
	scribes_order(&family->sessions->scribes, &family->cell->workspace, &order, are_files_taken,
		errand);
}

/* The oldest without a name; among automatic ones when `is_automatic`. */
static struct point *oldest_unnamed(const struct session *session, bool is_automatic)
{
	struct point *found = NULL;
	for (struct point *point = session->points; point; point = point->next)
		if (!point->name[0] && (point->is_automatic || !is_automatic))
			found = point;
	return found;
}

static size_t count_automatic(const struct session *session)
{
	size_t count = 0;
	for (const struct point *point = session->points; point; point = point->next)
		count += point->is_automatic;
	return count;
}

/* What there is no room for any more; what was not made to be forgotten is told. */
static void evict(struct errand *errand)
{
	struct session *session = errand->session;
	while (count_automatic(session) > session->undo)
		point_drop(session, oldest_unnamed(session, true));
	errand->evicted = json_object_new_array();
	while (session->point_count > SESSION_POINTS_MAX) {
		struct point *point = oldest_unnamed(session, false);
		if (!point)
			point = session->points->next; /* checked before: it has a name */
		(void)json_object_array_add(errand->evicted, point_describe(point, false));
		point_drop(session, point);
	}
}

static struct point *add_point(struct errand *errand)
{
	struct session *session = errand->session;
	struct point *point = xcalloc(1, sizeof(*point));
	*point = (struct point){ .next = session->points,
		.id = errand->id,
		.parent = session->current,
		.is_automatic = errand->kind == ERRAND_TURN,
		.execution = session->executions,
		.created = time(NULL) };
	point->runner = take_ptr(&errand->copy);
	memcpy(point->name, errand->name, sizeof(point->name));
	if (point->runner)
		point->runner->point = point;
	session->points = point;
	session->point_count++;
	session->current = session->base = point->id;
	session->is_at_point = errand->kind != ERRAND_TURN;
	evict(errand);
	return point;
}

static struct json_object *take_list(struct json_object **list)
{
	struct json_object *taken = *list ? *list : json_object_new_array();
	*list = NULL;
	return taken;
}

static void note_files_only(struct errand *errand)
{
	char text[160];
	if (errand->session->memory != MEMORY_NONE)
		return;
	(void)snprintf(text, sizeof(text),
		"only the files in /home/user: what a process of %s has in its memory is not "
		"covered",
		errand->session->language);
	note(errand, text);
}

static void answer_point(struct errand *errand, const struct point *point)
{
	struct json_object *json = json_object_new_object();
	note_files_only(errand);
	json_put(json, "point", point_describe(point, false));
	json_put(json, "notes", take_list(&errand->notes));
	json_put(json, "evicted", take_list(&errand->evicted));
	errand_answer(errand, json, -1);
}

static void make_branch(struct errand *errand)
{
	struct session *session = errand->session;
	struct json_object *json = json_object_new_object();
	struct session *branch = session_add(errand->family, session, errand->name);
	branch->live = take_ptr(&errand->copy);
	branch->live->session = branch;
	branch->files = errand->id;
	branch->number = session->number;
	branch->executions = session->executions;
	branch->is_started = true;
	json_put(json, "session", session_describe(branch, DETAIL_MADE));
	json_put(json, "notes", take_list(&errand->notes));
	errand_answer(errand, json, -1);
}

void point_finish(struct errand *errand)
{
	char text[sizeof(errand->err.text) + 48];
	errand->kill_us = 0;
	if (!errand->has_failed && errand->kind == ERRAND_BRANCH) {
		make_branch(errand);
	} else if (!errand->has_failed && errand->kind == ERRAND_CHECKPOINT) {
		answer_point(errand, add_point(errand));
	} else if (!errand->has_failed) {
		(void)add_point(errand);
		errand_run_turn(errand);
	} else {
		runner_free(take_ptr(&errand->copy));
		drop_files(errand->family, errand->id);
		if (errand->kind != ERRAND_TURN) {
			errand_fail(errand);
			return;
		}
		/* it is wanted all the same, and its result says so */
		(void)snprintf(
			text, sizeof(text), "this turn cannot be undone: %s", errand->err.text);
		note(errand, text);
		errand->has_failed = false;
		errand_run_turn(errand);
	}
}

/* ---- going back to one ------------------------------------------------------------------------
 */

static void are_files_restored(
	void *context, int r, const struct snapshot_report *report, const struct err *err)
{
	struct errand *errand = context;
	struct session *session = errand->session;
	struct json_object *json = NULL;
	(void)report;
	errand->kill_us = 0;
	if (r < 0) {
		errand->err = *err;
		(void)err_wrap(&errand->err, "the variables are those of the point, but the files");
		errand_fail(errand);
		return;
	}
	note_files_only(errand);
	session->base = session->current = errand->point->id;
	session->is_at_point = true;
	session->backs = GOES_BACK;
	json = json_object_new_object();
	json_put(json, "point", point_describe(errand->point, false));
	json_put(json, "notes", take_list(&errand->notes));
	if (errand->is_undo) {
		point_drop(session, errand->point);
		session->is_at_point = false;
	}
	errand_answer(errand, json, -1);
}

void rollback_go_on(struct errand *errand)
{
	struct session *session = errand->session;
	struct family *family = errand->family;
	if (errand->has_failed && session->live) {
		errand_fail(errand);
		return;
	}
	if (errand->has_failed) {
		session_end(session, "%s", errand->err.text);
		return;
	}
	if (errand->copy) {
		ahead_drop(session);
		ahead_retire(session, session->live);
		session->live = take_ptr(&errand->copy);
	}
	errand->phase = PHASE_RESTORE;
	const struct scribe_order order = { .work = SCRIBE_RESTORE, .id = errand->point->id };
	scribes_order(&family->sessions->scribes, &family->cell->workspace, &order,
		are_files_restored, errand);
}

void rollback_begin(struct errand *errand)
{
	struct session *session = errand->session;
	struct err err = { 0 };
	int r = 0;
	errand->phase = PHASE_FORK;
	errand->pending = 1;
	errand_set_deadline(errand, clock_us() + COPY_US);
	errand->point = point_of(session, errand->id); /* it may have gone while we waited */
	if (!errand->point || errand->point->is_lost)
		r = err_set(&err, ERR_MISSING, "session '%s': the point is gone", session->name);
	else if (session->memory == MEMORY_COPY && !ahead_take_spare(errand))
		r = ask_copy(errand, errand->point->runner, false, &err);
	else if (session->memory == MEMORY_OWN)
		r = ask_own(errand, "rollback", errand->point->id, &err);
	if (r < 0)
		fail(errand, &err);
	bool is_there = errand->copy && !errand->copy->birth;
	if (r < 0 || is_there || session->memory == MEMORY_NONE)
		errand_take_answer(errand);
}
