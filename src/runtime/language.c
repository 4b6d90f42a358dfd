/* SPDX-License-Identifier: Apache-2.0 */
/* One language definition: JSON in, checked field by field. */
#include "runtime/runtime.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "model/limits.h"
#include "model/units.h"
#include "wire/json.h"
#include "wire/utf8.h"

enum { LANGUAGE_DEPTH = 4, LANGUAGE_ITEMS = 64 };

enum part_type { PART_NONE = 0, PART_TEXT, PART_STRINGS, PART_BOOL, PART_DEFAULTS, PART_PRELOADS };

struct part {
	const char *name;
	enum part_type type;
	size_t offset;
	bool is_needed;
};

#define AT(member) offsetof(struct language, member)

/* clang-format off */
static const struct part parts[] = {
	{ "name",            PART_TEXT,     AT(name),            true },
	{ "title",           PART_TEXT,     AT(title),           true },
	{ "aliases",         PART_STRINGS,  AT(aliases),         false },
	{ "endings",         PART_STRINGS,  AT(endings),         false },
	{ "program",         PART_TEXT,     AT(program),         true },
	{ "argv",            PART_STRINGS,  AT(argv),            true },
	{ "version",         PART_STRINGS,  AT(version),         false },
	{ "package",         PART_TEXT,     AT(package),         true },
	{ "needs",           PART_STRINGS,  AT(needs),           false },
	{ "documentation",   PART_TEXT,     AT(documentation),   false },
	{ "channel",         PART_BOOL,     AT(has_channel),     false },
	{ "needs_full_proc", PART_BOOL,     AT(needs_full_proc), false },
	{ "defaults",        PART_DEFAULTS, AT(defaults),        false },
	{ "compile",         PART_STRINGS,  AT(compile),         false },
	{ "compile_defaults", PART_DEFAULTS, AT(compile_defaults), false },
	{ "prepare",         PART_STRINGS,  AT(prepare),         false },
	{ "prepare_defaults", PART_DEFAULTS, AT(prepare_defaults), false },
	{ "started",         PART_STRINGS,  AT(started),         false },
	{ "guest",           PART_STRINGS,  AT(guest),           false },
	{ "preload",         PART_PRELOADS, AT(preload),         false },
	{ "cold_env",        PART_STRINGS,  AT(cold_env),        false },
	{ "session",         PART_STRINGS,  AT(session),         false },
	{ "points",          PART_TEXT,     AT(points),          false },
	{ "check",           PART_STRINGS,  AT(check),           false },
	{ "guarded",         PART_BOOL,     AT(is_guarded),      false },
};

static const struct placeholder {
	const char *name;
	size_t offset;
} placeholders[] = {
	{ "{file}",     offsetof(struct places, file) },
	{ "{runtime}",  offsetof(struct places, runtime) },
	{ "{binary}",   offsetof(struct places, binary) },
	{ "{prepared}", offsetof(struct places, prepared) },
};
/* clang-format on */

static int refuse_type(
	const char *name, const char *wanted, struct json_object *value, struct err *err)
{
	return err_set(
		err, ERR_INVALID, "field '%s' must be %s, not %s", name, wanted, json_kind(value));
}

static int read_text(char **slot, const char *name, struct json_object *value, struct err *err)
{
	if (!json_object_is_type(value, json_type_string))
		return refuse_type(name, "a string", value, err);
	if (json_object_get_string_len(value) == 0)
		return err_set(err, ERR_INVALID, "field '%s' is empty", name);
	*slot = xstrdup(json_object_get_string(value));
	return 0;
}

