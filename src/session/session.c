/* SPDX-License-Identifier: Apache-2.0 */
#include "session/session.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "engine/engine.h"
#include "loan/loan.h"
#include "model/limits.h"
#include "session/parts.h"
#include "wire/json.h"

enum { ANSWER_MS = 120000, ANSWER_DEPTH = 8, ANSWER_BYTES = LOAN_TEXT_MAX };

bool session_is_name(const char *name)
{
	return session_name_is_sound(name);
}

/* ---- the way there ----------------------------------------------------------------------------
 */

static bool is_nobody(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED;
}

static bool has_keeper(const char *path)
{
	char keeper[PATH_MAX];
	loan_keeper_path(path, keeper, sizeof(keeper));
	auto_fd int fd = loan_connect(keeper);
	return fd >= 0;
}

int session_connect(bool is_needed, int *ret_fd, struct err *err)
{
	char path[PATH_MAX];
	const char *on_demand = getenv("HOTCELL_ON_DEMAND");
	loan_socket_path(path, sizeof(path));
	*ret_fd = loan_connect(path);
	if (*ret_fd >= 0)
		return 0;
	if (is_nobody(*ret_fd) && !is_needed && !has_keeper(path)) {
		*ret_fd = -1;
		return 0;
	}
	if (is_nobody(*ret_fd) && on_demand && strcmp(on_demand, "0") == 0)
		return err_set(err, ERR_MISSING,
			"nobody serves at '%s', and HOTCELL_ON_DEMAND=0 says that no daemon is to "
			"be "
			"started: hotcell serve starts one",
			path);
	return loan_connect_or_start(path, ret_fd, err);
}

/* ---- asking -----------------------------------------------------------------------------------
 */

static int send_request(int conn_fd, struct json_object *request, struct err *err)
{
	auto_free char *text = json_print(request, false);
	int r = loan_send(conn_fd, LOAN_SESSION, 0, text, strlen(text), NULL, 0);
	if (r == -EMSGSIZE)
		return err_set(err, ERR_LIMIT,
			"the request is over %d bytes: hand long values over in a file, with "
			"--file",
			LOAN_TEXT_MAX);
	return r < 0 ? err_sys(err, -r, "ask the daemon") : 0;
}

/* `ret_fd`: the descriptor that came with it, -1 when none did; NULL: none is wanted. */
static int take_answer(
	struct loan_message *message, struct json_object **ret_answer, int *ret_fd, struct err *err)
{
	if (message->kind == LOAN_REFUSED)
		return loan_refusal(message, err);
	if (message->kind != LOAN_SESSION)
		return err_set(err, ERR_BROKEN, "the daemon's answer makes no sense");
	TRY(json_read(message->text, message->len, ANSWER_BYTES, ANSWER_DEPTH, ret_answer, err));
	if (ret_fd)
		*ret_fd = message->fd_count > 0 ? take_fd(&message->fds[0]) : -1;
	return 0;
}

static int await_answer(int conn_fd, int interrupt_fd, struct json_object **ret_answer, int *ret_fd,
	struct err *err)
{
	struct loan_message message;
	struct pollfd fds[] = {
		{ .fd = conn_fd, .events = POLLIN },
		{ .fd = interrupt_fd, .events = POLLIN },
	};
	int n = 0;
	do {
		n = poll(fds, COUNT_OF(fds), ANSWER_MS);
	} while (n < 0 && errno == EINTR);
	if (n > 0 && fds[1].revents)
		return err_set(err, ERR_INTERRUPTED, "interrupted while waiting for the session");
	int r = n > 0 ? loan_receive(conn_fd, &message) : 0;
	if (r <= 0)
		return err_set(err, ERR_BROKEN,
			n == 0 ? "the keeper did not answer" : "the daemon or its keeper ended");
	r = take_answer(&message, ret_answer, ret_fd, err);
	loan_message_done(&message);
	return r;
}

static int ask_once(
	int conn_fd, struct json_object *request, struct json_object **ret_answer, struct err *err)
{
	TRY(send_request(conn_fd, request, err));
	return await_answer(conn_fd, -1, ret_answer, NULL, err);
}

static bool is_verb(struct json_object *request, const char *verb)
{
	const char *text = json_object_get_string(json_object_object_get(request, "verb"));
	return text && strcmp(text, verb) == 0;
}

