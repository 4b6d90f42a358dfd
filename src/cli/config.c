/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell config: what counts and where it was said, what can be said, and whether a file is right.
 */
#include <string.h>

#include "base/own.h"
#include "cli/cli.h"
#include "engine/engine.h"
#include "model/field.h"
#include "model/units.h"
#include "runtime/runtime.h"
#include "server/server.h"
#include "wire/json.h"
#include "wire/utf8.h"

enum { NAME_SIZE = 64, TEXT_MAX = 64 << 10 };

struct showing {
	struct spec spec;
	uint64_t options; /* bit i: spec_fields[i] came from an option */
	struct config config;
	struct config_wish wish;
	struct strings names; /* of the language that is asked about */
	struct language language;
	bool has_language;
	uint64_t brought; /* bit i: the language brings it */
	bool is_json;
	struct json_object *list; /* owned; of the settings, with is_json */
};

static const struct cli_option show_options[] = {
	CLI_CONFIG_OPTIONS,
	{ .flag = "json", .help = "print JSON instead of a table" },
};

static const struct cli_option check_options[] = {
	{ .flag = "json", .help = "print JSON: whether it is right, and what is wrong" },
};

/* ---- values as text and as JSON -------------------------------------------------------------- */

static void join(const struct strings *list, struct buf *text)
{
	for (size_t i = 0; i < list->count; i++)
		(void)buf_printf(text, "%s%s", i ? ", " : "", list->items[i]);
}

static void put_field(const struct spec *spec, const struct field *field, struct buf *text)
{
	char number[32];
	const void *slot = field_slot(spec, field);
	const struct pairs *pairs = slot;
	switch (field->type) {
	case FIELD_BOOL:
		(void)buf_printf(text, "%s", *(const bool *)slot ? "true" : "false");
		break;
	case FIELD_TEXT:
		if (*(char *const *)slot)
			(void)buf_printf(text, "%s", *(char *const *)slot);
		break;
	case FIELD_SECONDS:
	case FIELD_CPUS:
		units_format_milli(*(const int64_t *)slot, number, sizeof(number));
		(void)buf_printf(text, "%s", *(const int64_t *)slot ? number : field->fallback);
		break;
	case FIELD_SIZE:
		units_format_size(*(const int64_t *)slot, number, sizeof(number));
		(void)buf_printf(text, "%s", number);
		break;
	case FIELD_COUNT:
		units_format_count(*(const int64_t *)slot, number, sizeof(number));
		(void)buf_printf(text, "%s", number);
		break;
	case FIELD_CHOICE:
		(void)buf_printf(text, "%s", field->choices[*(const int *)slot]);
		break;
	case FIELD_STRINGS:
	case FIELD_NAMES:
		join(slot, text);
		break;
	case FIELD_PAIRS:
		for (size_t i = 0; i < pairs->count; i++)
			(void)buf_printf(text, "%s%s%s%s", i ? ", " : "", pairs->items[i].from,
				pairs->items[i].to ? ":" : "",
				pairs->items[i].to ? pairs->items[i].to : "");
		break;
	case FIELD_NONE:
	case FIELD_TYPE_COUNT:
		break;
	}
}

static bool is_list(enum field_type type)
{
	return type == FIELD_STRINGS || type == FIELD_NAMES || type == FIELD_PAIRS;
}

static struct json_object *list_to_json(const struct spec *spec, const struct field *field)
{
	struct json_object *array = json_object_new_array();
	const struct strings *strings = field_slot(spec, field);
	const struct pairs *pairs = field_slot(spec, field);
	bool is_pairs = field->type == FIELD_PAIRS;
	for (size_t i = 0; i < (is_pairs ? pairs->count : strings->count); i++) {
		auto_free char *text =
			is_pairs ? xasprintf("%s%s%s", pairs->items[i].from,
					   pairs->items[i].to ? ":" : "",
					   pairs->items[i].to ? pairs->items[i].to : "")
				 : xstrdup(strings->items[i]);
		(void)json_object_array_add(array, json_new_string(text));
	}
	return array;
}

