/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers: connections of clients, which the daemon passed on. A caller may ask one thing after the
 * other; while an errand of its own is under way it may only interrupt or kill.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "keeper/session.h"
#include "wire/json.h"

enum { LIST_PAGE = 64 };

void caller_tell(struct caller *caller, struct json_object *answer, int fd)
{
	auto_json struct json_object *json = answer;
	auto_free char *text = json_print(json, false);
	size_t len = strlen(text);
	struct err err = { 0 };
	if (len > LOAN_TEXT_MAX) {
		(void)err_set(&err, ERR_LIMIT, "the answer is over %d bytes", LOAN_TEXT_MAX);
		caller_refuse(caller, &err);
		return;
	}
	/* one who does not read what he asked for misses it */
	(void)loan_send(caller->fd, LOAN_SESSION, 0, text, len, &fd, fd >= 0 ? 1 : 0);
}

void caller_tell_files(struct caller *caller, const struct session *session)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "files", json_new_string(session->name));
	caller_tell(caller, json, session->family->cell->workspace.fd);
}

void caller_refuse(struct caller *caller, const struct err *err)
{
	(void)loan_send(caller->fd, LOAN_REFUSED, (uint32_t)err->code, err->text, strlen(err->text),
		NULL, 0);
}

pid_t caller_pid(const struct caller *caller)
{
	struct ucred peer = { .pid = 0 };
	socklen_t len = sizeof(peer);
	(void)getsockopt(caller->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	return peer.pid;
}

void caller_drop(struct caller *caller)
{
	struct sessions *sessions = caller->sessions;
	if (caller->errand)
		errand_forget_caller(caller->errand);
	if (caller->owned)
		session_end(caller->owned, "whoever made it left");
	if (caller->prev)
		caller->prev->next = caller->next;
	else
		sessions->callers = caller->next;
	if (caller->next)
		caller->next->prev = caller->prev;
	sessions->caller_count--;
	loop_remove(&sessions->loop, &caller->watch);
	own_close(&caller->fd);
	free(caller);
}

/* ---- verbs that are answered at once -----------------------------------------------------------
 */

static const struct tomb *find_tomb(
	const struct sessions *sessions, const char *tenant, const char *name)
{
	const struct tomb *found = NULL;
	for (size_t i = 0; i < SESSION_TOMBS; i++) {
		const struct tomb *tomb = &sessions->tombs[i];
		if (strcmp(tomb->name, name) == 0 && strcmp(tomb->tenant, tenant) == 0 &&
			(!found || tomb->when >= found->when))
			found = tomb;
	}
	return found;
}

/* The session that is meant; in a turn it need not be named. */
static int find(struct caller *caller, const struct session_request *request,
	struct session **ret_session, struct err *err)
{
	const char *name = request->session;
	if (!name[0] && caller->errand) {
		*ret_session = caller->errand->session;
		return 0;
	}
	*ret_session = session_find(caller->sessions, request->tenant, name);
	if (*ret_session)
		return 0;
	const struct tomb *tomb = find_tomb(caller->sessions, request->tenant, name);
	if (!tomb)
		return err_set(err, ERR_MISSING,
			"there is no session '%s'; hotcell session list shows those there are",
			name);
	return err_set(err, ERR_MISSING, "session '%s' ended %lld s ago: %s", name,
		(long long)(time(NULL) - tomb->when), tomb->why);
}

/* The next of a tenant's, or of all there are: NULL. */
static const struct session *next_of(const struct session *session, const char *tenant)
{
	while (session && tenant && strcmp(session->tenant, tenant) != 0)
		session = session->next;
	return session;
}

/* In pages, for there may be more than one message holds. */
static struct json_object *list(const struct sessions *sessions, const char *tenant, uint64_t after)
{
	struct json_object *json = json_object_new_object();
	struct json_object *array = json_object_new_array();
	const struct session *session = sessions->first;
	while (session && session->serial <= after)
		session = session->next;
	session = next_of(session, tenant);
	for (int i = 0; session && i < LIST_PAGE; i++) {
		struct json_object *info = session_describe(session, DETAIL_LIST);
		if (!tenant)
			json_put(info, "tenant",
				session->tenant[0] ? json_new_string(session->tenant) : NULL);
		(void)json_object_array_add(array, info);
		after = session->serial;
		session = next_of(session->next, tenant);
	}
	json_put(json, "sessions", array);
	json_put(json, "next", session ? json_object_new_uint64(after) : NULL);
	return json;
}

/* Whether there was anything to interrupt. */
static bool interrupt(struct session *session)
{
	struct errand *errand = session->family->errand;
	bool is_running = errand && errand->session == session && errand->kind == ERRAND_TURN &&
			  errand->phase == PHASE_RUN;
	if (is_running)
		errand_signal(errand, clock_us());
	return is_running;
}

static void tell_interrupted(struct caller *caller, bool was_running)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "interrupted", json_object_new_boolean(was_running));
	caller_tell(caller, json, -1);
}