static int read_strings(
	struct strings *list, const char *name, struct json_object *value, struct err *err)
{
	if (!json_object_is_type(value, json_type_array))
		return refuse_type(name, "an array of strings", value, err);
	size_t count = json_object_array_length(value);
	if (count > LANGUAGE_ITEMS)
		return err_set(
			err, ERR_LIMIT, "field '%s' has more than %d items", name, LANGUAGE_ITEMS);
	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_array_get_idx(value, i);
		if (!json_object_is_type(item, json_type_string))
			return refuse_type(name, "an array of strings", item, err);
		if (json_object_get_string_len(item) == 0)
			return err_set(err, ERR_INVALID, "field '%s' has an empty item", name);
		strings_add(list, json_object_get_string(item));
	}
	return 0;
}

static int check_default(const struct field *field, const char *text, struct err *err)
{
	struct spec scratch;
	spec_init(&scratch);
	int r = spec_set(&scratch, field, text, err);
	spec_done(&scratch);
	return r;
}

/* Limits only: a definition must not open the network or mount anything. */
static bool is_limit(const struct field *field)
{
	return field && (field->type == FIELD_SECONDS || field->type == FIELD_SIZE ||
				field->type == FIELD_COUNT || field->type == FIELD_CPUS);
}

static int read_defaults(
	struct strings *list, const char *name, struct json_object *value, struct err *err)
{
	if (!json_object_is_type(value, json_type_object))
		return refuse_type(name, "an object", value, err);
	json_object_object_foreach(value, key, item)
	{
		char quote[48];
		const struct field *field = spec_field(key);
		if (!is_limit(field) || strcmp(field->name, key) != 0)
			return err_set(err, ERR_INVALID, "field '%s': '%s' is not a limit of a run",
				name, utf8_line(key, quote, sizeof(quote)));
		if (!json_object_is_type(item, json_type_string) &&
			!json_object_is_type(item, json_type_int))
			return refuse_type(key, "a string or a whole number", item, err);
		if (check_default(field, json_object_get_string(item), err) < 0)
			return err_wrap(err, "field '%s'", name);
		auto_free char *text = xasprintf("%s=%s", key, json_object_get_string(item));
		strings_add(list, text);
	}
	return 0;
}

static bool is_name(const char *text)
{
	static const char later[] = "abcdefghijklmnopqrstuvwxyz0123456789_+-";
	size_t len = strlen(text);
	return len > 0 && len < 32 && strspn(text, later) == len && text[0] != '-';
}

/* A name as an import statement has it: numpy, matplotlib.pyplot. */
static bool is_module(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char later[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	for (;;) {
		if (*text == '\0' || !strchr(letters, *text))
			return false;
		text += strspn(text, later);
		if (*text == '\0')
			return true;
		if (*text++ != '.')
			return false;
	}
}

static int read_preload(
	struct preload *preload, const char *name, struct json_object *value, struct err *err)
{
	char quote[48];
	if (!is_name(name))
		return err_set(err, ERR_INVALID,
			"field 'preload': '%s' is no name of a-z, 0-9, '_', '+' and '-'",
			utf8_line(name, quote, sizeof(quote)));
	preload->name = xstrdup(name);
	TRY(read_strings(&preload->modules, name, value, err));
	for (size_t i = 0; i < preload->modules.count; i++) {
		if (!is_module(preload->modules.items[i]))
			return err_set(err, ERR_INVALID,
				"field 'preload': '%s' is no module, for example matplotlib.pyplot",
				utf8_line(preload->modules.items[i], quote, sizeof(quote)));
	}
	return 0;
}

static void preloads_done(struct preloads *preloads)
{
	for (size_t i = 0; i < preloads->count; i++) {
		free(preloads->items[i].name);
		strings_done(&preloads->items[i].modules);
	}
	free(preloads->items);
	*preloads = (struct preloads){ 0 };
}

static int read_preloads(
	struct preloads *preloads, const char *name, struct json_object *value, struct err *err)
{
	if (!json_object_is_type(value, json_type_object))
		return refuse_type(name, "an object", value, err);
	if (json_object_object_length(value) > LANGUAGE_ITEMS)
		return err_set(
			err, ERR_LIMIT, "field '%s' has more than %d items", name, LANGUAGE_ITEMS);
	json_object_object_foreach(value, key, item)
	{
		preloads->items =
			xrealloc(preloads->items, preloads->count + 1, sizeof(*preloads->items));
		struct preload *preload = &preloads->items[preloads->count++];
		*preload = (struct preload){ 0 };
		TRY(read_preload(preload, key, item, err));
	}
	return 0;
}

static int read_part(struct language *language, const struct part *part, struct json_object *value,
	struct err *err)
{
	void *slot = (char *)language + part->offset;
	switch (part->type) {
	case PART_TEXT:
		return read_text(slot, part->name, value, err);
	case PART_STRINGS:
		return read_strings(slot, part->name, value, err);
	case PART_DEFAULTS:
		return read_defaults(slot, part->name, value, err);
	case PART_PRELOADS:
		return read_preloads(slot, part->name, value, err);
	case PART_BOOL:
		if (!json_object_is_type(value, json_type_boolean))
			return refuse_type(part->name, "true or false", value, err);
		*(bool *)slot = json_object_get_boolean(value);
		return 0;
	default:
		return err_set(err, ERR_BROKEN, "field '%s' has no type", part->name);
	}
}

static const struct part *find_part(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		if (strcmp(parts[i].name, name) == 0)
			return &parts[i];
	}
	return NULL;
}

