/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "model/units.h"
#include "wire/json.h"
#include "wire/utf8.h"

enum { LIMIT_DEFAULT = 20, LIMIT_MAX = 100000 };

int record_since(const char *text, char since[24], struct err *err)
{
	if (store_since(text, since))
		return 0;
	return err_set(err, ERR_INVALID,
		"--since: '%.40s' is neither a time ago (90s, 10m, 2h, 3d) nor a date, for example "
		"--since 2h or --since 2026-11-15",
		text);
}

static int take_status(struct record_line *line, const char *value, struct err *err)
{
	const size_t count = RUN_STATUS_COUNT - 1;
	for (size_t i = 1; i < RUN_STATUS_COUNT; i++) {
		if (strcmp(run_status_names[i], value) == 0) {
			line->filter.status = run_status_names[i];
			return 0;
		}
	}
	if (strcmp(value, AUDIT_BEGUN) == 0) {
		line->filter.status = AUDIT_BEGUN;
		return 0;
	}
	const char *near = units_nearest(value, run_status_names + 1, count);
	return err_set(err, ERR_INVALID,
		"--status: '%.40s' is not a status of a result%s%s%s, for example --status error",
		value, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int take_limit(struct record_line *line, const char *value, struct err *err)
{
	int64_t limit = 0;
	if (units_parse_count(value, &limit) < 0 || limit < 1 || limit > LIMIT_MAX)
		return err_set(err, ERR_INVALID,
			"--limit: '%.40s' is not a count from 1 to %d, for example --limit 100",
			value, LIMIT_MAX);
	line->filter.limit = (size_t)limit;
	return 0;
}

static int take_expected(struct record_line *line, const char *value, struct err *err)
{
	if (strlen(value) != SHA256_HEX || strspn(value, "0123456789abcdef") != SHA256_HEX)
		return err_set(err, ERR_INVALID,
			"--expect: '%.80s' is not a hash of %d digits, as hotcell audit verify "
			"prints one",
			value, SHA256_HEX);
	line->expected = value;
	return 0;
}

static int take_option(void *context, const char *flag, const char *value, struct err *err)
{
	struct record_line *line = context;
	if (cli_take_config(&line->wish, flag, value))
		return 0;
	if (strcmp(flag, "json") == 0)
		line->is_json = true;
	else if (strcmp(flag, "code") == 0)
		line->is_code = true;
	else if (strcmp(flag, "status") == 0)
		return take_status(line, value, err);
	else if (strcmp(flag, "token") == 0)
		line->filter.token = value;
	else if (strcmp(flag, "since") == 0)
		return record_since(value, line->filter.since, err);
	else if (strcmp(flag, "limit") == 0)
		return take_limit(line, value, err);
	else if (strcmp(flag, "expect") == 0)
		return take_expected(line, value, err);
	else
		return spec_set(&line->limits, spec_flag(flag), value, err);
	return 0;
}

static const struct record_verb *find_verb(const struct record_command *record, const char *name)
{
	for (size_t i = 0; i < record->verb_count; i++)
		if (strcmp(record->verbs[i].name, name) == 0)
			return &record->verbs[i];
	return NULL;
}

static int refuse_verb(const struct record_command *record, const char *name, struct err *err)
{
	const char *names[RECORD_VERBS];
	const char *command = record->command->name;
	size_t count = 0;
	for (; count < record->verb_count && count < COUNT_OF(names); count++)
		names[count] = record->verbs[count].name;
	const char *near = units_nearest(name, names, count);
	return err_set(err, ERR_INVALID,
		"%s: '%.40s' is nothing it does%s%s%s; hotcell %s --help lists what it does",
		command, name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "",
		command);
}

static int check_names(
	const struct command *command, const struct record_verb *verb, int count, struct err *err)
{
	bool has_some = verb->has_name || verb->has_names;
	if (has_some && count == 0)
		return err_set(err, ERR_INVALID, "%s %s: needs an id; hotcell %s list shows them",
			command->name, verb->name, command->name);
	if (count > (verb->has_name ? 1 : 0) && !verb->has_names)
		return err_set(err, ERR_INVALID, "%s %s: takes %s", command->name, verb->name,
			verb->has_name ? "one id" : "no argument");
	return 0;
}

static int read_and_run(const struct record_command *record, struct record_line *line, int argc,
	char **argv, struct err *err)
{
	struct cli_line cli = { .context = line, .take = take_option };
	bool has_verb = argc > 1 && argv[1][0] != '-';
	const struct record_verb *verb = has_verb ? find_verb(record, argv[1]) : &record->verbs[0];
	if (has_verb && !verb)
		return refuse_verb(record, argv[1], err);
	argc -= has_verb;
	argv += has_verb;
	TRY(cli_read(argc, argv, NULL, record->options, record->option_count, &cli, err));
	if (cli.has_help) {
		cli_help(record->command, record->options, record->option_count, false,
			record->examples);
		return 0;
	}
	line->names = argv + cli.rest;
	line->name_count = argc - cli.rest;
	TRY(check_names(record->command, verb, line->name_count, err));
	TRY(cli_configure(&line->limits, &line->wish, err));
	return verb->run(line, err);
}

int record_run(const struct record_command *record, int argc, char **argv)
{
	struct err err = { 0 };
	struct record_line line = { .filter.limit = LIMIT_DEFAULT };
	spec_init(&line.limits);
	int status = read_and_run(record, &line, argc, argv, &err);
	spec_done(&line.limits);
	return status < 0 ? cli_fail(&err) : status;
}

void record_print_json(struct json_object *json)
{
	auto_free char *text = json_print(json, true);
	(void)printf("%s\n", text);
	(void)json_object_put(json);
}

const char *record_text(struct json_object *json, const char *key)
{
	struct json_object *value = NULL;
	if (!json_object_object_get_ex(json, key, &value) || !value)
		return "-";
	return json_object_get_string(value);
}