/* It comes in pages. */
static int ask_list(
	int conn_fd, struct json_object *asked, struct json_object **ret_answer, struct err *err)
{
	struct json_object *tenant = json_object_object_get(asked, "tenant");
	struct json_object *all = json_object_object_get(asked, "all");
	auto_json struct json_object *whole = json_object_new_object();
	struct json_object *sessions = json_object_new_array();
	struct json_object *next = NULL;
	int64_t after = 0;
	json_put(whole, "sessions", sessions);
	do {
		auto_json struct json_object *request = json_object_new_object();
		auto_json struct json_object *page = NULL;
		json_put(request, "verb", json_new_string("list"));
		if (tenant)
			json_put(request, "tenant", json_object_get(tenant));
		if (all)
			json_put(request, "all", json_object_get(all));
		json_put(request, "after", json_object_new_int64(after));
		TRY(ask_once(conn_fd, request, &page, err));
		struct json_object *some = json_object_object_get(page, "sessions");
		size_t count = some ? json_object_array_length(some) : 0;
		for (size_t i = 0; i < count; i++)
			(void)json_object_array_add(
				sessions, json_object_get(json_object_array_get_idx(some, i)));
		next = json_object_object_get(page, "next");
		after = json_object_get_int64(next);
	} while (next);
	*ret_answer = take_ptr(&whole);
	return 0;
}

static int answer_nobody(
	struct json_object *request, struct json_object **ret_answer, struct err *err)
{
	const char *name = json_object_get_string(json_object_object_get(request, "session"));
	if (!is_verb(request, "list"))
		return err_set(err, ERR_MISSING,
			"there is no session '%s': nobody serves here, so there are none",
			name ? name : "");
	*ret_answer = json_object_new_object();
	json_put(*ret_answer, "sessions", json_object_new_array());
	return 0;
}

static int ask(struct json_object *request, struct json_object **ret_answer, struct err *err)
{
	auto_fd int conn_fd = -1;
	TRY(session_connect(false, &conn_fd, err));
	if (conn_fd < 0)
		return answer_nobody(request, ret_answer, err);
	if (is_verb(request, "list"))
		return ask_list(conn_fd, request, ret_answer, err);
	return ask_once(conn_fd, request, ret_answer, err);
}

int session_ask(struct json_object *request, struct json_object **ret_answer, struct err *err)
{
	int r = ask(request, ret_answer, err);
	bool is_question = is_verb(request, "list") || is_verb(request, "info");
	if (r == 0 || err->code != ERR_BROKEN || !is_question)
		return r;
	/* whoever answers may just have been replaced, and asking again changes nothing */
	*err = (struct err){ 0 };
	return ask(request, ret_answer, err);
}

/* ---- a new one --------------------------------------------------------------------------------
 */

/* What belongs to one execution is none of a session's. */
static int check_spec(struct spec *spec, struct err *err)
{
	if (spec->code || spec->file || spec->exec.count > 0 || spec->args.count > 0 ||
		spec->stdin_path || spec->outs.count > 0 || spec->spill)
		return err_set(err, ERR_INVALID,
			"a new session executes nothing yet: code, arguments, --stdin, --out and "
			"--spill belong to hotcell session exec");
	spec->code = xstrdup(""); /* something must be run for a spec to be sound */
	int r = spec_check(spec, err);
	free(take_ptr(&spec->code));
	return r;
}

/* "NAME" alone is taken from our own environment, when it is there. */
static struct json_object *list_variables(const struct strings *given)
{
	struct strings whole = { 0 };
	for (size_t i = 0; i < given->count; i++) {
		const char *value = getenv(given->items[i]);
		if (strchr(given->items[i], '=')) {
			strings_add(&whole, given->items[i]);
		} else if (value) {
			auto_free char *variable = xasprintf("%s=%s", given->items[i], value);
			strings_add(&whole, variable);
		}
	}
	struct json_object *list = strings_to_json(&whole);
	strings_done(&whole);
	return list;
}