static int refuse_unknown(const char *name, struct err *err)
{
	const char *names[COUNT_OF(parts)];
	char quote[48];
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		names[i] = parts[i].name;
	const char *near = units_nearest(name, names, COUNT_OF(parts));
	return err_set(err, ERR_INVALID, "unknown field '%s'%s%s%s",
		utf8_line(name, quote, sizeof(quote)), near ? ", did you mean '" : "",
		near ? near : "", near ? "'?" : "");
}

bool language_uses(const struct strings *argv, const char *placeholder)
{
	for (size_t i = 0; i < argv->count; i++)
		if (strstr(argv->items[i], placeholder))
			return true;
	return false;
}

/* The placeholder that `text` begins with, NULL when there is none. */
static const struct placeholder *placeholder_at(const char *text)
{
	for (size_t i = 0; i < COUNT_OF(placeholders); i++)
		if (strncmp(text, placeholders[i].name, strlen(placeholders[i].name)) == 0)
			return &placeholders[i];
	return NULL;
}

/* Braces mean much to many a language; only a whole argument in them can be a slip. */
static int check_placeholder(const char *name, const char *arg, struct err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	const char *names[COUNT_OF(placeholders)];
	char quote[48];
	size_t len = strlen(arg);
	if (len < 3 || arg[0] != '{' || strspn(arg + 1, letters) != len - 2 ||
		arg[len - 1] != '}' || placeholder_at(arg))
		return 0;
	for (size_t i = 0; i < COUNT_OF(placeholders); i++)
		names[i] = placeholders[i].name;
	const char *near = units_nearest(arg, names, COUNT_OF(placeholders));
	return err_set(err, ERR_INVALID, "field '%s': '%s' stands for nothing%s%s%s", name,
		utf8_line(arg, quote, sizeof(quote)), near ? ", did you mean '" : "",
		near ? near : "", near ? "'?" : "");
}

/* A program is found by a path of the cell, never by looking around. */
static int check_argv(const char *name, const struct strings *argv, struct err *err)
{
	const char *program = argv->items[0];
	const struct placeholder *found = placeholder_at(program);
	bool is_ours = found && strcmp(found->name, "{file}") != 0 &&
		       (program[strlen(found->name)] == '/' || strcmp(program, "{binary}") == 0);
	if (program[0] != '/' && !is_ours)
		return err_set(err, ERR_INVALID,
			"field '%s' must begin with an absolute path, for example /usr/bin/python3",
			name);
	for (size_t i = 1; i < argv->count; i++)
		TRY(check_placeholder(name, argv->items[i], err));
	return 0;
}

