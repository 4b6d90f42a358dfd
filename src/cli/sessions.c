/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sessions.h"

#include <limits.h>
#include <string.h>

#include "base/own.h"
#include "loan/loan.h"
#include "model/units.h"
#include "wire/utf8.h"

enum { SECONDS_MAX = 365 * 86400, UNDO_MAX = 64, NAMES_MAX = 4096 };

struct json_object *sessions_request(const char *verb, const char *session)
{
	struct json_object *request = json_object_new_object();
	json_put(request, "verb", json_new_string(verb));
	if (session)
		json_put(request, "session", json_new_string(session));
	return request;
}

int sessions_ask(struct json_object *request, struct json_object **ret_answer, struct err *err)
{
	auto_json struct json_object *own = request;
	const char *session = json_object_get_string(json_object_object_get(request, "session"));
	int r = session_ask(own, ret_answer, err);
	if (r < 0 && session)
		sessions_name_nearest(session, err);
	return r;
}

void sessions_name_nearest(const char *session, struct err *err)
{
	auto_json struct json_object *answer = NULL;
	struct err other = { 0 };
	const char *names[NAMES_MAX];
	size_t count = 0;
	if (err->code != ERR_MISSING || strstr(err->text, "did you mean"))
		return;
	auto_json struct json_object *request = sessions_request("list", NULL);
	if (session_ask(request, &answer, &other) < 0)
		return;
	struct json_object *list = json_object_object_get(answer, "sessions");
	size_t len =
		json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	for (size_t i = 0; i < len && count < NAMES_MAX; i++) {
		const char *name = json_object_get_string(
			json_object_object_get(json_object_array_get_idx(list, i), "name"));
		if (name && strcmp(name, session) == 0)
			return; /* something else of it is missing */
		if (name)
			names[count++] = name;
	}
	const char *near = units_nearest(session, names, count);
	if (!near)
		return;
	size_t used = strlen(err->text);
	(void)snprintf(err->text + used, sizeof(err->text) - used, "; did you mean '%s'?", near);
}

bool sessions_are_served(void)
{
	char path[PATH_MAX], keeper[PATH_MAX];
	loan_socket_path(path, sizeof(path));
	loan_keeper_path(path, keeper, sizeof(keeper));
	auto_fd int daemon_fd = loan_connect(path);
	auto_fd int keeper_fd = daemon_fd >= 0 ? -1 : loan_connect(keeper);
	return daemon_fd >= 0 || keeper_fd >= 0;
}

void sessions_tell_start(void)
{
	if (!sessions_are_served())
		(void)fprintf(stderr, "hotcell: starting a daemon, which holds sessions and leaves "
				      "when there are none\n");
}

static void tell_list(struct json_object *answer, const char *key, const char *what)
{
	struct json_object *list = json_object_object_get(answer, key);
	size_t count =
		json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	for (size_t i = 0; i < count; i++) {
		char line[512];
		struct json_object *item = json_object_array_get_idx(list, i);
		const char *text = json_object_get_string(item);
		if (json_object_is_type(item, json_type_object)) {
			const char *name =
				json_object_get_string(json_object_object_get(item, "name"));
			text = name ? name
				    : json_object_get_string(json_object_object_get(item, "id"));
		}
		(void)fprintf(stderr, "hotcell: %s%s\n", what,
			utf8_line(text ? text : "", line, sizeof(line)));
	}
}

void sessions_tell_notes(struct json_object *answer)
{
	tell_list(answer, "notes", "note: ");
	tell_list(answer, "evicted", "no room was left for point ");
}

int sessions_check_name(const char *name, struct err *err)
{
	if (session_is_name(name))
		return 0;
	return err_set(err, ERR_INVALID,
		"'%.70s' cannot be a session's name: up to 64 letters, digits, '.', '_' and '-', "
		"and neither '.' nor '-' first",
		name);
}

void sessions_print(struct json_object *json)
{
	auto_free char *text = json_print(json, true);
	(void)printf("%s\n", text);
}

static int take_count(const char *flag, const char *value, int64_t min, int64_t max, int64_t *ret,
	struct err *err)
{
	int64_t count = 0;
	if (units_parse_count(value, &count) < 0 || count < min || count > max)
		return err_set(err, ERR_INVALID,
			"--%s: '%.40s' is not a whole number from %lld to %lld, for example --%s "
			"%lld",
			flag, value, (long long)min, (long long)max, flag,
			(long long)(max > 1000 ? 600 : 5));
	*ret = count;
	return 0;
}

int session_options_take(
	struct session_options *options, const char *flag, const char *value, struct err *err)
{
	int r = 0;
	if (strcmp(flag, "idle") == 0)
		r = take_count(flag, value, 1, SECONDS_MAX, &options->idle_s, err);
	else if (strcmp(flag, "lifetime") == 0)
		r = take_count(flag, value, 1, SECONDS_MAX, &options->lifetime_s, err);
	else if (strcmp(flag, "undo") == 0)
		r = take_count(flag, value, 0, UNDO_MAX, &options->undo, err);
	else if (strcmp(flag, "quiet") == 0)
		options->is_quiet = true;
	else
		return 0;
	return r < 0 ? -1 : 1;
}

bool session_takes(const struct field *field)
{
	static const char *const others[] = { "code", "stdin", "out", "spill" };
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		if (strcmp(field->flag, others[i]) == 0)
			return false;
	}
	return true;
}
