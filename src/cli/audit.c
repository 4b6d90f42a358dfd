/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell audit: what ran here, and whether the log of it was changed. */
#include <inttypes.h>
#include <string.h>

#include "base/own.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "wire/json.h"
#include "wire/utf8.h"

static const struct cli_option options[] = {
	{ .flag = "json", .help = "print JSON instead of a table" },
	{ .flag = "status", .metavar = "STATUS", .help = "list: only runs that ended like this" },
	{ .flag = "token",
		.metavar = "NAME",
		.help = "list: only runs that were asked for with this token" },
	{ .flag = "since",
		.metavar = "TIME",
		.help = "list: only runs since then: 90s, 10m, 2h, 3d, 2026-11-15" },
	{ .flag = "limit", .metavar = "N", .help = "list: the newest so many [20]" },
	{ .flag = "expect",
		.metavar = "HASH",
		.help = "verify: the log must have this record, kept elsewhere before" },
	CLI_CONFIG_OPTIONS,
};

static const char examples[] = "  hotcell audit list --since 1d --status refused\n"
			       "  hotcell audit show 20261115T184455Z-3f9a\n"
			       "  hotcell audit verify\n"
			       "  hotcell audit verify --expect HASH\n";

/* One line, whatever a foreign name holds. */
static void print_row(struct json_object *json)
{
	char name[48];
	char user[24];
	const char *what = record_text(json, "name");
	if (strcmp(what, "-") == 0)
		what = record_text(json, "kind");
	(void)printf("%-26s %-10s %-12s %4s %9s  %-10s %.12s  %s\n", record_text(json, "id"),
		utf8_line(record_text(json, "user"), user, sizeof(user)),
		record_text(json, "status"), record_text(json, "exit_code"),
		record_text(json, "duration"), record_text(json, "language"),
		record_text(json, "sha256"), utf8_line(what, name, sizeof(name)));
}

static int list(struct record_line *line, struct err *err)
{
	struct json_object *array = NULL;
	TRY(audit_list(&line->filter, &array, err));
	if (line->is_json) {
		record_print_json(array);
		return 0;
	}
	(void)printf("%-26s %-10s %-12s %4s %9s  %-10s %-12s  %s\n", "ID", "USER", "STATUS", "EXIT",
		"SECONDS", "LANGUAGE", "SHA-256", "WHAT");
	for (size_t i = 0; i < json_object_array_length(array); i++)
		print_row(json_object_array_get_idx(array, i));
	(void)json_object_put(array);
	return 0;
}

static int find(const char *id, struct json_object **ret_record, struct err *err)
{
	const struct store_filter filter = { .id = id, .limit = 2 };
	auto_json struct json_object *array = NULL;
	TRY(audit_list(&filter, &array, err));
	size_t count = json_object_array_length(array);
	if (count == 0)
		return err_set(err, ERR_MISSING,
			"no record's id begins with '%.60s'; hotcell audit list shows them", id);
	if (count > 1)
		return err_set(err, ERR_INVALID,
			"more than one record's id begins with '%.60s'; give more of it", id);
	*ret_record = json_object_get(json_object_array_get_idx(array, 0));
	return 0;
}

static int show(struct record_line *line, struct err *err)
{
	struct json_object *record = NULL;
	TRY(find(line->names[0], &record, err));
	if (line->is_json) {
		record_print_json(record);
		return 0;
	}
	json_object_object_foreach(record, key, value)
	{
		char text[LIMIT_AUDIT_LINE / 4];
		const char *words = value ? json_object_get_string(value) : "-";
		(void)printf("%-10s %s\n", key, utf8_line(words, text, sizeof(text)));
	}
	(void)json_object_put(record);
	return 0;
}

static struct json_object *verdict_to_json(
	const struct audit_verdict *verdict, const char *expected)
{
	struct json_object *json = json_object_new_object();
	struct json_object *broken = NULL;
	if (verdict->is_broken) {
		broken = json_object_new_object();
		json_put(broken, "file", json_new_string(verdict->file));
		json_put(broken, "line", json_object_new_int64((int64_t)verdict->line));
		json_put(broken, "why", json_new_string(verdict->why));
	}
	bool is_missing = expected && !verdict->has_expected;
	json_put(json, "ok", json_object_new_boolean(!verdict->is_broken && !is_missing));
	json_put(json, "records", json_object_new_int64((int64_t)verdict->records));
	json_put(json, "first", json_object_new_int64((int64_t)verdict->first));
	json_put(json, "last", json_object_new_int64((int64_t)verdict->last));
	json_put(json, "files", json_object_new_int64((int64_t)verdict->files));
	json_put(json, "torn", json_object_new_int64((int64_t)verdict->torn));
	json_put(json, "cut", json_object_new_boolean(verdict->is_cut));
	json_put(json, "head", json_new_string(verdict->head));
	json_put(
		json, "expected", expected ? json_object_new_boolean(verdict->has_expected) : NULL);
	json_put(json, "broken", broken);
	return json;
}

static void print_verdict(const struct audit_verdict *verdict, const char *expected)
{
	if (verdict->is_broken) {
		(void)printf("broken: %s:%zu: %s\n", verdict->file, verdict->line, verdict->why);
		(void)printf("%" PRIu64 " records before it hold\n", verdict->records);
		return;
	}
	if (verdict->records == 0) {
		(void)printf("ok: the log is empty\n");
	} else {
		(void)printf("ok: %" PRIu64 " record%s in %zu file%s, %" PRIu64 " to %" PRIu64 "\n",
			verdict->records, verdict->records == 1 ? "" : "s", verdict->files,
			verdict->files == 1 ? "" : "s", verdict->first, verdict->last);
		(void)printf("head: %s\n", verdict->head);
	}
	if (verdict->first > 1)
		(void)printf("note: records before %" PRIu64 " were removed with their files\n",
			verdict->first);
	if (verdict->torn > 0)
		(void)printf("note: %zu line%s cut off by a crash, before anybody had an answer\n",
			verdict->torn, verdict->torn == 1 ? " was" : "s were");
	if (verdict->is_cut)
		(void)printf("note: the last line is incomplete: a crash; the next run closes it "
			     "off\n");
	if (expected && !verdict->has_expected)
		(void)printf("missing: no record has the hash that is expected\n");
}

static int verify(struct record_line *line, struct err *err)
{
	struct audit_verdict verdict;
	TRY(audit_verify(line->expected, &verdict, err));
	if (line->is_json)
		record_print_json(verdict_to_json(&verdict, line->expected));
	else
		print_verdict(&verdict, line->expected);
	return verdict.is_broken || (line->expected && !verdict.has_expected);
}

static const struct record_verb verbs[] = {
	{ .name = "list", .run = list },
	{ .name = "show", .has_name = true, .run = show },
	{ .name = "verify", .run = verify },
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

const struct command cmd_audit = {
	.name = "audit",
	.usage = "[list] [OPTIONS] | show [--json] ID | verify [--json] [--expect HASH]",
	.help = "what ran here, by whom and how it ended; whether the log was changed",
	.run = run,
};
