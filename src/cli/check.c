/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell check: the guard's verdict on code, which is not run. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/own.h"
#include "cli/cli.h"
#include "cli/term.h"
#include "engine/engine.h"
#include "guard/guard.h"
#include "wire/utf8.h"

enum { EXIT_CLEAN = 0, EXIT_WARNED = 1, SHOWN_BYTES = 160 };

struct check_line {
	struct spec spec;
	struct config_wish wish;
	struct buf text; /* of the file */
	bool is_json, wants_autorun;
};

static const struct cli_option check_options[] = {
	CLI_CONFIG_OPTIONS,
	{ .flag = "json", .help = "print the SecurityReport as JSON on stdout, nothing else" },
	{ .flag = "autorun",
		.help = "also tell whether it may run without asking a person: yes, ask or no" },
};

static const char check_examples[] =
	"  hotcell check script.py\n"
	"  hotcell check --profile strict -c 'import os'\n"
	"  hotcell check --autorun --json script.py\n"
	"  hotcell check -l bash -c 'rm -rf /'\n\n"
	"Exit status: 0 nothing to warn of, 1 warned, 126 the profile blocks it.\n";

static int take_option(void *context, const char *flag, const char *value, struct err *err)
{
	struct check_line *line = context;
	(void)err;
	if (cli_take_config(&line->wish, flag, value))
		return 0;
	if (strcmp(flag, "json") == 0)
		line->is_json = true;
	else if (strcmp(flag, "autorun") == 0)
		line->wants_autorun = true;
	return 0;
}

/* Options may stand behind the file too: code that is not run has no arguments. */
static int read_line(
	int argc, char **argv, struct check_line *line, struct cli_line *cli, struct err *err)
{
	struct spec *spec = &line->spec;
	for (int start = 0; start < argc; start += cli->rest) {
		if (start > 0 && (spec->file || spec->code))
			return err_set(err, ERR_INVALID,
				"'%.80s' is one too many: one file, or one -c CODE, is checked at "
				"a "
				"time",
				argv[start]);
		if (start > 0)
			spec->file = xstrdup(argv[start]);
		TRY(cli_read(argc - start, argv + start, spec, check_options,
			COUNT_OF(check_options), cli, err));
		if (cli->has_help)
			return 0;
	}
	if (!spec->code && !spec->file)
		return err_set(err, ERR_INVALID,
			"there is nothing to check: give a file, or code with -c CODE");
	return 0;
}

