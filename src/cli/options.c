/* SPDX-License-Identifier: Apache-2.0 */
/* Options and help, both from the spec's field table and the command's own few. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/cli.h"
#include "model/result.h"
#include "model/units.h"
#include "wire/utf8.h"

enum { OPTIONS_MAX = 64, OPTION_BASE = 1000, OPTION_HELP = 2000 };

struct table {
	struct option longs[OPTIONS_MAX];
	char shorts[OPTIONS_MAX * 2 + 4];
	const char *names[OPTIONS_MAX]; /* for "did you mean" */
	const struct field *fields[OPTIONS_MAX];
	const struct cli_option *own[OPTIONS_MAX];
	size_t count;
};

/* `value` is one of getopt's: no_argument, required_argument, optional_argument. */
static void add(struct table *table, const char *flag, char short_flag, int value)
{
	size_t i = table->count++;
	table->names[i] = flag;
	table->longs[i] = (struct option){ flag, value, NULL, OPTION_BASE + (int)i };
	size_t len = strlen(table->shorts);
	if (short_flag) {
		table->shorts[len++] = short_flag;
		if (value == required_argument)
			table->shorts[len++] = ':';
		table->shorts[len] = '\0';
	}
}

static bool is_taken(const struct field *field, bool (*takes)(const struct field *field))
{
	return !field->has_no_flag && (!takes || takes(field));
}

static void make_table(struct table *table, const struct cli_line *line, bool has_spec,
	const struct cli_option *own, size_t own_count)
{
	*table = (struct table){ .shorts = "+:h" };
	for (size_t i = 0; has_spec && i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		if (!is_taken(field, line->takes))
			continue;
		table->fields[table->count] = field;
		/* --cold, and --cold=false where the settings say otherwise */
		add(table, field->flag, field->short_flag,
			field->type == FIELD_BOOL ? optional_argument : required_argument);
	}
	for (size_t i = 0; i < own_count; i++) {
		table->own[table->count] = &own[i];
		add(table, own[i].flag, own[i].short_flag,
			own[i].metavar ? required_argument : no_argument);
	}
	table->longs[table->count] = (struct option){ "help", no_argument, NULL, OPTION_HELP };
}

static size_t index_of(const struct table *table, int option)
{
	if (option >= OPTION_BASE)
		return (size_t)(option - OPTION_BASE);
	for (size_t i = 0; i < table->count; i++) {
		char flag =
			table->fields[i] ? table->fields[i]->short_flag : table->own[i]->short_flag;
		if (flag == option)
			return i;
	}
	return table->count;
}

static int refuse_unknown(const struct table *table, const char *word, struct err *err)
{
	char name[64];
	char shown[80];
	(void)snprintf(name, sizeof(name), "%.*s",
		(int)strcspn(word + (word[1] == '-' ? 2 : 1), "="),
		word + (word[1] == '-' ? 2 : 1));
	const char *near = word[1] == '-' ? units_nearest(name, table->names, table->count) : NULL;
	return err_set(err, ERR_INVALID, "%s: no such option%s%s%s; --help lists them",
		utf8_line(word, shown, sizeof(shown)), near ? ", did you mean --" : "",
		near ? near : "", near ? "?" : "");
}

static int take_option(const struct table *table, int option, struct spec *spec,
	struct cli_line *line, struct err *err)
{
	size_t i = index_of(table, option);
	if (table->fields[i])
		return spec_set(spec, table->fields[i], optarg, err);
	return line->take(line->context, table->own[i]->flag, optarg, err);
}

int cli_read(int argc, char **argv, struct spec *spec, const struct cli_option *own,
	size_t own_count, struct cli_line *line, struct err *err)
{
	struct table table;
	make_table(&table, line, spec != NULL, own, own_count);
	opterr = 0;
	optind = 1;
	for (;;) {
		int at = optind;
		int option = getopt_long(argc, argv, table.shorts, table.longs, NULL);
		if (option == -1)
			break;
		if (option == 'h' || option == OPTION_HELP)
			line->has_help = true;
		else if (option == ':')
			return err_set(err, ERR_INVALID, "%.80s: needs a value; --help shows one",
				argv[at]);
		else if (option == '?')
			return refuse_unknown(&table, argv[at], err);
		else
			TRY(take_option(&table, option, spec, line, err));
	}
	line->rest = optind;
	return 0;
}

