/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sessions, their lifetimes, and the memory of those that ended. */
#include "keeper/session.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/own.h"
#include "wire/json.h"

enum { IDLE_S = 3600, LIFETIME_S = 86400, TICK_MAX_US = 1000000 };

struct session *session_find(struct sessions *sessions, const char *tenant, const char *name)
{
	for (struct session *session = sessions->first; session; session = session->next)
		if (strcmp(session->name, name) == 0 && strcmp(session->tenant, tenant) == 0)
			return session;
	return NULL;
}

void sessions_due(struct sessions *sessions, int64_t at_us)
{
	if (at_us > 0 && at_us < sessions->next_us)
		sessions->next_us = at_us;
}

void session_use(struct session *session)
{
	session->last_used = time(NULL);
	session->used_us = clock_us();
}

static void make_id(struct session *session)
{
	uint32_t number = 0;
	do {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			number = (uint32_t)session->serial;
		(void)snprintf(session->id, sizeof(session->id), "s%08x", number);
	} while (session_find(session->sessions, session->tenant, session->id));
}

struct session *session_add(struct family *family, const struct session *like, const char *name)
{
	struct sessions *sessions = family->sessions;
	struct session *session = xcalloc(1, sizeof(*session));
	*session = (struct session){ .sessions = sessions,
		.family = family,
		.sibling = family->members,
		.prev = sessions->last,
		.serial = ++sessions->last_serial,
		.memory = like->memory,
		.limits = like->limits ? xstrdup(like->limits) : NULL,
		.guard = like->guard ? xstrdup(like->guard) : NULL,
		.is_told = like->is_told,
		.wants_check = like->wants_check,
		.created = time(NULL),
		.idle_s = like->idle_s > 0 ? like->idle_s : IDLE_S,
		.lifetime_s = like->lifetime_s > 0 ? like->lifetime_s : LIFETIME_S,
		.undo = like->undo,
		.is_warm = like->is_warm };
	memcpy(session->tenant, like->tenant, sizeof(session->tenant));
	memcpy(session->language, like->language, sizeof(session->language));
	make_id(session);
	(void)snprintf(session->name, sizeof(session->name), "%s", name[0] ? name : session->id);
	session_use(session);
	session->ends_us = clock_us() + session->lifetime_s * 1000000;
	family->members = session;
	if (sessions->last)
		sessions->last->next = session;
	else
		sessions->first = session;
	sessions->last = session;
	sessions->count++;
	sessions_due(sessions, session->used_us + session->idle_s * 1000000);
	sessions_due(sessions, session->ends_us);
	if (sessions->host.changed)
		sessions->host.changed(sessions->host.context, sessions->count);
	return session;
}

static void remember(struct session *session, const char *why)
{
	struct sessions *sessions = session->sessions;
	struct tomb *tomb = &sessions->tombs[sessions->tomb_at++ % SESSION_TOMBS];
	*tomb = (struct tomb){ .when = time(NULL) };
	memcpy(tomb->tenant, session->tenant, sizeof(tomb->tenant));
	memcpy(tomb->name, session->name, sizeof(tomb->name));
	(void)snprintf(tomb->why, sizeof(tomb->why), "%s", why);
}

static void unlink_session(struct session *session)
{
	struct sessions *sessions = session->sessions;
	struct session **at = &session->family->members;
	while (*at != session)
		at = &(*at)->sibling;
	*at = session->sibling;
	if (session->prev)
		session->prev->next = session->next;
	else
		sessions->first = session->next;
	if (session->next)
		session->next->prev = session->prev;
	else
		sessions->last = session->prev;
	sessions->count--;
}

void session_end(struct session *session, const char *fmt, ...)
{
	struct sessions *sessions = session->sessions;
	struct family *family = session->family;
	char why[192];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (session->is_started)
		remember(session, why);
	errand_drop_of(session, why);
	ahead_drop(session);
	ahead_drop_spare(session, NULL);
	runner_free(session->retired);
	runner_free(session->live);
	while (session->points)
		point_drop(session, session->points);
	if (session->owner)
		session->owner->owned = NULL;
	unlink_session(session);
	if (family->in_place == session)
		family->in_place = NULL;
	if (!family->members)
		family_end(family);
	else
		errand_next(family);
	free(session->limits);
	free(session->guard);
	free(session);
	if (sessions->host.changed)
		sessions->host.changed(sessions->host.context, sessions->count);
}

