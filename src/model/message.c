/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shapes a message may have, as a table: which fields, of which type, how long. Nothing else
 * passes, so what is made of a message later needs no second look.
 */
#include "model/message.h"

#include <string.h>

#include "base/own.h"
#include "model/limits.h"
#include "wire/json.h"
#include "wire/utf8.h"

/* clang-format off */
const char *const message_names[MESSAGE_KIND_COUNT + 1] = {
	[MESSAGE_NONE]          = "none",
	[MESSAGE_DISPLAY]       = "display",
	[MESSAGE_RESULT]        = "result",
	[MESSAGE_ERROR]         = "error",
	[MESSAGE_INPUT_REQUEST] = "input_request",
	[MESSAGE_STATUS]        = "status",
	[MESSAGE_DONE]          = "done",
	[MESSAGE_COMPLETIONS]   = "completions",
	[MESSAGE_INSPECTION]    = "inspection",
	[MESSAGE_COMPLETENESS]  = "completeness",
	[MESSAGE_REPORT]        = "report",
	[MESSAGE_REFUSED]       = "refused",
};
/* clang-format on */

enum shape {
	SHAPE_NONE = 0,
	SHAPE_TEXT,   /* a string; null counts as missing */
	SHAPE_NUMBER, /* a whole number from 0 */
	SHAPE_BOOL,
	SHAPE_BUNDLE,   /* an object: MIME type -> anything */
	SHAPE_OBJECT,   /* an object of any content */
	SHAPE_TRACE,    /* an array of frames */
	SHAPE_FINDINGS, /* an array of findings */
	SHAPE_TEXTS,    /* an array of texts */
};

struct member {
	const char *name;
	enum shape shape;
	size_t max; /* bytes of a text */
	bool is_needed;
};

enum {
	MEMBERS_MAX = 8,
	NAME_BYTES = 256,
	TEXT_BYTES = 64 << 10,
	TYPE_BYTES = 128,
	TYPES_MAX = 16,
	TEXTS_MAX = 10000
};

/* clang-format off */
static const struct member shapes[MESSAGE_KIND_COUNT][MEMBERS_MAX] = {
	[MESSAGE_DISPLAY] = {
		{ "data", SHAPE_BUNDLE, 0, true }, { "metadata", SHAPE_OBJECT, 0, false } },
	[MESSAGE_RESULT] = {
		{ "data", SHAPE_BUNDLE, 0, true }, { "metadata", SHAPE_OBJECT, 0, false } },
	[MESSAGE_ERROR] = {
		{ "kind", SHAPE_TEXT, 15, true }, { "name", SHAPE_TEXT, NAME_BYTES, true },
		{ "value", SHAPE_TEXT, TEXT_BYTES, true }, { "line", SHAPE_NUMBER, 0, false },
		{ "column", SHAPE_NUMBER, 0, false }, { "traceback", SHAPE_TRACE, 0, false } },
	[MESSAGE_INPUT_REQUEST] = {
		{ "prompt", SHAPE_TEXT, TEXT_BYTES, true }, { "password", SHAPE_BOOL, 0, false } },
	[MESSAGE_STATUS] = { { "state", SHAPE_TEXT, NAME_BYTES, true } },
	[MESSAGE_DONE] = {
		{ "exit_code", SHAPE_NUMBER, 0, true }, { "execution_count", SHAPE_NUMBER, 0, false },
		{ "interrupted", SHAPE_BOOL, 0, false } },
	[MESSAGE_COMPLETIONS] = {
		{ "matches", SHAPE_TEXTS, NAME_BYTES, true }, { "start", SHAPE_NUMBER, 0, true },
		{ "end", SHAPE_NUMBER, 0, true } },
	[MESSAGE_INSPECTION] = { { "text", SHAPE_TEXT, 1 << 20, false } },
	[MESSAGE_COMPLETENESS] = {
		{ "state", SHAPE_TEXT, 15, true }, { "indent", SHAPE_TEXT, NAME_BYTES, false } },
	[MESSAGE_REPORT] = {
		{ "findings", SHAPE_FINDINGS, 0, true }, { "imports", SHAPE_TEXTS, NAME_BYTES * 4, true },
		{ "left_out", SHAPE_NUMBER, 0, true } },
	[MESSAGE_REFUSED] = {
		{ "kind", SHAPE_TEXT, 31, true }, { "name", SHAPE_TEXT, NAME_BYTES * 4, true } },
};

static const struct member frame_shape[] = {
	{ "file", SHAPE_TEXT, 4096, true }, { "line", SHAPE_NUMBER, 0, false },
	{ "column", SHAPE_NUMBER, 0, false }, { "function", SHAPE_TEXT, NAME_BYTES, false },
	{ "source", SHAPE_TEXT, 4096, false },
};