static int need_use(
	const char *name, const struct strings *argv, const char *placeholder, struct err *err)
{
	if (language_uses(argv, placeholder))
		return 0;
	return err_set(
		err, ERR_INVALID, "field '%s' must have %s among its arguments", name, placeholder);
}

static int refuse_use(const char *name, const struct strings *argv, const char *placeholder,
	const char *why, struct err *err)
{
	if (!language_uses(argv, placeholder))
		return 0;
	return err_set(err, ERR_INVALID, "field '%s' has %s, but %s", name, placeholder, why);
}

/* Every placeholder that is used stands for something, and what is made is used. */
static int check_making(const struct language *language, struct err *err)
{
	const struct strings *argv = &language->argv;
	const struct strings *compile = &language->compile;
	const struct strings *prepare = &language->prepare;
	if (compile->count > 0) {
		TRY(check_argv("compile", compile, err));
		TRY(need_use("compile", compile, "{file}", err));
		TRY(need_use("compile", compile, "{binary}", err));
		TRY(need_use("argv", argv, "{binary}", err));
	} else {
		TRY(need_use("argv", argv, "{file}", err));
		TRY(refuse_use("argv", argv, "{binary}", "there is no field 'compile'", err));
		if (language->compile_defaults.count > 0)
			return err_set(err, ERR_INVALID,
				"field 'compile_defaults' without a field 'compile'");
	}
	if (prepare->count > 0) {
		TRY(check_argv("prepare", prepare, err));
		TRY(need_use("prepare", prepare, "{binary}", err));
		TRY(refuse_use("prepare", prepare, "{file}", "nothing of the code may enter", err));
		/* both are shown at one place of the cell, what was prepared instead of the rest */
		TRY(refuse_use("argv", argv, "{runtime}", "with 'prepare' it is {prepared}", err));
		return refuse_use(
			"compile", compile, "{runtime}", "with 'prepare' it is {prepared}", err);
	}
	if (language->prepare_defaults.count > 0)
		return err_set(
			err, ERR_INVALID, "field 'prepare_defaults' without a field 'prepare'");
	TRY(refuse_use("argv", argv, "{prepared}", "there is no field 'prepare'", err));
	return refuse_use("compile", compile, "{prepared}", "there is no field 'prepare'", err);
}

/* What stands ready knows nothing of the code, and is told of it over the channel. */
static int check_waiting(const struct language *language, const char *name,
	const struct strings *argv, struct err *err)
{
	if (argv->count == 0)
		return 0;
	TRY(check_argv(name, argv, err));
	TRY(refuse_use(name, argv, "{file}", "it is started before there is any", err));
	TRY(refuse_use(name, argv, "{binary}", "it is started before there is any", err));
	if (language->prepare.count > 0)
		TRY(refuse_use(name, argv, "{runtime}", "with 'prepare' it is {prepared}", err));
	else
		TRY(refuse_use(name, argv, "{prepared}", "there is no field 'prepare'", err));
	if (!language->has_channel)
		return err_set(err, ERR_INVALID, "field '%s' needs \"channel\": true", name);
	return 0;
}

/* A session's runner knows no code either, and speaks over a line, whatever runs may have. */
static int check_session(const struct language *language, struct err *err)
{
	const struct strings *argv = &language->session;
	const char *points = language->points;
	if (points && argv->count == 0)
		return err_set(err, ERR_INVALID, "field 'points' without a field 'session'");
	if (points && strcmp(points, "copy") != 0 && strcmp(points, "own") != 0)
		return err_set(err, ERR_INVALID, "field 'points' must be \"copy\" or \"own\"");
	if (argv->count == 0)
		return 0;
	TRY(check_argv("session", argv, err));
	TRY(refuse_use("session", argv, "{file}", "it is started before there is any", err));
	TRY(refuse_use("session", argv, "{binary}", "it is started before there is any", err));
	return refuse_use("session", argv, "{prepared}", "nothing is prepared for it", err);
}

