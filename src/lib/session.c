/* SPDX-License-Identifier: Apache-2.0 */
#include "session/session.h"

#include <string.h>

#include "base/own.h"
#include "lib/parts.h"
#include "wire/json.h"

static struct hotcell_session *give(const char *name)
{
	struct hotcell_session *session = xcalloc(1, sizeof(*session));
	session->name = xstrdup(name);
	return session;
}

static struct json_object *request_of(const char *verb, const char *session)
{
	struct json_object *request = json_object_new_object();
	json_put(request, "verb", json_new_string(verb));
	if (session)
		json_put(request, "session", json_new_string(session));
	return request;
}

static const char *name_of(struct json_object *info)
{
	return json_object_get_string(json_object_object_get(info, "name"));
}

/* ---- making, finding, leaving ------------------------------------------------------------------
 */

static int make(const struct hotcell_spec *asked, const char *name,
	struct hotcell_session **ret_session, struct err *err)
{
	struct spec spec;
	auto_json struct json_object *info = NULL;
	const struct session_wish wish = { .name = name,
		.idle_s = asked ? asked->idle_s : 0,
		.lifetime_s = asked ? asked->lifetime_s : 0,
		.undo = asked ? asked->undo : 0,
		.interrupt_fd = asked ? asked->interrupt_fd : -1 };
	int r = spec_build_settled(asked, &spec, err);
	if (r == 0)
		r = session_new(&spec, &wish, &info, err);
	spec_done(&spec);
	TRY(r);
	const char *given = name_of(info);
	if (!given)
		return err_set(err, ERR_BROKEN, "the daemon made a session without a name");
	*ret_session = give(given);
	return 0;
}

int hotcell_session_new(const struct hotcell_spec *spec, const char *name,
	struct hotcell_session **ret_session, struct hotcell_error *error)
{
	struct call call;
	call_begin(&call);
	int r = make(spec, name, ret_session, &call.err);
	return call_end(&call, r, error);
}

int hotcell_session_open(
	const char *name, struct hotcell_session **ret_session, struct hotcell_error *error)
{
	struct call call;
	auto_json struct json_object *info = NULL;
	auto_json struct json_object *request = request_of("info", name);
	call_begin(&call);
	int r = session_ask(request, &info, &call.err);
	if (r == 0)
		*ret_session = give(name);
	return call_end(&call, r, error);
}

void hotcell_session_close(struct hotcell_session *session)
{
	if (!session)
		return;
	free(session->name);
	free(session);
}

const char *hotcell_session_name(const struct hotcell_session *session)
{
	return session->name;
}

/* ---- a turn ------------------------------------------------------------------------------------
 */

/* What a turn can say; the rest is settled when the session is made. */
static int check_turn(const struct spec *spec, struct err *err)
{
	static const char *const names[] = { "timeout", "max_output", "env", "stdin" };
	for (size_t i = 0; i < spec_field_count; i++) {
		bool is_of_turn = spec_fields[i].is_record;
		for (size_t j = 0; j < COUNT_OF(names); j++)
			is_of_turn |= &spec_fields[i] == spec_field(names[j]);
		if (spec_is_given(spec, &spec_fields[i]) && !is_of_turn)
			return err_set(err, ERR_INVALID,
				"\"%s\": belongs to the session, not to a turn in it, which takes "
				"timeout, max_output, env, stdin and how it is recorded",
				spec_fields[i].name);
	}
	return 0;
}

static int64_t given(const struct spec *spec, const char *name, int64_t value)
{
	return spec_is_given(spec, spec_field(name)) ? value : 0;
}

/* How the turn is recorded and kept: as it was asked for, or else as the settings say. */
static int configure_record(const struct spec *wanted, struct spec *spec, struct err *err)
{
	struct config config;
	struct spec record;
	spec_init(&record);
	spec_take_record(&record, wanted);
	record.given = wanted->given;
	int r = settings_load(&config, err);
	if (r == 0)
		r = engine_configure(&record, &config, err);
	config_done(&config);
	spec_take_record(spec, &record);
	spec_done(&record);
	return r;
}