/* ---- the clock --------------------------------------------------------------------------------
 */

static int64_t idle_end_us(const struct session *session)
{
	const struct errand *errand = session->family->errand;
	if (errand && errand->session == session)
		return INT64_MAX;
	return session->used_us + session->idle_s * 1000000;
}

/* False: it ended. */
static bool tick_session(struct session *session, int64_t now_us)
{
	if (session->prepare_us > 0 && session->prepare_us <= now_us)
		ahead_prepare(session);
	if (session->lost_us > 0 && session->lost_us <= now_us)
		session_end(session, "its runner closed the line to the keeper");
	else if (session->ends_us <= now_us)
		session_end(session, "its lifetime of %lld s was over (--lifetime)",
			(long long)session->lifetime_s);
	else if (idle_end_us(session) <= now_us)
		session_end(
			session, "nobody used it for %lld s (--idle)", (long long)session->idle_s);
	else
		return true;
	return false;
}

static void tick_all(struct sessions *sessions, int64_t now_us)
{
	sessions->next_us = INT64_MAX;
	for (struct session *session = sessions->first; session;) {
		if (!tick_session(session, now_us)) {
			session = sessions->first; /* it may not have ended alone */
			continue;
		}
		sessions_due(sessions, session->lost_us);
		sessions_due(sessions, session->prepare_us);
		sessions_due(sessions, session->ends_us);
		sessions_due(sessions, idle_end_us(session));
		session = session->next;
	}
	for (struct family *family = sessions->families, *next; family; family = next) {
		next = family->next;
		if (family->errand)
			errand_tick(family->errand, now_us);
	}
	/* an errand that ended may have taken its family along */
	for (struct family *family = sessions->families; family; family = family->next)
		if (family->errand)
			sessions_due(sessions, errand_due_us(family->errand));
}

int sessions_tick(struct sessions *sessions)
{
	int64_t now_us = clock_us();
	if (sessions->next_us <= now_us)
		tick_all(sessions, now_us);
	int64_t left_us = sessions->next_us == INT64_MAX ? TICK_MAX_US : sessions->next_us - now_us;
	left_us = left_us > TICK_MAX_US ? TICK_MAX_US : left_us < 0 ? 0 : left_us;
	return (int)((left_us + 999) / 1000);
}

/* ---- beginning and end ------------------------------------------------------------------------
 */

int sessions_open(const struct sessions_host *host, struct sessions **ret_sessions, struct err *err)
{
	struct sessions *sessions = xcalloc(1, sizeof(*sessions));
	sessions->host = *host;
	sessions->next_us = INT64_MAX;
	int r = loop_init(&sessions->loop);
	if (r < 0) {
		free(sessions);
		return err_sys(err, -r, "make an event loop");
	}
	scribes_init(&sessions->scribes, &sessions->loop);
	*ret_sessions = sessions;
	return 0;
}

void sessions_close(struct sessions *sessions)
{
	if (!sessions)
		return;
	sessions->host.changed = NULL;
	while (sessions->first)
		session_end(sessions->first, "the keeper was told to end");
	while (sessions->families)
		family_free(sessions->families);
	while (sessions->callers)
		caller_drop(sessions->callers);
	scribes_done(&sessions->scribes);
	loop_done(&sessions->loop);
	free(sessions);
}

int sessions_fd(const struct sessions *sessions)
{
	return sessions->loop.epoll_fd;
}

void sessions_serve(struct sessions *sessions)
{
	(void)loop_turn(&sessions->loop, 0);
}

void sessions_set_most(struct sessions *sessions, size_t most)
{
	sessions->host.most = most;
}

size_t sessions_count(const struct sessions *sessions)
{
	return sessions->count;
}