/* A client whose code does not heed an interrupt gives its turn up; whether the session goes on is
 * told as the turn's end. */
static void give_up(struct session *session)
{
	const struct ending ending = {
		"its code did not stop when it was interrupted, and was killed", SIGKILL, false,
		true
	};
	errand_lose_live(session, &ending);
}

static void kill_session(struct caller *caller, struct session *session)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "killed", json_new_string(session->name));
	caller_tell(caller, json, -1);
	session_end(session, "it was killed");
}

/* ---- verbs that are errands
 * ----------------------------------------------------------------------- */

static size_t count_of(const struct sessions *sessions, const char *tenant)
{
	size_t count = 0;
	for (const struct session *session = next_of(sessions->first, tenant); session;
		session = next_of(session->next, tenant))
		count++;
	return count;
}

static int make_name(struct sessions *sessions, const struct session_request *request, char *name,
	struct err *err)
{
	const char *wanted = request->name;
	if (sessions->count >= sessions->host.most)
		return err_set(err, ERR_LIMIT,
			"there are %zu sessions already, as many as this daemon holds; end some "
			"with hotcell session kill, or serve with a higher --sessions",
			sessions->count);
	if (request->most > 0 && count_of(sessions, request->tenant) >= (size_t)request->most)
		return err_set(err, ERR_LIMIT,
			"the token '%s' may have %lld sessions at once, and has them; end one "
			"first",
			request->tenant, (long long)request->most);
	if (wanted[0] && session_find(sessions, request->tenant, wanted))
		return err_set(err, ERR_INVALID,
			"there is a session '%s' already; take another name, or end it with "
			"hotcell session kill %s",
			wanted, wanted);
	memcpy(name, wanted, SESSION_NAME_BYTES + 1);
	return 0;
}

static int start_session(
	struct caller *caller, const struct session_request *request, struct err *err)
{
	struct sessions *sessions = caller->sessions;
	struct session like = { .idle_s = request->idle_s,
		.lifetime_s = request->lifetime_s,
		.undo = (size_t)request->undo,
		.memory = request->memory,
		.limits = request->limits,
		.guard = request->guard,
		.is_told = request->is_told,
		.wants_check = request->wants_check };
	struct family *family = NULL;
	struct runner *runner = NULL;
	char name[SESSION_NAME_BYTES + 1];
	TRY(make_name(sessions, request, name, err));
	memcpy(like.tenant, request->tenant, sizeof(like.tenant));
	memcpy(like.language, request->language, sizeof(like.language));
	TRY(family_open(sessions, request, &family, &runner, &like.is_warm, err));
	struct session *session = session_add(family, &like, name);
	session->live = runner;
	runner->session = session;
	family->in_place = session;
	if (request->is_owned) {
		session->owner = caller;
		caller->owned = session;
	}
	struct errand *errand = errand_new(ERRAND_START, session, caller);
	errand->wants_workspace = request->wants_workspace;
	return errand_submit(errand, false, false, err);
}