static int take_turn(const char *session, const char *code, const struct hotcell_spec *asked,
	struct hotcell_result **ret_result, struct err *err)
{
	struct spec wanted, spec;
	struct result result;
	spec_init(&spec);
	result_init(&result);
	int r = spec_build(asked, NULL, &wanted, err);
	if (r == 0)
		r = check_turn(&wanted, err);
	if (r == 0)
		r = configure_record(&wanted, &spec, err);
	if (r == 0 && !code)
		r = err_set(err, ERR_INVALID, "there is no code to execute");
	const struct session_turn turn = { .session = session,
		.code = code,
		.code_len = code ? strlen(code) : 0,
		.timeout_ms = given(&wanted, "timeout", wanted.timeout_ms),
		.max_output = given(&wanted, "max_output", wanted.max_output),
		.waits = true,
		.env = wanted.env.count > 0 ? &wanted.env : NULL,
		.stdin_path = wanted.stdin_path,
		.outlet = outlet_of(asked),
		.interrupt_fd = asked ? asked->interrupt_fd : -1,
		.spec = &spec };
	if (r == 0)
		r = session_exec(&turn, &result, err);
	else
		result_refuse(&result, err);
	*ret_result = result_give(&result, &spec);
	spec_done(&wanted);
	spec_done(&spec);
	return r;
}

int hotcell_session_exec(struct hotcell_session *session, const char *code,
	const struct hotcell_spec *turn, struct hotcell_result **ret_result,
	struct hotcell_error *error)
{
	struct call call;
	call_begin(&call);
	int r = take_turn(session->name, code, turn, ret_result, &call.err);
	return call_end(&call, r, error);
}

/* ---- what else can be asked --------------------------------------------------------------------
 */

/* Takes the request. `ret_answer` may be NULL. */
static int ask(
	struct json_object *request, struct json_object **ret_answer, struct hotcell_error *error)
{
	struct call call;
	auto_json struct json_object *own = request;
	auto_json struct json_object *answer = NULL;
	call_begin(&call);
	int r = session_ask(own, &answer, &call.err);
	if (r == 0 && ret_answer)
		*ret_answer = take_ptr(&answer);
	return call_end(&call, r, error);
}

int hotcell_session_checkpoint(struct hotcell_session *session, const char *point, char **ret_point,
	struct hotcell_error *error)
{
	auto_json struct json_object *answer = NULL;
	struct json_object *request = request_of("checkpoint", session->name);
	if (point)
		json_put(request, "point", json_new_string(point));
	TRY(ask(request, &answer, error));
	struct json_object *made = json_object_object_get(answer, "point");
	const char *name = name_of(made);
	const char *id = json_object_get_string(json_object_object_get(made, "id"));
	if (ret_point)
		*ret_point = xstrdup(name ? name : id ? id : "");
	return 0;
}

int hotcell_session_rollback(
	struct hotcell_session *session, const char *point, struct hotcell_error *error)
{
	struct json_object *request = request_of("rollback", session->name);
	json_put(request, "point", json_new_string(point));
	return ask(request, NULL, error);
}

int hotcell_session_undo(struct hotcell_session *session, struct hotcell_error *error)
{
	return ask(request_of("undo", session->name), NULL, error);
}

int hotcell_session_fork(struct hotcell_session *session, const char *name,
	struct hotcell_session **ret_session, struct hotcell_error *error)
{
	struct json_object *request = request_of("fork", session->name);
	json_put(request, "new", json_new_string(name));
	TRY(ask(request, NULL, error));
	*ret_session = give(name);
	return 0;
}

int hotcell_session_interrupt(struct hotcell_session *session, struct hotcell_error *error)
{
	return ask(request_of("interrupt", session->name), NULL, error);
}

int hotcell_session_kill(struct hotcell_session *session, struct hotcell_error *error)
{
	return ask(request_of("kill", session->name), NULL, error);
}

int hotcell_session_info(
	struct hotcell_session *session, char **ret_json, struct hotcell_error *error)
{
	auto_json struct json_object *answer = NULL;
	TRY(ask(request_of("info", session->name), &answer, error));
	*ret_json = json_print(answer, false);
	return 0;
}

int hotcell_session_list(char **ret_json, struct hotcell_error *error)
{
	auto_json struct json_object *answer = NULL;
	TRY(ask(request_of("list", NULL), &answer, error));
	*ret_json = json_print(json_object_object_get(answer, "sessions"), false);
	return 0;
}
