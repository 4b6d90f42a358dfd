/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell artifacts: runs that were kept with code and result. */
#include <inttypes.h>
#include <string.h>

#include "base/own.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "model/units.h"
#include "wire/json.h"
#include "wire/utf8.h"

static const struct cli_option options[] = {
	{ .flag = "json", .help = "print JSON instead of words" },
	{ .flag = "code", .help = "show: only the code, as it was run" },
	{ .flag = "status", .metavar = "STATUS", .help = "list: only runs that ended like this" },
	{ .flag = "token",
		.metavar = "NAME",
		.help = "list: only runs that were asked for with this token" },
	{ .flag = "since",
		.metavar = "TIME",
		.help = "list: only runs since then: 90s, 10m, 2h, 3d, 2026-11-15" },
	{ .flag = "limit", .metavar = "N", .help = "list: the newest so many [20]" },
	{ .flag = "store-size", .metavar = "SIZE", .help = "prune: most bytes that stay [256M]" },
	{ .flag = "store-days", .metavar = "N", .help = "prune: days that stay [30]" },
	CLI_CONFIG_OPTIONS,
};

static const char examples[] = "  hotcell run --store on_error script.py\n"
			       "  hotcell artifacts list --status error\n"
			       "  hotcell artifacts show 20261115T1844\n"
			       "  hotcell artifacts show --code 3f9a1c | hotcell run -\n"
			       "  hotcell artifacts prune --store-days 7\n";

static void print_row(struct json_object *json)
{
	char size[32];
	struct json_object *bytes = NULL;
	(void)json_object_object_get_ex(json, "bytes", &bytes);
	units_format_size(json_object_get_int64(bytes), size, sizeof(size));
	(void)printf("%-33s %-26s %-12s %4s %9s  %-10s %7s\n", record_text(json, "name"),
		record_text(json, "id"), record_text(json, "status"),
		record_text(json, "exit_code"), record_text(json, "duration"),
		record_text(json, "language"), size);
}

static int list(struct record_line *line, struct err *err)
{
	struct json_object *array = NULL;
	TRY(artifact_list(&line->filter, &array, err));
	if (line->is_json) {
		record_print_json(array);
		return 0;
	}
	(void)printf("%-33s %-26s %-12s %4s %9s  %-10s %7s\n", "NAME", "ID", "STATUS", "EXIT",
		"SECONDS", "LANGUAGE", "BYTES");
	for (size_t i = 0; i < json_object_array_length(array); i++)
		print_row(json_object_array_get_idx(array, i));
	(void)json_object_put(array);
	return 0;
}

static struct json_object *part_of(struct json_object *json, const char *key)
{
	struct json_object *value = NULL;
	(void)json_object_object_get_ex(json, key, &value);
	return value;
}

/* A text under its heading, which is left out when there is none. */
static void print_part(const char *heading, struct json_object *value)
{
	const char *text =
		json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
	size_t len = strlen(text);
	if (len == 0)
		return;
	(void)printf("\n%s:\n", heading);
	cli_print(stdout, text, len);
	if (text[len - 1] != '\n')
		(void)printf("\n");
}

static void print_artifact(struct json_object *json)
{
	struct json_object *result = part_of(json, "result");
	(void)printf("id        %s\n", record_text(json, "id"));
	(void)printf("status    %s, exit %s, %s s\n", record_text(json, "status"),
		record_text(result, "exit_code"), record_text(result, "duration"));
	(void)printf("language  %s\n", record_text(json, "language"));
	(void)printf("sha256    %s\n", record_text(json, "sha256"));
	print_part("code", part_of(json, "code"));
	print_part("stdout", part_of(result, "stdout"));
	print_part("stderr", part_of(result, "stderr"));
	print_part("hint", part_of(result, "hint"));
}

static int print_code(struct json_object *json, const char *name, struct err *err)
{
	struct json_object *code = part_of(json, "code");
	if (!json_object_is_type(code, json_type_string) ||
		!json_object_get_boolean(part_of(json, "code_is_exact")))
		return err_set(err, ERR_MISSING,
			"'%s' has no code that could be run again: a program of the cell, bytes "
			"that are not UTF-8, or more than is kept",
			name);
	cli_print(stdout, json_object_get_string(code), (size_t)json_object_get_string_len(code));
	return 0;
}

static int show(struct record_line *line, struct err *err)
{
	char name[ARTIFACT_NAME_MAX];
	auto_json struct json_object *json = NULL;
	TRY(artifact_find(line->names[0], NULL, name, err));
	TRY(artifact_read(name, &json, err));
	if (line->is_code)
		return print_code(json, name, err);
	if (line->is_json)
		record_print_json(json_object_get(json));
	else
		print_artifact(json);
	return 0;
}

/* All are found before the first is removed: a word that was wrong removes nothing. */
static int rm(struct record_line *line, struct err *err)
{
	auto_free char(*names)[ARTIFACT_NAME_MAX] =
		xcalloc((size_t)line->name_count, sizeof(*names));
	for (int i = 0; i < line->name_count; i++)
		TRY(artifact_find(line->names[i], NULL, names[i], err));
	for (int i = 0; i < line->name_count; i++)
		TRY(artifact_remove(names[i], err));
	return 0;
}

static struct json_object *tally_to_json(const struct artifact_tally *tally)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "count", json_object_new_int64((int64_t)tally->count));
	json_put(json, "bytes", json_object_new_int64((int64_t)tally->bytes));
	return json;
}

static int prune(struct record_line *line, struct err *err)
{
	struct artifact_tally removed;
	struct artifact_tally left;
	TRY(artifact_prune(line->limits.store_size, line->limits.store_days, &removed, &left, err));
	if (line->is_json) {
		struct json_object *json = json_object_new_object();
		json_put(json, "removed", tally_to_json(&removed));
		json_put(json, "left", tally_to_json(&left));
		record_print_json(json);
		return 0;
	}
	(void)printf("removed %" PRIu64 " artifacts of %" PRIu64 " bytes, left %" PRIu64
		     " of %" PRIu64 " bytes\n",
		removed.count, removed.bytes, left.count, left.bytes);
	return 0;
}

static const struct record_verb verbs[] = {
	{ .name = "list", .run = list },
	{ .name = "show", .has_name = true, .run = show },
	{ .name = "rm", .has_names = true, .run = rm },
	{ .name = "prune", .run = prune },
};

static int run(const struct command *command, int argc, char **argv)
{
	const struct record_command record = { .command = command,
		.verbs = verbs,
		.verb_count = COUNT_OF(verbs),
		.options = options,
		.option_count = COUNT_OF(options),
		.examples = examples };
	return record_run(&record, argc, argv);
}

const struct command cmd_artifacts = {
	.name = "artifacts",
	.usage = "[list] [OPTIONS] | show [--json|--code] ID | rm ID… | prune [OPTIONS]",
	.help = "runs that were kept with their code and result (run --store)",
	.run = run,
};
