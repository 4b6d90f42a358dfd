/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"

#include <string.h>

#include "base/own.h"
#include "config/parts.h"
#include "model/field.h"
#include "model/units.h"
#include "wire/utf8.h"

enum { NAME_SIZE = 64, QUOTE_SIZE = 64 };

void config_init(struct config *config)
{
	*config = (struct config){ 0 };
}

static void value_done(struct config_value *value)
{
	free(value->language);
	strings_done(&value->texts);
	free(value->origin);
}

void config_done(struct config *config)
{
	for (size_t i = 0; i < config->count; i++)
		value_done(&config->values[i]);
	free(config->values);
	strings_done(&config->files);
	*config = (struct config){ 0 };
}

/* A field of the spec is checked by setting it in a spec that is thrown away. */
static int check_texts(const struct config_key *key, const struct strings *texts, struct err *err)
{
	struct spec spec = { 0 };
	int r = 0;
	for (size_t i = 0; i < texts->count && r == 0; i++)
		r = key->is_of_run ? field_set(&spec, key->field, texts->items[i], VOICE_VALUE, err)
				   : field_check(key->field, texts->items[i], VOICE_VALUE, err);
	spec_done(&spec);
	return r;
}

int config_add(struct config *config, const struct config_value *like, struct strings *texts,
	struct err *err)
{
	struct config_key key;
	if (!config_key(like->key, &key) || check_texts(&key, texts, err) < 0) {
		strings_done(texts);
		return -1;
	}
	config->values = xrealloc(config->values, config->count + 1, sizeof(*config->values));
	config->values[config->count++] = (struct config_value){
		.key = like->key,
		.language = like->language ? xstrdup(like->language) : NULL,
		.texts = *texts,
		.place = like->place,
		.origin = xstrdup(like->origin),
		.line = like->line,
	};
	*texts = (struct strings){ 0 };
	return 0;
}

/* ---- the environment ----------------------------------------------------------------------- */

/* Names go by commas; paths and variables may have those, so each is on a line of its own. */
static void split(const struct field *field, const char *text, struct strings *texts)
{
	if (field->type != FIELD_STRINGS && field->type != FIELD_PAIRS) {
		strings_add(texts, text);
		return;
	}
	for (const char *at = text; *at != '\0';) {
		size_t len = strcspn(at, "\n");
		auto_free char *item = xstrndup(at, len);
		if (len > 0)
			strings_add(texts, item);
		at += len + (at[len] == '\n');
	}
}

static int add_unit(const char *text, const char *unit, char **ret_text, struct err *err)
{
	char quote[QUOTE_SIZE];
	int64_t count = 0;
	if (units_parse_count(text, &count) < 0)
		return err_set(err, ERR_INVALID, "'%s' is not a whole number, for example 20",
			utf8_line(text, quote, sizeof(quote)));
	*ret_text = xasprintf("%s%s", text, unit);
	return 0;
}

static int read_variable(struct config *config, size_t index, const struct config_key *key,
	const char *name, const char *unit, struct err *err)
{
	const char *found = secure_getenv(name);
	auto_free char *text = NULL;
	struct strings texts = { 0 };
	const struct config_value like = {
		.key = index, .place = CONFIG_VARIABLE, .origin = (char *)name
	};
	if (!found || *found == '\0')
		return 0;
	if (unit && add_unit(found, unit, &text, err) < 0)
		return err_wrap(err, "%s", name);
	split(key->field, text ? text : found, &texts);
	return config_add(config, &like, &texts, err) < 0 ? err_wrap(err, "%s", name) : 0;
}

/* Most environments have none, and then no key need be looked for. */
static bool has_variables(void)
{
	static const char *const starts[] = { "HOTCELL_", "SANDBOX_", "DOCKER_" };
	for (char **at = environ; at && *at; at++)
		for (size_t i = 0; i < COUNT_OF(starts); i++)
			if (strncmp(*at, starts[i], strlen(starts[i])) == 0)
				return true;
	return false;
}

int config_read_variables(struct config *config, struct err *err)
{
	char name[NAME_SIZE];
	struct config_key key;
	if (!has_variables())
		return 0;
	for (size_t i = 0; config_key(i, &key); i++) {
		if (key.field->is_once)
			continue;
		config_variable(&key, name, sizeof(name));
		if (key.old_variable)
			TRY(read_variable(config, i, &key, key.old_variable, key.unit, err));
		TRY(read_variable(config, i, &key, name, NULL, err));
	}
	return 0;
}

/* ---- what counts ---------------------------------------------------------------------------- */

static bool is_of(const struct config_value *value, const struct strings *names)
{
	for (size_t i = 0; value->language && names && i < names->count; i++)
		if (strcmp(names->items[i], value->language) == 0)
			return true;
	return !value->language;
}

static bool counts_more(const struct config_value *a, const struct config_value *b)
{
	if (!b || a->place != b->place)
		return !b || a->place > b->place;
	return a->language || !b->language; /* of two alike the later one */
}

const struct config_value *config_find(
	const struct config *config, size_t key, const struct strings *names)
{
	const struct config_value *best = NULL;
	for (size_t i = 0; i < config->count; i++) {
		const struct config_value *value = &config->values[i];
		if (value->key == key && is_of(value, names) && counts_more(value, best))
			best = value;
	}
	return best;
}

const struct config_value *config_look_up(
	const struct config *config, const char *section, const char *name)
{
	size_t key = 0;
	const char *near = NULL;
	if (config_find_key(section, name, &key, &near) < 0)
		return NULL;
	return config_find(config, key, NULL);
}

bool config_has_languages(const struct config *config)
{
	for (size_t i = 0; i < config->count; i++)
		if (config->values[i].language)
			return true;
	return false;
}

/* A default is for the runs it makes sense for: the ending of a file tells its language, a program
 * needs none, and code that comes from our standard input has taken it. */
static bool is_moot(const struct spec *spec, const struct field *field)
{
	bool is_exec = spec->exec.count > 0;
	bool is_stdin = spec->file && strcmp(spec->file, "-") == 0;
	if (strcmp(field->name, "language") == 0)
		return is_exec || (spec->file && !is_stdin);
	if (strcmp(field->name, "python") == 0)
		return is_exec;
	return strcmp(field->name, "stdin") == 0 && is_stdin;
}

int config_apply(const struct config *config, const struct strings *names, struct spec *spec,
	struct err *err)
{
	for (size_t i = 0; config->count > 0 && i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		const struct config_value *value =
			spec_is_given(spec, field) || is_moot(spec, field)
				? NULL
				: config_find(config, i, names);
		for (size_t j = 0; value && j < value->texts.count; j++)
			TRY(field_set(spec, field, value->texts.items[j], VOICE_VALUE, err));
	}
	return 0;
}

void config_pass_on(const struct config *config)
{
	char name[NAME_SIZE];
	struct config_key key;
	for (size_t i = spec_field_count; config_key(i, &key); i++) {
		const struct config_value *value = config_find(config, i, NULL);
		if (!key.is_passed_on || !value || value->texts.count == 0)
			continue;
		const char *text = value->texts.items[0];
		if (key.field->type == FIELD_BOOL)
			text = field_is_true(text) ? "1" : "0";
		config_variable(&key, name, sizeof(name));
		(void)setenv(name, text, true);
	}
}

char *config_origin(const struct config_value *value)
{
	return value->line > 0 ? xasprintf("%s:%d", value->origin, value->line)
			       : xstrdup(value->origin);
}
