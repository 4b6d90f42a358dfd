/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "loan/loan.h"
#include "model/limits.h"
#include "wire/json.h"
#include "wire/utf8.h"

enum { REQUEST_DEPTH = 4 };

/* clang-format off */
const char *const session_verb_names[SESSION_VERB_COUNT + 1] = {
	[VERB_NONE]       = "none",
	[VERB_NEW]        = "new",
	[VERB_TURN]       = "turn",
	[VERB_LIST]       = "list",
	[VERB_INFO]       = "info",
	[VERB_INTERRUPT]  = "interrupt",
	[VERB_KILL]       = "kill",
	[VERB_CHECKPOINT] = "checkpoint",
	[VERB_ROLLBACK]   = "rollback",
	[VERB_UNDO]       = "undo",
	[VERB_FORK]       = "fork",
	[VERB_FILES]      = "files",
};

const char *const session_memory_names[SESSION_MEMORY_COUNT + 1] = {
	[MEMORY_NONE] = "files",
	[MEMORY_COPY] = "copy",
	[MEMORY_OWN]  = "own",
};

enum part_type {
	PART_NONE = 0,
	PART_NAME,    /* char[SESSION_NAME_BYTES + 1] */
	PART_TEXT,    /* char * */
	PART_OBJECT,  /* char *: the object's text */
	PART_STRINGS,
	PART_NUMBER,
	PART_BOOL,
	PART_POINT,   /* a name or a number */
	PART_LANGUAGE,
	PART_MEMORY,
	PART_VERB,
};

#define AT(member) offsetof(struct session_request, member)

static const struct part {
	const char *key;
	enum part_type type;
	size_t offset;
	int64_t max;
} parts[] = {
	{ "verb",      PART_VERB,     AT(verb),            0 },
	{ "tenant",    PART_NAME,     AT(tenant),          0 },
	{ "session",   PART_NAME,     AT(session),         0 },
	{ "name",      PART_NAME,     AT(name),            0 },
	{ "new",       PART_NAME,     AT(name),            0 },
	{ "checked",   PART_NAME,     AT(checked),         0 },
	{ "point",     PART_POINT,    AT(point),           0 },
	{ "language",  PART_LANGUAGE, AT(language),        0 },
	{ "points",    PART_MEMORY,   AT(memory),          0 },
	{ "policy",    PART_TEXT,     AT(policy),          LOAN_TEXT_MAX },
	{ "limits",    PART_OBJECT,   AT(limits),          SESSION_LIMITS_BYTES },
	{ "guard",     PART_OBJECT,   AT(guard),           SESSION_GUARD_BYTES },
	{ "argv",      PART_STRINGS,  AT(argv),            LIMIT_NAMES },
	{ "env",       PART_STRINGS,  AT(env),             LIMIT_ENV },
	{ "idle",      PART_NUMBER,   AT(idle_s),          SESSION_SECONDS_MAX },
	{ "lifetime",  PART_NUMBER,   AT(lifetime_s),      SESSION_SECONDS_MAX },
	{ "undo",      PART_NUMBER,   AT(undo),            SESSION_UNDO_MAX },
	{ "after",     PART_NUMBER,   AT(after),           INT64_MAX },
	{ "most",      PART_NUMBER,   AT(most),            INT64_MAX },
	{ "all",       PART_BOOL,     AT(is_all),          0 },
	{ "wait",      PART_BOOL,     AT(waits),           0 },
	{ "force",     PART_BOOL,     AT(is_forced),       0 },
	{ "workspace", PART_BOOL,     AT(wants_workspace), 0 },
	{ "owned",     PART_BOOL,     AT(is_owned),        0 },
	{ "question",  PART_BOOL,     AT(is_question),     0 },
	{ "tell",      PART_BOOL,     AT(is_told),         0 },
	{ "check",     PART_BOOL,     AT(wants_check),     0 },
};
/* clang-format on */