/* As a file or a request would write it: numbers where that says all. */
static struct json_object *value_to_json(
	const struct spec *spec, const struct field *field, const char *text)
{
	int64_t count = 0;
	if (*text == '\0' && !(spec && is_list(field->type)))
		return NULL;
	if (field->type == FIELD_BOOL)
		return json_object_new_boolean(field_is_true(text));
	if (spec && is_list(field->type))
		return list_to_json(spec, field);
	if (field->type == FIELD_COUNT && units_parse_count(text, &count) == 0)
		return json_object_new_int64(count);
	if ((field->type == FIELD_SECONDS || field->type == FIELD_CPUS) &&
		units_parse_milli(text, &count) == 0)
		return json_new_decimal(count, 3);
	return json_new_string(text);
}

/* ---- show ------------------------------------------------------------------------------------ */

static int take_show(void *context, const char *flag, const char *value, struct err *err)
{
	struct showing *showing = context;
	(void)err;
	if (!cli_take_config(&showing->wish, flag, value))
		showing->is_json = true;
	return 0;
}

static void add_setting(
	struct showing *showing, const struct config_key *key, const char *text, const char *from)
{
	char name[NAME_SIZE], variable[NAME_SIZE];
	config_key_name(key, name, sizeof(name));
	config_variable(key, variable, sizeof(variable));
	if (!showing->is_json) {
		if (key->is_variable_only)
			(void)snprintf(name, sizeof(name), "%s", variable);
		auto_free char *line =
			xasprintf("%-20s %-24s %s\n", name, *text ? text : "-", from);
		cli_print(stdout, line, strlen(line));
		return;
	}
	struct json_object *json = json_object_new_object();
	json_put(json, "name", json_new_string(name));
	json_put(json, "value",
		value_to_json(key->is_of_run ? &showing->spec : NULL, key->field, text));
	json_put(json, "from", json_new_string(from));
	json_put(json, "variable", json_new_string(variable));
	json_put(json, "help", json_new_string(key->field->help));
	(void)json_object_array_add(showing->list, json);
}

static char *origin_of(const struct showing *showing, size_t index, const struct config_key *key,
	const struct config_value *value)
{
	if (key->is_of_run && (showing->options >> index & 1))
		return xasprintf("--%s", key->field->flag);
	/* a default that this run has no use for is passed over by config_apply() too */
	if (value && (!key->is_of_run || spec_is_given(&showing->spec, key->field) ||
			     value->texts.count == 0))
		return config_origin(value);
	if (key->is_of_run && (showing->brought >> index & 1))
		return xasprintf("language %s", showing->language.name);
	return xstrdup("default");
}

static void show_key(struct showing *showing, size_t index, const struct config_key *key)
{
	const struct config_value *value = config_find(&showing->config, index, &showing->names);
	auto_buf struct buf text;
	buf_init(&text, TEXT_MAX);
	if (key->is_of_run)
		put_field(&showing->spec, key->field, &text);
	else if (value)
		join(&value->texts, &text);
	else if (key->field->fallback)
		(void)buf_printf(&text, "%s", key->field->fallback);
	auto_free char *from = origin_of(showing, index, key, value);
	add_setting(showing, key, buf_text(&text), from);
}

/* What a language brings counts where nobody said anything. */
static int add_language(struct showing *showing, struct err *err)
{
	struct spec *spec = &showing->spec;
	bool is_there = false;
	if (spec->language)
		TRY(language_load_one(spec->language, &showing->language, err));
	else if (!spec->file)
		return 0;
	else
		TRY(language_load_for_file(spec->file, &showing->language, &is_there, err));
	showing->has_language = spec->language || is_there;
	for (size_t i = 0; showing->has_language && i < showing->language.defaults.count; i++) {
		auto_free char *name = xstrdup(showing->language.defaults.items[i]);
		char *value = strchr(name, '=');
		if (value)
			*value++ = '\0';
		const struct field *field = value ? spec_field(name) : NULL;
		if (!field || spec_is_given(spec, field))
			continue;
		TRY(spec_set_default(spec, field, value, err));
		showing->brought |= UINT64_C(1) << (field - spec_fields);
	}
	return 0;
}