static int take_turn(struct caller *caller, const struct session_request *request,
	struct session *session, struct loan_message *message, struct err *err)
{
	if (message->fd_count != 4)
		return err_set(err, ERR_INVALID,
			"request: a turn comes with 4 descriptors, not %zu", message->fd_count);
	if (session->wants_check && !request->is_question &&
		strcmp(request->checked, session->id) != 0) {
		caller_tell(caller, session_describe_check(session), -1);
		return 0;
	}
	struct errand *errand = errand_new(ERRAND_TURN, session, caller);
	for (size_t i = 0; i < COUNT_OF(errand->fds); i++)
		errand->fds[i] = take_fd(&message->fds[i]);
	errand->is_question = request->is_question;
	return errand_submit(errand, request->waits, false, err);
}

static int checkpoint(struct caller *caller, const struct session_request *request,
	struct session *session, struct err *err)
{
	if (request->point[0] && point_find(session, request))
		return err_set(err, ERR_INVALID, "session '%s' has a point '%s' already",
			session->name, request->point);
	if (request->point[0] && strspn(request->point, "0123456789") == strlen(request->point))
		return err_set(err, ERR_INVALID,
			"'%s' cannot be the name of a point: digits alone are its number",
			request->point);
	struct errand *errand = errand_new(ERRAND_CHECKPOINT, session, caller);
	memcpy(errand->name, request->point, sizeof(errand->name));
	return errand_submit(errand, request->waits, false, err);
}

/* What the last turn can be undone with: the nearest automatic point among those that the state
 * comes from. One that was just gone back to is that state itself. */
static struct point *find_undo(const struct session *session)
{
	struct point *point = point_of(session, session->current);
	if (point && point->is_automatic && session->is_at_point)
		point = point_of(session, point->parent);
	while (point && !point->is_automatic)
		point = point_of(session, point->parent);
	return point;
}

static int roll_back(struct caller *caller, const struct session_request *request,
	struct session *session, struct err *err)
{
	bool is_undo = request->verb == VERB_UNDO;
	struct point *point = is_undo ? find_undo(session) : point_find(session, request);
	if (!point && is_undo)
		return err_set(err, ERR_MISSING,
			session->undo > 0
				? "there is nothing left to undo in session '%s'"
				: "session '%s' keeps nothing to undo: make it with --undo N, or "
				  "make points with hotcell session checkpoint",
			session->name);
	if (!point && request->point[0])
		return err_set(err, ERR_MISSING,
			"session '%s' has no point '%s'; hotcell session info %s shows them",
			session->name, request->point, session->name);
	if (!point)
		return err_set(err, ERR_MISSING,
			"session '%s' has no point %u; hotcell session info %s shows them",
			session->name, request->point_id, session->name);
	if (point->is_lost)
		return err_set(err, ERR_MISSING,
			"point %u of session '%s' is lost: its process was ended, most likely for "
			"want of memory",
			point->id, session->name);
	struct errand *errand = errand_new(ERRAND_ROLLBACK, session, caller);
	errand->id = point->id;
	errand->is_undo = is_undo;
	return errand_submit(errand, request->waits, request->is_forced, err);
}

static int branch(struct caller *caller, const struct session_request *request,
	struct session *session, struct err *err)
{
	char name[SESSION_NAME_BYTES + 1];
	TRY(make_name(caller->sessions, request, name, err));
	if (session->memory != MEMORY_COPY)
		return err_set(err, ERR_INVALID,
			"a session of %s cannot be branched: its process cannot be copied; make a "
			"new one",
			session->language);
	struct errand *errand = errand_new(ERRAND_BRANCH, session, caller);
	memcpy(errand->name, name, sizeof(errand->name));
	return errand_submit(errand, request->waits, false, err);
}

/* Files of a session without branches are always in place, also while code runs. */
static int lend_files(struct caller *caller, const struct session_request *request,
	struct session *session, struct err *err)
{
	const struct family *family = session->family;
	bool is_alone = family->members == session && !session->sibling;
	if (is_alone && session->is_started) {
		session_use(session);
		caller_tell_files(caller, session);
		return 0;
	}
	struct errand *errand = errand_new(ERRAND_FILES, session, caller);
	return errand_submit(errand, request->waits, false, err);
}