static const struct member finding_shape[] = {
	{ "rule", SHAPE_TEXT, 31, true }, { "severity", SHAPE_TEXT, 7, true },
	{ "line", SHAPE_NUMBER, 0, true }, { "column", SHAPE_NUMBER, 0, true },
	{ "reason", SHAPE_TEXT, 2048, true }, { "module", SHAPE_TEXT, NAME_BYTES * 4, false },
};

/* How the code failed, as far as a runner can tell: the rest is the supervisor's to say. */
static const char *const error_kinds[] = { "syntax", "import", "runtime" };
/* clang-format on */

static int check_members(struct json_object *json, const struct member *members, size_t count,
	bool has_event, struct err *err);

static int check_bundle(struct json_object *value, const char *name, struct err *err)
{
	if (!json_object_is_type(value, json_type_object))
		return err_set(
			err, ERR_INVALID, "'%s' must be an object, not %s", name, json_kind(value));
	if (json_object_object_length(value) > TYPES_MAX)
		return err_set(err, ERR_LIMIT, "'%s' has more than %d types", name, TYPES_MAX);
	json_object_object_foreach(value, type, item)
	{
		static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
					      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&-^_.+/";
		size_t len = strlen(type);
		const char *slash = strchr(type, '/');
		(void)item;
		if (len >= TYPE_BYTES || strspn(type, letters) != len || !slash || slash == type ||
			slash[1] == '\0' || strchr(slash + 1, '/'))
			return err_set(
				err, ERR_INVALID, "'%s' has a key that is no MIME type", name);
	}
	return 0;
}

/* An array of at most `max` objects of one shape. */
static int check_list(struct json_object *value, const char *name, size_t max,
	const struct member *members, size_t count, struct err *err)
{
	if (!json_object_is_type(value, json_type_array))
		return err_set(
			err, ERR_INVALID, "'%s' must be an array, not %s", name, json_kind(value));
	size_t length = json_object_array_length(value);
	if (length > max)
		return err_set(err, ERR_LIMIT, "'%s' has more than %zu items", name, max);
	for (size_t i = 0; i < length; i++) {
		struct json_object *item = json_object_array_get_idx(value, i);
		if (!json_object_is_type(item, json_type_object))
			return err_set(
				err, ERR_INVALID, "'%s' has an item that is no object", name);
		TRY(check_members(item, members, count, false, err));
	}
	return 0;
}

static int check_texts(struct json_object *value, const struct member *member, struct err *err)
{
	if (!json_object_is_type(value, json_type_array))
		return err_set(err, ERR_INVALID, "'%s' must be an array, not %s", member->name,
			json_kind(value));
	size_t count = json_object_array_length(value);
	if (count > TEXTS_MAX)
		return err_set(
			err, ERR_LIMIT, "'%s' has more than %d texts", member->name, TEXTS_MAX);
	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_array_get_idx(value, i);
		if (!json_object_is_type(item, json_type_string) ||
			(size_t)json_object_get_string_len(item) > member->max)
			return err_set(err, ERR_INVALID,
				"'%s' has an item that is no text, or over %zu bytes", member->name,
				member->max);
	}
	return 0;
}

static int check_shape(struct json_object *value, const struct member *member, struct err *err)
{
	enum json_type wanted = json_type_null;
	switch (member->shape) {
	case SHAPE_BUNDLE:
		return check_bundle(value, member->name, err);
	case SHAPE_TRACE:
		return check_list(
			value, member->name, LIMIT_TRACE, frame_shape, COUNT_OF(frame_shape), err);
	case SHAPE_FINDINGS:
		return check_list(value, member->name, LIMIT_FINDINGS, finding_shape,
			COUNT_OF(finding_shape), err);
	case SHAPE_TEXTS:
		return check_texts(value, member, err);
	case SHAPE_TEXT:
		wanted = json_type_string;
		break;
	case SHAPE_NUMBER:
		wanted = json_type_int;
		break;
	case SHAPE_BOOL:
		wanted = json_type_boolean;
		break;
	default:
		wanted = json_type_object;
		break;
	}
	if (!json_object_is_type(value, wanted))
		return err_set(
			err, ERR_INVALID, "'%s' must not be %s", member->name, json_kind(value));
	if (member->shape == SHAPE_TEXT && (size_t)json_object_get_string_len(value) > member->max)
		return err_set(err, ERR_LIMIT, "'%s' is over %zu bytes", member->name, member->max);
	if (member->shape == SHAPE_NUMBER &&
		(json_object_get_int64(value) < 0 || json_object_get_int64(value) > INT32_MAX))
		return err_set(err, ERR_INVALID, "'%s' is out of range", member->name);
	return 0;
}