bool session_name_is_sound(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t len = strlen(name);
	return len > 0 && len <= SESSION_NAME_BYTES && strspn(name, letters) == len &&
	       name[0] != '-' && name[0] != '.';
}

static int refuse_type(
	const char *key, const char *wanted, struct json_object *value, struct err *err)
{
	return err_set(err, ERR_INVALID, "request: '%s' must be %s, not %s", key, wanted,
		json_kind(value));
}

static int read_name(struct json_object *value, const char *key, char *name, struct err *err)
{
	char quote[80];
	if (!json_object_is_type(value, json_type_string))
		return refuse_type(key, "a string", value, err);
	const char *text = json_object_get_string(value);
	if (!session_name_is_sound(text))
		return err_set(err, ERR_INVALID,
			"'%s' cannot be a name: use up to %d letters, digits, '.', '_' and '-', "
			"and neither '.' nor '-' first",
			utf8_line(text, quote, sizeof(quote)), SESSION_NAME_BYTES);
	(void)snprintf(name, SESSION_NAME_BYTES + 1, "%s", text);
	return 0;
}

static int read_point(struct json_object *value, const char *key, struct session_request *request,
	struct err *err)
{
	if (json_object_is_type(value, json_type_string))
		return read_name(value, key, request->point, err);
	int64_t number = json_object_get_int64(value);
	if (!json_object_is_type(value, json_type_int) || number < 1 || number > UINT32_MAX)
		return refuse_type(key, "a name or a number from 1", value, err);
	request->point_id = (uint32_t)number;
	return 0;
}

/* The index of a word among NULL-terminated names. */
static int read_word(struct json_object *value, const char *key, const char *const *names,
	int *ret_index, struct err *err)
{
	char quote[48];
	const char *text = json_object_get_string(value);
	for (int i = 0; names[i] && json_object_is_type(value, json_type_string); i++) {
		*ret_index = i;
		if (strcmp(names[i], text) == 0)
			return 0;
	}
	return err_set(err, ERR_INVALID, "request: there is no %s '%s'", key,
		utf8_line(text ? text : "null", quote, sizeof(quote)));
}

static int read_strings(
	struct json_object *value, const struct part *part, struct strings *list, struct err *err)
{
	if (!json_object_is_type(value, json_type_array))
		return refuse_type(part->key, "an array of strings", value, err);
	if (json_object_array_length(value) > (size_t)part->max)
		return err_set(err, ERR_LIMIT, "request: '%s' has more than %d items", part->key,
			(int)part->max);
	for (size_t i = 0; i < json_object_array_length(value); i++) {
		struct json_object *item = json_object_array_get_idx(value, i);
		if (!json_object_is_type(item, json_type_string))
			return refuse_type(part->key, "an array of strings", item, err);
		strings_add(list, json_object_get_string(item));
	}
	return 0;
}

static int keep_text(char **slot, const struct part *part, const char *text, struct err *err)
{
	if (strlen(text) > (size_t)part->max)
		return err_set(err, ERR_LIMIT, "request: '%s' is over %d bytes", part->key,
			(int)part->max);
	free(*slot);
	*slot = xstrdup(text);
	return 0;
}

static int read_number(
	struct json_object *value, const struct part *part, int64_t *ret_number, struct err *err)
{
	int64_t number = json_object_get_int64(value);
	if (!json_object_is_type(value, json_type_int) || number < 0 || number > part->max)
		return err_set(err, ERR_INVALID,
			"request: '%s' must be a whole number from 0 to %lld", part->key,
			(long long)part->max);
	*ret_number = number;
	return 0;
}