static struct json_object *write_request(const struct spec *spec,
	const struct engine_session *session, const struct session_wish *wish)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "verb", json_new_string("new"));
	if (wish->tenant)
		json_put(json, "tenant", json_new_string(wish->tenant));
	if (wish->most > 0)
		json_put(json, "most", json_object_new_int64(wish->most));
	json_put(json, "name", json_new_string(wish->name));
	json_put(json, "policy", json_new_string(session->policy));
	json_put(json, "language", json_new_string(session->language));
	json_put(json, "points", json_new_string(session->points ? session->points : "files"));
	json_put(json, "argv", strings_to_json(&session->argv));
	json_put(json, "env", list_variables(&spec->env));
	json_put(json, "limits", spec_limits_to_json(spec));
	json_put(json, "guard", json_tokener_parse(session->guard));
	json_put(json, "tell", json_object_new_boolean(session->is_told));
	json_put(json, "check", json_object_new_boolean(session->wants_check));
	json_put(json, "idle", json_object_new_int64(wish->idle_s));
	json_put(json, "lifetime", json_object_new_int64(wish->lifetime_s));
	json_put(json, "undo", json_object_new_int64(wish->undo));
	json_put(json, "workspace", json_object_new_boolean(spec->files.count > 0));
	if (wish->ret_owner_fd)
		json_put(json, "owned", json_object_new_boolean(true));
	return json;
}

/* Its files could not be copied: a session without them is not what was asked for. */
static int take_back(int conn_fd, const char *tenant, struct json_object *info)
{
	struct err err = { 0 };
	auto_json struct json_object *request = json_object_new_object();
	auto_json struct json_object *answer = NULL;
	json_put(request, "verb", json_new_string("kill"));
	if (tenant)
		json_put(request, "tenant", json_new_string(tenant));
	json_put(request, "session", json_object_get(json_object_object_get(info, "name")));
	(void)ask_once(conn_fd, request, &answer, &err);
	return -1;
}

int session_new(struct spec *spec, const struct session_wish *wish, struct json_object **ret_info,
	struct err *err)
{
	struct engine_session session = { 0 };
	auto_json struct json_object *info = NULL;
	auto_fd int conn_fd = -1;
	auto_fd int workspace_fd = -1;
	if (wish->name && !session_is_name(wish->name))
		return err_set(err, ERR_INVALID,
			"'%.80s' cannot be a name: use up to %d letters, digits, '.', '_' and '-', "
			"and neither '.' nor '-' first",
			wish->name, SESSION_NAME_MAX);
	TRY(check_spec(spec, err));
	TRY(engine_session(spec, &session, err));
	auto_json struct json_object *request = write_request(spec, &session, wish);
	engine_session_done(&session);
	TRY(session_connect(true, &conn_fd, err));
	TRY(send_request(conn_fd, request, err));
	TRY(await_answer(conn_fd, wish->interrupt_fd, &info, &workspace_fd, err));
	if (spec->files.count > 0 && keeper_fill_workspace(workspace_fd, spec, err) < 0)
		return take_back(conn_fd, wish->tenant, info);
	if (wish->ret_owner_fd)
		*wish->ret_owner_fd = take_fd(&conn_fd);
	*ret_info = take_ptr(&info);
	return 0;
}

/* ---- its files --------------------------------------------------------------------------------
 */

int session_workspace(const char *tenant, const char *session, bool waits, int *ret_workspace_fd,
	int *ret_conn_fd, struct err *err)
{
	auto_fd int conn_fd = -1;
	auto_json struct json_object *request = json_object_new_object();
	auto_json struct json_object *answer = NULL;
	json_put(request, "verb", json_new_string("files"));
	if (tenant)
		json_put(request, "tenant", json_new_string(tenant));
	json_put(request, "session", json_new_string(session));
	json_put(request, "wait", json_object_new_boolean(waits));
	TRY(session_connect(false, &conn_fd, err));
	if (conn_fd < 0)
		return answer_nobody(request, &answer, err);
	TRY(send_request(conn_fd, request, err));
	TRY(await_answer(conn_fd, -1, &answer, ret_workspace_fd, err));
	if (*ret_workspace_fd < 0)
		return err_set(
			err, ERR_BROKEN, "the files of session '%s' cannot be seen", session);
	*ret_conn_fd = take_fd(&conn_fd);
	return 0;
}

int session_files(
	const char *tenant, const char *session, struct json_object **ret_files, struct err *err)
{
	auto_fd int workspace_fd = -1;
	auto_fd int conn_fd = -1;
	TRY(session_workspace(tenant, session, true, &workspace_fd, &conn_fd, err));
	*ret_files = keeper_list_files(workspace_fd);
	return 0;
}