static const struct member *find_member(
	const struct member *members, size_t count, const char *name)
{
	for (size_t i = 0; i < count && members[i].name; i++)
		if (strcmp(members[i].name, name) == 0)
			return &members[i];
	return NULL;
}

static int check_members(struct json_object *json, const struct member *members, size_t count,
	bool has_event, struct err *err)
{
	json_object_object_foreach(json, name, value)
	{
		char quote[48];
		const struct member *member = find_member(members, count, name);
		if (has_event && strcmp(name, "event") == 0)
			continue;
		if (!member)
			return err_set(err, ERR_INVALID, "'%s' is not known",
				utf8_line(name, quote, sizeof(quote)));
		if (value || member->is_needed)
			TRY(check_shape(value, member, err));
	}
	for (size_t i = 0; i < count && members[i].name; i++)
		if (members[i].is_needed && !json_object_object_get_ex(json, members[i].name, NULL))
			return err_set(err, ERR_INVALID, "'%s' is missing", members[i].name);
	return 0;
}

static int check_message(struct message *message, struct err *err)
{
	const char *event = json_object_get_string(json_object_object_get(message->json, "event"));
	for (int kind = MESSAGE_NONE + 1; kind < MESSAGE_KIND_COUNT && event; kind++)
		if (strcmp(event, message_names[kind]) == 0)
			message->kind = (enum message_kind)kind;
	if (message->kind == MESSAGE_NONE)
		return err_set(err, ERR_INVALID, "'event' is missing or not known");
	TRY(check_members(message->json, shapes[message->kind], MEMBERS_MAX, true, err));
	if (message->kind != MESSAGE_ERROR)
		return 0;
	const char *kind = json_object_get_string(json_object_object_get(message->json, "kind"));
	for (size_t i = 0; i < COUNT_OF(error_kinds); i++)
		if (strcmp(kind, error_kinds[i]) == 0)
			return 0;
	return err_set(err, ERR_INVALID, "'kind' of the error is not known");
}

int message_read(struct message *message, const char *data, size_t len, struct err *err)
{
	*message = (struct message){ 0 };
	TRY(json_read(data, len, LIMIT_FRAME_BYTES, LIMIT_FRAME_DEPTH, &message->json, err));
	if (check_message(message, err) == 0)
		return 0;
	message_done(message);
	return -1;
}

void message_done(struct message *message)
{
	json_free(&message->json);
	*message = (struct message){ 0 };
}

bool message_is_event(const struct message *message)
{
	return message->kind == MESSAGE_DISPLAY || message->kind == MESSAGE_RESULT ||
	       message->kind == MESSAGE_ERROR || message->kind == MESSAGE_INPUT_REQUEST;
}

/* What an event carries: a bundle has its own "data", the rest of a message is one object. */
static void put_data(struct json_object *event, struct json_object *message)
{
	struct json_object *bundle = json_object_object_get(message, "data");
	if (bundle) {
		struct json_object *metadata = json_object_object_get(message, "metadata");
		json_put(event, "data", json_object_get(bundle));
		json_put(event, "metadata",
			metadata ? json_object_get(metadata) : json_object_new_object());
		return;
	}
	struct json_object *data = json_object_new_object();
	json_object_object_foreach(message, name, value)
	{
		if (strcmp(name, "event") != 0)
			(void)json_object_object_add(data, name, json_object_get(value));
	}
	json_put(event, "data", data);
}

char *message_to_json(const struct message *message, const char *id, int64_t seq)
{
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, "event", json_new_string(message_names[message->kind]));
	put_data(json, message->json);
	json_put(json, "execution_id", json_new_string(id));
	json_put(json, "seq", json_object_new_int64(seq));
	auto_free char *text = json_print(json, false);
	return xasprintf("%s\n", text);
}

int message_exit_code(const struct message *message)
{
	return json_object_get_int(json_object_object_get(message->json, "exit_code"));
}

int64_t message_execution_count(const struct message *message)
{
	return json_object_get_int64(json_object_object_get(message->json, "execution_count"));
}

bool message_is_interrupted(const struct message *message)
{
	return json_object_get_boolean(json_object_object_get(message->json, "interrupted"));
}

const char *message_refused_module(const struct message *message)
{
	const char *kind = json_object_get_string(json_object_object_get(message->json, "kind"));
	if (message->kind != MESSAGE_REFUSED || strcmp(kind, "import") != 0)
		return NULL;
	return json_object_get_string(json_object_object_get(message->json, "name"));
}