/* NAME, or the beginning of names with a '*' after it. */
static bool is_pattern(const char *text)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
	size_t len = strspn(text, letters);
	return len > 0 && strcmp(text + len, text[len] == '*' ? "*" : "") == 0;
}

static int check_ready(const struct language *language, struct err *err)
{
	TRY(check_waiting(language, "started", &language->started, err));
	TRY(check_waiting(language, "guest", &language->guest, err));
	TRY(check_session(language, err));
	if (language->preload.count > 0 && language->guest.count == 0)
		return err_set(err, ERR_INVALID, "field 'preload' without a field 'guest'");
	for (size_t i = 0; i < language->cold_env.count; i++) {
		if (!is_pattern(language->cold_env.items[i]))
			return err_set(err, ERR_INVALID,
				"field 'cold_env' must hold names of variables or their "
				"beginnings, "
				"for example LC_*");
	}
	return 0;
}

static int check_names(const struct language *language, struct err *err)
{
	if (!is_name(language->name))
		return err_set(err, ERR_INVALID,
			"field 'name' must be up to 31 of a-z, 0-9, '_', '+' and '-'");
	for (size_t i = 0; i < language->aliases.count; i++) {
		if (!is_name(language->aliases.items[i]))
			return err_set(err, ERR_INVALID,
				"field 'aliases' must hold names of a-z, 0-9, '_', '+' and '-'");
	}
	for (size_t i = 0; i < language->endings.count; i++) {
		if (language->endings.items[i][0] != '.' || language->endings.items[i][1] == '\0')
			return err_set(err, ERR_INVALID,
				"field 'endings' must hold endings with their dot, for example "
				".py");
	}
	for (size_t i = 0; i < language->needs.count; i++) {
		if (language->needs.items[i][0] != '/')
			return err_set(err, ERR_INVALID,
				"field 'needs' must hold absolute paths, for example /usr/bin/go");
	}
	return 0;
}

static int check_check(const struct language *language, struct err *err)
{
	if (language->is_guarded && (!language->has_channel || language->check.count == 0))
		return err_set(err, ERR_INVALID,
			"field 'guarded' needs \"channel\": true and a field 'check'");
	if (language->check.count == 0)
		return 0;
	TRY(check_argv("check", &language->check, err));
	TRY(refuse_use("check", &language->check, "{binary}", "nothing is compiled for it", err));
	return need_use("check", &language->check, "{file}", err);
}

static int check_language(const struct language *language, struct err *err)
{
	TRY(check_names(language, err));
	if (strchr(language->program, '/') || strcmp(language->program, ".") == 0 ||
		strcmp(language->program, "..") == 0)
		return err_set(err, ERR_INVALID,
			"field 'program' must be a plain file name, for example main.py");
	if (language->documentation && strncmp(language->documentation, "https://", 8) != 0)
		return err_set(err, ERR_INVALID,
			"field 'documentation' must be an address that begins with https://");
	TRY(check_argv("argv", &language->argv, err));
	if (language->version.count > 0)
		TRY(check_argv("version", &language->version, err));
	TRY(check_making(language, err));
	TRY(check_check(language, err));
	return check_ready(language, err);
}

static void fill_arg(const char *arg, const struct places *places, struct buf *filled)
{
	while (*arg != '\0') {
		const struct placeholder *found = *arg == '{' ? placeholder_at(arg) : NULL;
		const char *value =
			found ? *(const char *const *)((const char *)places + found->offset) : NULL;
		if (value) {
			(void)buf_append(filled, value, strlen(value));
			arg += strlen(found->name);
		} else { /* as it stands, up to what may be the next one */
			size_t len = 1 + strcspn(arg + 1, "{");
			(void)buf_append(filled, arg, len);
			arg += len;
		}
	}
}