static int read_part(struct session_request *request, const struct part *part,
	struct json_object *value, struct err *err)
{
	void *slot = (char *)request + part->offset;
	int index = 0;
	switch (part->type) {
	case PART_VERB:
		TRY(read_word(value, part->key, session_verb_names, &index, err));
		request->verb = (enum session_verb)index;
		return 0;
	case PART_MEMORY:
		TRY(read_word(value, part->key, session_memory_names, &index, err));
		request->memory = (enum session_memory)index;
		return 0;
	case PART_NAME:
		return read_name(value, part->key, slot, err);
	case PART_POINT:
		return read_point(value, part->key, request, err);
	case PART_LANGUAGE:
		TRY(read_name(value, part->key, request->point, err));
		(void)snprintf(
			request->language, sizeof(request->language), "%.31s", request->point);
		request->point[0] = '\0';
		return 0;
	case PART_TEXT:
		if (!json_object_is_type(value, json_type_string))
			return refuse_type(part->key, "a string", value, err);
		return keep_text(slot, part, json_object_get_string(value), err);
	case PART_OBJECT:
		if (!json_object_is_type(value, json_type_object))
			return refuse_type(part->key, "an object", value, err);
		return keep_text(slot, part, json_object_to_json_string(value), err);
	case PART_STRINGS:
		return read_strings(value, part, slot, err);
	case PART_NUMBER:
		return read_number(value, part, slot, err);
	case PART_BOOL:
		if (!json_object_is_type(value, json_type_boolean))
			return refuse_type(part->key, "a boolean", value, err);
		*(bool *)slot = json_object_get_boolean(value);
		return 0;
	case PART_NONE:
		break;
	}
	return err_set(err, ERR_BROKEN, "request: '%s' cannot be read", part->key);
}

static int read_all(struct session_request *request, struct json_object *json, struct err *err)
{
	json_object_object_foreach(json, key, value)
	{
		char quote[48];
		const struct part *part = NULL;
		for (size_t i = 0; i < COUNT_OF(parts) && !part; i++)
			if (strcmp(parts[i].key, key) == 0)
				part = &parts[i];
		if (!part)
			return err_set(err, ERR_INVALID, "request: '%s' is not known",
				utf8_line(key, quote, sizeof(quote)));
		if (value) /* null: not given */
			TRY(read_part(request, part, value, err));
	}
	return 0;
}

/* What a verb cannot do without. Inside a turn some need no session: it is the turn's. */
static int check(const struct session_request *request, struct err *err)
{
	static const bool needs_session[SESSION_VERB_COUNT] = { [VERB_TURN] = true,
		[VERB_INFO] = true,
		[VERB_CHECKPOINT] = true,
		[VERB_ROLLBACK] = true,
		[VERB_UNDO] = true,
		[VERB_FORK] = true,
		[VERB_FILES] = true };
	if (request->verb == VERB_NONE)
		return err_set(err, ERR_INVALID, "request: 'verb' is missing");
	if (needs_session[request->verb] && !request->session[0])
		return err_set(err, ERR_INVALID, "request: 'session' is missing");
	if (request->verb == VERB_NEW &&
		(!request->policy || request->argv.count == 0 || !request->language[0]))
		return err_set(err, ERR_INVALID,
			"request: a new session needs 'policy', 'language' and 'argv'");
	if (request->verb == VERB_ROLLBACK && !request->point[0] && request->point_id == 0)
		return err_set(err, ERR_INVALID, "request: 'point' is missing");
	for (size_t i = 0; i < request->env.count; i++)
		if (!strchr(request->env.items[i], '='))
			return err_set(err, ERR_INVALID, "request: a variable has no value");
	return 0;
}

int session_request_read(
	struct session_request *request, const char *text, size_t len, struct err *err)
{
	auto_json struct json_object *json = NULL;
	*request = (struct session_request){ 0 };
	TRY(json_read(text, len, LOAN_TEXT_MAX, REQUEST_DEPTH, &json, err));
	TRY(read_all(request, json, err));
	request->policy_len = request->policy ? strlen(request->policy) : 0;
	return check(request, err);
}

void session_request_done(struct session_request *request)
{
	free(request->policy);
	free(request->limits);
	free(request->guard);
	strings_done(&request->argv);
	strings_done(&request->env);
	*request = (struct session_request){ 0 };
}