static int settle(struct showing *showing, struct err *err)
{
	showing->options = showing->spec.given;
	TRY(cli_load(&showing->config, &showing->wish, err));
	engine_language_names(&showing->spec, &showing->config, &showing->names);
	TRY(config_apply(&showing->config, &showing->names, &showing->spec, err));
	return add_language(showing, err);
}

static void print_unknown(struct json_object *json)
{
	char near[NAME_SIZE], shown[NAME_SIZE * 2];
	struct json_object *list = json ? json_object_new_array() : NULL;
	size_t at = 0;
	for (char *name; (name = config_unknown_variable(&at, near, sizeof(near))); free(name)) {
		if (list)
			(void)json_object_array_add(list, json_new_string(name));
		else
			(void)fprintf(stderr, "hotcell: the variable %s means nothing%s%s%s\n",
				utf8_line(name, shown, sizeof(shown)),
				*near ? ", did you mean " : "", near, *near ? "?" : "");
	}
	if (list)
		json_put(json, "unknown_variables", list);
}

static void print_settings(struct showing *showing)
{
	struct config_key key;
	showing->list = showing->is_json ? json_object_new_array() : NULL;
	for (size_t i = 0; config_key(i, &key); i++)
		if (!key.field->is_once)
			show_key(showing, i, &key);
	if (!showing->is_json) {
		print_unknown(NULL);
		return;
	}
	auto_json struct json_object *json = json_object_new_object();
	struct json_object *files = json_object_new_array();
	for (size_t i = 0; i < showing->config.files.count; i++)
		(void)json_object_array_add(files, json_new_string(showing->config.files.items[i]));
	json_put(json, "files", files);
	json_put(json, "settings", take_ptr(&showing->list));
	print_unknown(json);
	auto_free char *text = json_print(json, true);
	(void)printf("%s\n", text);
}

static int show(const struct command *command, int argc, char **argv)
{
	static const char examples[] =
		"  hotcell config show\n"
		"  hotcell config show -l go -t 5     # as a run with these options\n"
		"  hotcell config show --json | jq '.settings[] | select(.from != \"default\")'\n";
	struct err err = { 0 };
	struct showing showing = { 0 };
	struct cli_line line = { .context = &showing, .take = take_show };
	spec_init(&showing.spec);
	int r = cli_read(
		argc, argv, &showing.spec, show_options, COUNT_OF(show_options), &line, &err);
	if (r == 0 && line.has_help) {
		cli_help(command, show_options, COUNT_OF(show_options), true, examples);
	} else if (r == 0) {
		if (line.rest < argc)
			showing.spec.file = xstrdup(argv[line.rest]);
		r = settle(&showing, &err);
		if (r == 0)
			print_settings(&showing);
	}
	if (showing.has_language)
		language_done(&showing.language);
	strings_done(&showing.names);
	config_done(&showing.config);
	spec_done(&showing.spec);
	return r < 0 ? cli_fail(&err) : 0;
}

/* ---- schema and check ------------------------------------------------------------------------ */

static int schema(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	struct cli_line line = { 0 };
	static const char examples[] = "  hotcell config schema > config.schema.json\n";
	int r = cli_read(argc, argv, NULL, NULL, 0, &line, &err);
	if (r == 0 && !line.has_help && line.rest < argc)
		r = err_set(&err, ERR_INVALID, "config schema takes no argument");
	if (r < 0)
		return cli_fail(&err);
	if (line.has_help) {
		cli_help(command, NULL, 0, false, examples);
		return 0;
	}
	auto_free char *text = config_schema();
	(void)printf("%s\n", text);
	return 0;
}

/* What only others can tell: whether there are such languages, what the daemon says to its part. */
static int check_further(const struct config *config, struct err *err)
{
	struct languages all = { 0 };
	const struct language *found = NULL;
	struct server_settings settings;
	TRY(languages_load(&all, err));
	int r = 0;
	for (size_t i = 0; i < config->count && r == 0; i++) {
		const struct config_value *value = &config->values[i];
		if (value->language && language_find(&all, value->language, &found, err) < 0)
			r = err_wrap(err, "%s:%d", value->origin, value->line);
	}
	languages_done(&all);
	if (r == 0) {
		server_settings_init(&settings);
		r = server_settings_configure(&settings, config, err);
	}
	return r;
}