static int answer(struct caller *caller, const struct session_request *request,
	struct loan_message *message, struct err *err)
{
	struct session *session = NULL;
	bool is_all = request->is_all && !request->tenant[0];
	if (request->verb == VERB_LIST) {
		caller_tell(caller,
			list(caller->sessions, is_all ? NULL : request->tenant,
				(uint64_t)request->after),
			-1);
		return 0;
	}
	bool is_control = request->verb == VERB_INTERRUPT || request->verb == VERB_KILL;
	if (caller->errand && !is_control)
		return err_set(err, ERR_INVALID, "request: one thing after the other");
	if (request->verb == VERB_NEW && request->is_owned && caller->owned)
		return err_set(err, ERR_INVALID, "request: a connection owns one session");
	if (request->verb == VERB_NEW)
		return start_session(caller, request, err);
	TRY(find(caller, request, &session, err));
	switch (request->verb) {
	case VERB_INFO:
		caller_tell(caller, session_describe(session, DETAIL_WHOLE), -1);
		return 0;
	case VERB_INTERRUPT:
		if (caller->errand) /* in a turn the answer is the turn's end */
			(void)interrupt(session);
		else
			tell_interrupted(caller, interrupt(session));
		return 0;
	case VERB_KILL:
		if (caller->errand && caller->errand->session == session)
			give_up(session);
		else
			kill_session(caller, session);
		return 0;
	case VERB_TURN:
		return take_turn(caller, request, session, message, err);
	case VERB_CHECKPOINT:
		return checkpoint(caller, request, session, err);
	case VERB_ROLLBACK:
	case VERB_UNDO:
		return roll_back(caller, request, session, err);
	case VERB_FORK:
		return branch(caller, request, session, err);
	case VERB_FILES:
		return lend_files(caller, request, session, err);
	default:
		return err_set(err, ERR_INVALID, "request: this verb is not served");
	}
}

static void serve(struct caller *caller, struct loan_message *message)
{
	struct session_request request;
	struct err err = { 0 };
	int r = session_request_read(&request, message->text, message->len, &err);
	if (r == 0)
		r = answer(caller, &request, message, &err);
	if (r < 0)
		caller_refuse(caller, &err);
	session_request_done(&request);
}

static void wake(void *context, uint32_t events)
{
	struct caller *caller = context;
	struct loan_message message;
	(void)events;
	int r = loan_receive(caller->fd, &message);
	if (r == -EAGAIN)
		return;
	if (r <= 0 || message.kind != LOAN_SESSION) {
		if (r > 0)
			loan_message_done(&message);
		caller_drop(caller);
		return;
	}
	serve(caller, &message);
	loan_message_done(&message);
}

/* The first descriptor is the connection, the others the client's. */
void sessions_take(struct sessions *sessions, struct loan_message *message)
{
	if (message->fd_count < 1 || sessions->caller_count >= SESSION_CALLERS)
		return; /* it is hung up on */
	struct caller *caller = xcalloc(1, sizeof(*caller));
	*caller = (struct caller){ .sessions = sessions, .fd = take_fd(&message->fds[0]) };
	message->fd_count--;
	memmove(message->fds, message->fds + 1, message->fd_count * sizeof(message->fds[0]));
	caller->next = sessions->callers;
	if (caller->next)
		caller->next->prev = caller;
	sessions->callers = caller;
	sessions->caller_count++;
	caller->watch = (struct watch){ caller->fd, wake, caller };
	(void)fcntl(caller->fd, F_SETFL, O_RDWR | O_NONBLOCK);
	if (loop_add(&sessions->loop, &caller->watch, EPOLLIN | EPOLLRDHUP) < 0) {
		caller->watch.fd = -1;
		caller_drop(caller);
		return;
	}
	serve(caller, message);
}
