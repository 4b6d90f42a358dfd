/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell run: one execution in a fresh cell. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "cli/cli.h"
#include "cli/render.h"
#include "engine/engine.h"

struct run_line {
	struct spec spec;
	struct manner manner;
	bool is_explain, is_exec;
	char *spec_file; /* borrowed */
	struct config_wish wish;
};

static const struct cli_option run_options[] = {
	{ .flag = "exec", .help = "run a program of the cell: --exec -- PROG ARG…" },
	{ .flag = "json", .help = "print one ExecutionResult as JSON on stdout, nothing else" },
	{ .flag = "stream", .help = "with --json: events as JSON lines, the result as the last" },
	{ .flag = "compact",
		.help = "print one short text: output, value, error with its line, limits hit" },
	{ .flag = "explain", .help = "tell on stderr what each isolation layer did" },
	{ .flag = "spec",
		.metavar = "FILE",
		.help = "read the settings as JSON first, - for stdin" },
	CLI_CONFIG_OPTIONS,
	{ .flag = "color",
		.metavar = "WHEN",
		.help = "colours, tables and pictures: auto (on a terminal), always, never "
			"[auto]" },
	{ .flag = "rows", .metavar = "N", .help = "most rows of a table shown on a terminal [20]" },
};

static const char run_examples[] = "  hotcell run script.py input.txt\n"
				   "  hotcell run -c 'print(6 * 7)'\n"
				   "  hotcell run -l bash -c 'echo $HOME' --json\n"
				   "  hotcell run --ro .:/home/user/project -t 10 -m 256M test.py\n"
				   "  hotcell run --file data.csv --out '*.png:plots' plot.py\n"
				   "  hotcell run --compact -t 5 -c 'sum(range(10))'\n"
				   "  hotcell run --exec -- ls -la /\n";

static int take_option(void *context, const char *flag, const char *value, struct err *err)
{
	struct run_line *line = context;
	if (cli_take_config(&line->wish, flag, value))
		return 0;
	if (strcmp(flag, "exec") == 0)
		line->is_exec = true;
	else if (strcmp(flag, "explain") == 0)
		line->is_explain = true;
	else if (strcmp(flag, "spec") == 0)
		line->spec_file = (char *)value;
	else
		TRY(manner_take(&line->manner, flag, value, err));
	return 0;
}

static int read_spec_file(struct run_line *line, struct err *err)
{
	auto_buf struct buf text;
	buf_init(&text, LIMIT_SPEC_BYTES);
	bool is_stdin = strcmp(line->spec_file, "-") == 0;
	auto_fd int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				  : open(line->spec_file, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : buf_read(&text, fd);
	if (r < 0)
		return err_sys(err, -r, "--spec: read '%s'", line->spec_file);
	if (spec_from_json(&line->spec, buf_text(&text), text.len, err) < 0)
		return err_wrap(err, "--spec '%s'", line->spec_file);
	return 0;
}

/* The file with the settings counts first, wherever it stands, so that options override it. */
static int read_options(
	int argc, char **argv, struct run_line *line, struct cli_line *cli, struct err *err)
{
	TRY(cli_read(argc, argv, &line->spec, run_options, COUNT_OF(run_options), cli, err));
	if (!line->spec_file || cli->has_help)
		return 0;
	spec_done(&line->spec);
	spec_init(&line->spec);
	TRY(read_spec_file(line, err));
	return cli_read(argc, argv, &line->spec, run_options, COUNT_OF(run_options), cli, err);
}

static int read_line(
	int argc, char **argv, struct run_line *line, struct cli_line *cli, struct err *err)
{
	TRY(read_options(argc, argv, line, cli, err));
	if (cli->has_help)
		return 0;
	if (line->manner.is_stream && !line->manner.is_json)
		return err_set(err, ERR_INVALID, "--stream: only goes with --json");
	if (line->manner.is_compact && line->manner.is_json)
		return err_set(err, ERR_INVALID, "--compact: does not go with --json");
	int i = cli->rest;
	if (line->is_exec) {
		for (; i < argc; i++)
			strings_add(&line->spec.exec, argv[i]);
		if (line->spec.exec.count == 0)
			return err_set(err, ERR_INVALID,
				"--exec: needs a program, for example --exec -- ls -la");
		return 0;
	}
	if (i < argc && !line->spec.code && !line->spec.file)
		line->spec.file = xstrdup(argv[i++]);
	for (; i < argc; i++)
		strings_add(&line->spec.args, argv[i]);
	return 0;
}

static void print_explain(const struct report *report)
{
	static const char *const states[] = { "not reached", "not wanted", "raised", "FAILED" };
	for (size_t id = STEP_NONE + 1; id < STEP_ID_COUNT; id++) {
		const struct step_outcome *outcome = &report->steps[id];
		(void)fprintf(stderr, "hotcell: %-22s %-11s %6u us  %s%s%s\n", jail_steps[id].name,
			states[outcome->state], outcome->took_us, jail_steps[id].title,
			outcome->detail[0] ? ": " : "", outcome->detail);
	}
}

static int run_spec(struct run_line *line)
{
	struct err err = { 0 };
	struct result result;
	struct report report = { 0 };
	struct engine_rest rest = { 0 };
	struct rendering rendering;
	struct engine_wishes wishes = { .interrupt_fd = cli_open_interrupts(),
		.wants_version = line->manner.is_json };
	result_init(&result);
	line->manner.has_typed_input = line->spec.stdin_path &&
				       strcmp(line->spec.stdin_path, "-") == 0 &&
				       isatty(STDIN_FILENO);
	render_begin(&rendering, &line->manner, &result, wishes.interrupt_fd, &wishes.outlet);
	int r = engine_run(
		&line->spec, &wishes, &result, line->is_explain ? &report : NULL, &rest, &err);
	render_end(&rendering);
	if (line->is_explain)
		print_explain(&report);
	if (r < 0)
		(void)cli_fail(&err);
	if (line->manner.is_json && rest.unrecorded.code)
		(void)cli_fail(&rest.unrecorded); /* also who reads only the output hears it */
	bool is_snippet = !line->spec.file || strcmp(line->spec.file, "-") == 0;
	int status = render_result(&rendering, &result, &line->spec, is_snippet);
	engine_clean(&rest);
	own_close(&wishes.interrupt_fd);
	result_done(&result);
	return status;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	struct run_line line = { 0 };
	struct cli_line cli = { .context = &line, .take = take_option };
	int status = 0;
	spec_init(&line.spec);
	if (read_line(argc, argv, &line, &cli, &err) < 0 ||
		(!cli.has_help && cli_configure(&line.spec, &line.wish, &err) < 0))
		status = render_refusal(&line.manner, argc, argv, &line.spec, &err);
	else if (cli.has_help)
		cli_help(command, run_options, COUNT_OF(run_options), true, run_examples);
	else
		status = run_spec(&line);
	spec_done(&line.spec);
	return status;
}

const struct command cmd_run = {
	.name = "run",
	.usage = "[OPTIONS] FILE [ARG…] | -c CODE [ARG…] | - | --exec -- PROG [ARG…]",
	.help = "one execution in a fresh cell",
	.run = run,
};