void language_fill(const struct strings *argv, const struct places *places, struct strings *list)
{
	for (size_t i = 0; i < argv->count; i++) {
		auto_buf struct buf filled;
		buf_init(&filled, LIMIT_STRING);
		fill_arg(argv->items[i], places, &filled);
		strings_add(list, buf_text(&filled));
	}
}

const struct strings *language_preload(const struct language *language, const char *name)
{
	for (size_t i = 0; i < language->preload.count; i++) {
		if (strcmp(language->preload.items[i].name, name) == 0)
			return &language->preload.items[i].modules;
	}
	return NULL;
}

bool language_is_cold(const struct language *language, const char *variable)
{
	size_t len = strcspn(variable, "=");
	for (size_t i = 0; i < language->cold_env.count; i++) {
		const char *pattern = language->cold_env.items[i];
		size_t known = strcspn(pattern, "*");
		if (strncmp(pattern, variable, known) == 0 &&
			(pattern[known] == '*' ? known <= len : known == len))
			return true;
	}
	return false;
}

const char *language_path(const struct language *language)
{
	if (language->needs.count > 0)
		return language->needs.items[0];
	if (language->compile.count > 0 && language->compile.items[0][0] == '/')
		return language->compile.items[0];
	return language->argv.items[0];
}

static int check_needed(struct json_object *json, struct err *err)
{
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		struct json_object *value = json_object_object_get(json, parts[i].name);
		bool is_there = json_object_is_type(value, json_type_array)
					? json_object_array_length(value) > 0
					: value != NULL;
		if (parts[i].is_needed && !is_there)
			return err_set(err, ERR_INVALID, "field '%s' is missing", parts[i].name);
	}
	return 0;
}

static int read_language(struct language *language, const char *text, size_t len, struct err *err)
{
	auto_json struct json_object *json = NULL;
	TRY(json_read(text, len, LIMIT_LANGUAGE_BYTES, LANGUAGE_DEPTH, &json, err));
	json_object_object_foreach(json, name, value)
	{
		const struct part *part = find_part(name);
		if (!part)
			return refuse_unknown(name, err);
		TRY(read_part(language, part, value, err));
	}
	TRY(check_needed(json, err));
	return check_language(language, err);
}

int language_from_json(struct language *language, const char *text, size_t len, const char *origin,
	struct err *err)
{
	*language = (struct language){ 0 };
	if (read_language(language, text, len, err) < 0) {
		language_done(language);
		return err_wrap(err, "%s", origin);
	}
	return 0;
}

void language_done(struct language *language)
{
	free(language->name);
	free(language->title);
	strings_done(&language->aliases);
	strings_done(&language->endings);
	free(language->program);
	strings_done(&language->argv);
	strings_done(&language->version);
	free(language->package);
	strings_done(&language->needs);
	free(language->documentation);
	free(language->dir);
	strings_done(&language->defaults);
	strings_done(&language->compile);
	strings_done(&language->compile_defaults);
	strings_done(&language->prepare);
	strings_done(&language->prepare_defaults);
	strings_done(&language->started);
	strings_done(&language->guest);
	strings_done(&language->session);
	free(language->points);
	preloads_done(&language->preload);
	strings_done(&language->cold_env);
	strings_done(&language->check);
	*language = (struct language){ 0 };
}

bool language_parse_version(const char *text, char *version, size_t size)
{
	static const char digits[] = "0123456789";
	for (const char *at = text; *at != '\0';) {
		size_t len = strspn(at, digits);
		if (len == 0) {
			at++;
			continue;
		}
		while (at[len] == '.' && strspn(at + len + 1, digits) > 0)
			len += 1 + strspn(at + len + 1, digits);
		if (memchr(at, '.', len) && len < size) {
			memcpy(version, at, len);
			version[len] = '\0';
			return true;
		}
		at += len;
	}
	return false;
}