int cli_read_mixed(int argc, char **argv, struct spec *spec, const struct cli_option *own,
	size_t own_count, struct cli_line *line, struct strings *ret_words, struct err *err)
{
	bool is_over = false;
	for (; argc > 0 && !line->has_help; argc--, argv++) {
		if (!is_over) {
			TRY(cli_read(argc, argv, spec, own, own_count, line, err));
			is_over = strcmp(argv[line->rest - 1], "--") == 0 && line->rest > 1;
			argv += line->rest - 1;
			argc -= line->rest - 1;
		}
		if (argc > 1)
			strings_add(ret_words, argv[1]);
	}
	return 0;
}

static void print_option(const char *flag, char short_flag, const char *metavar, const char *help,
	const char *fallback)
{
	char left[64];
	char head[8] = "    ";
	if (short_flag)
		(void)snprintf(head, sizeof(head), "-%c, ", short_flag);
	(void)snprintf(left, sizeof(left), "%s--%s%s%s", head, flag, metavar ? " " : "",
		metavar ? metavar : "");
	(void)printf("  %-30s %s", left, help);
	if (fallback)
		(void)printf(" [%s]", fallback);
	(void)printf("\n");
}

void cli_help(const struct command *command, const struct cli_option *own, size_t own_count,
	bool has_spec, const char *examples)
{
	(void)printf("usage: hotcell %s %s\n\n%s\n\noptions:\n", command->name, command->usage,
		command->help);
	for (size_t i = 0; has_spec && i < spec_field_count; i++) {
		const struct field *field = &spec_fields[i];
		if (is_taken(field, command->takes))
			print_option(field->flag, field->short_flag,
				field->type == FIELD_BOOL ? NULL : field->metavar, field->help,
				field->fallback);
	}
	for (size_t i = 0; i < own_count; i++)
		print_option(own[i].flag, own[i].short_flag, own[i].metavar, own[i].help, NULL);
	print_option("help", 'h', NULL, "show this", NULL);
	if (examples)
		(void)printf("\nexamples:\n%s", examples);
}

int cli_fail(const struct err *err)
{
	char line[sizeof(err->text) * 2];
	(void)fprintf(stderr, "hotcell: %s\n", utf8_line(err->text, line, sizeof(line)));
	return EXIT_COULD_NOT_RUN;
}

static int take_json(void *context, const char *flag, const char *value, struct err *err)
{
	(void)flag;
	(void)value;
	(void)err;
	*(bool *)context = true;
	return 0;
}

int cli_read_simple(const struct command *command, int argc, char **argv, bool *ret_json)
{
	static const struct cli_option own[] = {
		{ .flag = "json", .help = "print JSON instead of a table" },
	};
	struct err err = { 0 };
	struct cli_line line = { .context = ret_json, .take = take_json };
	*ret_json = false;
	int r = cli_read(argc, argv, NULL, own, COUNT_OF(own), &line, &err);
	if (r == 0 && !line.has_help && line.rest < argc)
		r = err_set(&err, ERR_INVALID, "%s takes no argument", command->name);
	if (r < 0)
		return cli_fail(&err);
	if (!line.has_help)
		return -1;
	cli_help(command, own, COUNT_OF(own), false, NULL);
	return 0;
}

void cli_print(FILE *stream, const char *text, size_t len)
{
	struct utf8_visible view = { 0 };
	if (!isatty(fileno(stream))) {
		(void)fwrite(text, 1, len, stream);
		return;
	}
	size_t safe_len = 0;
	size_t end_len = 0;
	auto_free char *safe = utf8_visible_push(&view, text, len, &safe_len);
	auto_free char *end = utf8_visible_end(&view, &end_len);
	(void)fwrite(safe, 1, safe_len, stream);
	(void)fwrite(end, 1, end_len, stream);
}