/* For the lines that are shown. Standard input can be read only once, so it becomes the code. */
static int read_code(struct check_line *line, struct err *err)
{
	struct spec *spec = &line->spec;
	if (!spec->file)
		return 0;
	bool is_stdin = strcmp(spec->file, "-") == 0;
	auto_fd int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				  : open(spec->file, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : buf_read(&line->text, fd);
	if (r == -ENOSPC)
		return err_set(
			err, ERR_LIMIT, "'%s' is over %d bytes", spec->file, LIMIT_CODE_BYTES);
	if (r < 0)
		return err_sys(err, -r, "read '%s'", spec->file);
	if (!is_stdin)
		return 0;
	if (strlen(buf_text(&line->text)) != line->text.len)
		return err_set(
			err, ERR_INVALID, "standard input has a NUL byte: put it into a file");
	free(spec->file);
	spec->file = NULL;
	spec->code = xstrdup(buf_text(&line->text));
	return 0;
}

/* ---- for a person ------------------------------------------------------------------------------
 */

struct showing {
	const char *name; /* of the file */
	const char *code;
	struct term term;
};

static const char *find_line(const char *code, int64_t number, size_t *ret_len)
{
	for (; number > 1 && *code; number--) {
		code += strcspn(code, "\n");
		code += *code == '\n';
	}
	*ret_len = strcspn(code, "\r\n");
	return code;
}

/* The line and a caret under the column, tabs kept so that it stands where it should. */
static void put_source(
	struct buf *out, const struct showing *showing, int64_t number, int64_t column)
{
	char shown[SHOWN_BYTES * 4];
	size_t len = 0;
	const char *line = find_line(showing->code, number, &len);
	if (number == 0 || len == 0)
		return;
	auto_free char *copy = xstrndup(line, len < SHOWN_BYTES ? len : SHOWN_BYTES);
	size_t indent = strspn(copy, " \t");
	(void)buf_printf(out, "    %s\n", utf8_line(copy + indent, shown, sizeof(shown)));
	if (column == 0 || (size_t)column - 1 < indent || (size_t)column > len)
		return;
	(void)buf_printf(out, "    ");
	for (size_t i = indent; i + 1 < (size_t)column && i < SHOWN_BYTES; i++)
		if (((unsigned char)copy[i] & 0xc0) != 0x80)
			(void)buf_append(out, " ", 1);
	(void)buf_printf(out, "^\n");
}

static void put_finding(
	struct buf *out, const struct showing *showing, const struct guard_finding *finding)
{
	static const enum style styles[GUARD_SEVERITY_COUNT] = {
		[SEVERITY_WARN] = STYLE_HINT,
		[SEVERITY_BLOCK] = STYLE_ERROR,
	};
	char reason[2048];
	const char *severity = guard_severity_names[finding->severity];
	enum style style = styles[finding->severity];
	(void)buf_printf(out, "%s:", showing->name);
	if (finding->line > 0)
		(void)buf_printf(out, "%lld:", (long long)finding->line);
	if (finding->line > 0 && finding->column > 0)
		(void)buf_printf(out, "%lld:", (long long)finding->column);
	(void)buf_append(out, " ", 1);
	style_begin(out, &showing->term, style);
	(void)buf_printf(out, "%s", severity);
	style_end(out, &showing->term, style);
	(void)buf_printf(out, ": %s [%s]\n", utf8_line(finding->reason, reason, sizeof(reason)),
		finding->rule);
	put_source(out, showing, finding->line, finding->column);
}

static void put_verdict(struct buf *out, const struct guard_report *report, const struct spec *spec,
	const struct result *result)
{
	enum guard_verdict verdict = guard_judge(report);
	const char *profile = profile_names[spec->profile];
	if (report->left_out > 0)
		(void)buf_printf(out, "%lld more findings, none of them graver\n",
			(long long)report->left_out);
	if (verdict == GUARD_NONE && spec->profile == PROFILE_TRUSTED)
		(void)buf_printf(out, "not analysed: the profile trusted does not look\n");
	else if (verdict == GUARD_NONE)
		(void)buf_printf(out,
			"not analysed: the guard has no rules for %s; the cell holds "
			"it as it holds all code\n",
			result->language);
	else
		(void)buf_printf(out, "%s (%s)\n", guard_verdict_names[verdict], profile);
}

static void put_autorun(struct buf *out, enum autorun autorun, const struct strings *reasons)
{
	char line[2048];
	(void)buf_printf(out, "autorun: %s\n", autorun_names[autorun]);
	for (size_t i = 0; i < reasons->count; i++)
		(void)buf_printf(out, "  - %s\n", utf8_line(reasons->items[i], line, sizeof(line)));
}

static int exit_of(enum guard_verdict verdict)
{
	/* clang-format off */
	static const int statuses[GUARD_VERDICT_COUNT] = {
		[GUARD_NONE]  = EXIT_CLEAN,
		[GUARD_ALLOW] = EXIT_CLEAN,
		[GUARD_WARN]  = EXIT_WARNED,
		[GUARD_BLOCK] = EXIT_GUARD_REFUSED,
	};
	/* clang-format on */
	return statuses[verdict];
}

static int tell(const struct check_line *line, const struct guard_report *report,
	const struct result *result)
{
	struct strings reasons = { 0 };
	const struct spec *spec = &line->spec;
	enum autorun autorun = guard_autorun(report, spec, result, &reasons);
	auto_buf struct buf out;
	buf_init(&out, LIMIT_FRAME_BYTES);
	if (line->is_json) {
		auto_free char *json = guard_report_to_json(report, spec, result->language,
			spec->file, line->wants_autorun ? &autorun : NULL, &reasons,
			isatty(STDOUT_FILENO));
		(void)buf_printf(&out, "%s\n", json);
	} else {
		struct showing showing = { .name = spec->file ? spec->file : "-c",
			.code = spec->code ? spec->code : buf_text(&line->text) };
		term_look(&showing.term, STDOUT_FILENO, COLOUR_AUTO);
		for (size_t i = 0; i < report->finding_count; i++)
			put_finding(&out, &showing, &report->findings[i]);
		put_verdict(&out, report, spec, result);
		if (line->wants_autorun)
			put_autorun(&out, autorun, &reasons);
	}
	strings_done(&reasons);
	(void)io_write_until(STDOUT_FILENO, buf_text(&out), out.len, -1);
	return exit_of(guard_judge(report));
}

static int check_spec(struct check_line *line)
{
	struct err err = { 0 };
	struct guard_report report = { 0 };
	struct result result;
	result_init(&result);
	int status = 0;
	if (read_code(line, &err) < 0 || engine_check(&line->spec, -1, &report, &result, &err) < 0)
		status = cli_fail(&err);
	else
		status = tell(line, &report, &result);
	guard_report_done(&report);
	result_done(&result);
	return status;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	struct check_line line = { 0 };
	struct cli_line cli = { .context = &line, .take = take_option };
	int status = 0;
	spec_init(&line.spec);
	buf_init(&line.text, LIMIT_CODE_BYTES);
	if (read_line(argc, argv, &line, &cli, &err) < 0 ||
		(!cli.has_help && cli_configure(&line.spec, &line.wish, &err) < 0))
		status = cli_fail(&err);
	else if (cli.has_help)
		cli_help(command, check_options, COUNT_OF(check_options), true, check_examples);
	else
		status = check_spec(&line);
	spec_done(&line.spec);
	buf_done(&line.text);
	return status;
}

const struct command cmd_check = {
	.name = "check",
	.usage = "[OPTIONS] FILE | -c CODE | -",
	.help = "the guard's verdict on code, without running it",
	.run = run,
};