static int check_file(const char *path, struct err *err)
{
	struct config config;
	config_init(&config);
	int r = config_read_file(&config, path, CONFIG_CHOSEN, err);
	if (r == 0)
		r = check_further(&config, err);
	config_done(&config);
	return r;
}

static int take_check(void *context, const char *flag, const char *value, struct err *err)
{
	(void)flag;
	(void)value;
	(void)err;
	*(bool *)context = true;
	return 0;
}

static int tell_check(const char *path, bool is_json, int r, const struct err *err)
{
	if (!is_json) {
		if (r < 0)
			return cli_fail(err);
		auto_free char *words = xasprintf("%s: is right\n", path);
		cli_print(stdout, words, strlen(words));
		return 0;
	}
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, "file", json_new_string(path));
	json_put(json, "ok", json_object_new_boolean(r == 0));
	json_put(json, "error", r < 0 ? json_new_string(err->text) : NULL);
	auto_free char *text = json_print(json, true);
	(void)printf("%s\n", text);
	return r < 0 ? 125 : 0;
}

static int check(const struct command *command, int argc, char **argv)
{
	static const char examples[] = "  hotcell config check ~/.config/hotcell/config.yaml\n";
	struct err err = { 0 };
	bool is_json = false;
	struct cli_line line = { .context = &is_json, .take = take_check };
	int r = cli_read(argc, argv, NULL, check_options, COUNT_OF(check_options), &line, &err);
	if (r == 0 && line.has_help) {
		cli_help(command, check_options, COUNT_OF(check_options), false, examples);
		return 0;
	}
	if (r == 0 && line.rest + 1 != argc)
		r = err_set(&err, ERR_INVALID,
			"config check takes one file, for example hotcell config check "
			"config.yaml");
	if (r < 0)
		return cli_fail(&err);
	r = check_file(argv[line.rest], &err);
	return tell_check(argv[line.rest], is_json, r, &err);
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct command parts[] = {
	{ .name = "config show",
		.usage = "[OPTIONS] [FILE]",
		.help = "every setting, its value and where that was said; with options as a run "
			"has them, what they come to",
		.run = show },
	{ .name = "config check",
		.usage = "[--json] FILE",
		.help = "whether a settings file is right",
		.run = check },
	{ .name = "config schema",
		.usage = "",
		.help = "the JSON schema of a settings file",
		.run = schema },
};

static const char *word_of(const struct command *part)
{
	return part->name + strlen("config ");
}

static int help(void)
{
	(void)printf("usage: hotcell config show|check|schema [OPTIONS]\n\n"
		     "settings: what counts, where it was said, and what can be said\n\n");
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		(void)printf("  %-8s %s\n", word_of(&parts[i]), parts[i].help);
	(void)printf("\nfiles, the first counts more:\n"
		     "  ~/.config/hotcell/config.yaml   the user's (XDG_CONFIG_HOME)\n"
		     "  " CONFIG_SYSTEM_FILE "        the system's\n"
		     "variables count more than files, options more than variables.\n");
	return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	const char *names[COUNT_OF(parts)];
	(void)command;
	const char *word = argc > 1 ? argv[1] : "";
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return help();
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		names[i] = word_of(&parts[i]);
		if (strcmp(word, names[i]) == 0)
			return parts[i].run(&parts[i], argc - 1, argv + 1);
	}
	const char *near = units_nearest(word, names, COUNT_OF(names));
	(void)err_set(&err, ERR_INVALID,
		"config: '%.60s' is not show, check or schema%s%s%s, for example hotcell config "
		"show",
		word, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
	return cli_fail(&err);
}

const struct command cmd_config = {
	.name = "config",
	.usage = "show|check|schema [OPTIONS]",
	.help = "settings: what counts, where it was said, and what can be said",
	.run = run,
};
