/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell session new and exec. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/render.h"
#include "cli/sessions.h"
#include "model/limits.h"

/* ---- new --------------------------------------------------------------------------------------
 */

static const struct cli_option new_options[] = {
	SESSION_OPTIONS,
	CLI_CONFIG_OPTIONS,
	{ .flag = "json", .help = "print all about the session as JSON, not only its name" },
};

static const char new_examples[] = "  hotcell session new work\n"
				   "  hotcell session new -l bash -m 1G --ro .:/home/user/project\n"
				   "  hotcell session new --undo 10 --idle 600 analysis\n";

struct new_line {
	struct session_options options;
	struct config_wish wish;
	struct spec spec;
	bool is_json;
};

static int take_new(void *context, const char *flag, const char *value, struct err *err)
{
	struct new_line *line = context;
	if (strcmp(flag, "json") == 0)
		line->is_json = true;
	else if (!cli_take_config(&line->wish, flag, value))
		TRY(session_options_take(&line->options, flag, value, err));
	return 0;
}

static int make_session(struct new_line *line, const char *name, struct err *err)
{
	auto_json struct json_object *info = NULL;
	auto_fd int interrupt_fd = cli_open_interrupts();
	struct session_wish wish = { .name = name,
		.idle_s = line->options.idle_s,
		.lifetime_s = line->options.lifetime_s,
		.undo = line->options.undo,
		.interrupt_fd = interrupt_fd };
	if (name)
		TRY(sessions_check_name(name, err));
	TRY(cli_configure(&line->spec, &line->wish, err));
	if (!line->options.is_quiet)
		sessions_tell_start();
	TRY(session_new(&line->spec, &wish, &info, err));
	if (line->is_json)
		sessions_print(info);
	else
		(void)printf("%s\n", json_object_get_string(json_object_object_get(info, "name")));
	return 0;
}

int session_run_new(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	struct new_line line = { 0 };
	struct strings names = { 0 };
	struct cli_line cli = { .takes = session_takes, .context = &line, .take = take_new };
	spec_init(&line.spec);
	int r = cli_read_mixed(
		argc, argv, &line.spec, new_options, COUNT_OF(new_options), &cli, &names, &err);
	if (r == 0 && cli.has_help)
		cli_help(command, new_options, COUNT_OF(new_options), true, new_examples);
	else if (r == 0 && names.count > 1)
		r = err_set(&err, ERR_INVALID, "session new takes one name; '%.60s' is another",
			names.items[1]);
	else if (r == 0)
		r = make_session(&line, names.count > 0 ? names.items[0] : NULL, &err);
	strings_done(&names);
	spec_done(&line.spec);
	return r < 0 ? cli_fail(&err) : 0;
}

/* ---- exec -------------------------------------------------------------------------------------
 */

static const struct cli_option exec_options[] = {
	{ .flag = "json", .help = "print one ExecutionResult as JSON on stdout, nothing else" },
	{ .flag = "stream", .help = "with --json: events as JSON lines, the result as the last" },
	{ .flag = "wait",
		.help = "wait while another execution has its turn, else that is refused" },
	{ .flag = "reload", .help = "load modules of a mounted project again that changed" },
	{ .flag = "color",
		.metavar = "WHEN",
		.help = "colours, tables and pictures: auto (on a terminal), always, never "
			"[auto]" },
	{ .flag = "rows", .metavar = "N", .help = "most rows of a table shown on a terminal [20]" },
};

static const char exec_examples[] = "  hotcell session exec work -c 'x = 6'\n"
				    "  hotcell session exec work -c 'x * 7'\n"
				    "  hotcell session exec --json -t 5 work step.py\n"
				    "  hotcell session exec --out 'plots/*.png:.' work plot.py\n"
				    "  echo 'print(x)' | hotcell session exec work -\n";

struct exec_line {
	struct manner manner;
	struct spec spec;
	struct spec record; /* how it is to be recorded and kept */
	bool waits, reloads;
	struct strings words;
};

static int take_exec(void *context, const char *flag, const char *value, struct err *err)
{
	struct exec_line *line = context;
	if (strcmp(flag, "wait") == 0)
		line->waits = true;
	else if (strcmp(flag, "reload") == 0)
		line->reloads = true;
	else
		TRY(manner_take(&line->manner, flag, value, err));
	return 0;
}

bool session_exec_takes(const struct field *field)
{
	static const char *const flags[] = { "code", "timeout", "max-output", "stdin", "env",
		"out" };
	for (size_t i = 0; i < COUNT_OF(flags); i++) {
		if (strcmp(field->flag, flags[i]) == 0)
			return true;
	}
	return field->is_record;
}

/* The code: from the command line, a file or our own input. */
static int read_code(
	const struct exec_line *line, const char *file, struct buf *code, struct err *err)
{
	if (line->spec.code || !file) {
		const char *text = line->spec.code ? line->spec.code : "";
		if (buf_append(code, text, strlen(text)) < 0)
			return err_set(
				err, ERR_LIMIT, "--code: longer than %d bytes", LIMIT_CODE_BYTES);
		return 0;
	}
	bool is_stdin = strcmp(file, "-") == 0;
	auto_fd int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				  : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int r = fd < 0 ? -errno : buf_read(code, fd);
	if (r == -ENOSPC)
		return err_set(
			err, ERR_LIMIT, "'%.200s' is longer than %d bytes", file, LIMIT_CODE_BYTES);
	if (r < 0)
		return err_sys(err, -r, "read '%.200s'", file);
	return 0;
}

static int64_t given(const struct spec *spec, const char *flag, int64_t value)
{
	return spec_is_given(spec, spec_flag(flag)) ? value : 0;
}

static int take_turn(
	struct exec_line *line, const char *session, const char *file, const struct buf *code)
{
	struct err err = { 0 };
	struct result result;
	struct rendering rendering;
	struct spec spec;
	auto_fd int interrupt_fd = cli_open_interrupts();
	const char *slash = file ? strrchr(file, '/') : NULL;
	bool is_snippet = !file || strcmp(file, "-") == 0;
	struct session_turn turn = { .session = session,
		.code = buf_text(code),
		.code_len = code->len,
		.name = is_snippet ? NULL
			: slash    ? slash + 1
				   : file,
		.timeout_ms = given(&line->spec, "timeout", line->spec.timeout_ms),
		.max_output = given(&line->spec, "max-output", line->spec.max_output),
		.waits = line->waits,
		.reloads = line->reloads,
		.env = line->spec.env.count > 0 ? &line->spec.env : NULL,
		.stdin_path = line->spec.stdin_path,
		.outs = &line->spec.outs,
		.interrupt_fd = interrupt_fd,
		.spec = &spec };
	spec_init(&spec);
	result_init(&result);
	spec_take_record(&spec, &line->record);
	line->manner.has_typed_input = line->spec.stdin_path && isatty(STDIN_FILENO);
	render_begin(&rendering, &line->manner, &result, interrupt_fd, &turn.outlet);
	int r = session_exec(&turn, &result, &err);
	render_end(&rendering);
	if (r < 0) {
		sessions_name_nearest(session, &err);
		(void)cli_fail(&err);
	}
	int status = render_result(&rendering, &result, &spec, is_snippet);
	result_done(&result);
	spec_done(&spec);
	return r < 0 ? EXIT_COULD_NOT_RUN : status;
}

/* As the options or else the settings say. The rest of them is the session's affair. */
static int configure_record(struct exec_line *line, struct err *err)
{
	spec_init(&line->record);
	spec_take_record(&line->record, &line->spec);
	line->record.given = line->spec.given;
	return cli_configure(&line->record, &(struct config_wish){ 0 }, err);
}

/* NAME and, unless there is -c, FILE. */
static int check_exec(const struct exec_line *line, struct err *err)
{
	const struct strings *words = &line->words;
	const char *file = words->count > 1 ? words->items[1] : NULL;
	if (line->manner.is_stream && !line->manner.is_json)
		return err_set(err, ERR_INVALID, "--stream: only goes with --json");
	if (words->count == 0)
		return err_set(err, ERR_INVALID,
			"session exec needs a session's name, for example session exec work -c "
			"'print(1)'");
	if (words->count > 2)
		return err_set(err, ERR_INVALID, "'%.60s': a session's code takes no arguments",
			words->items[2]);
	if ((file != NULL) == (line->spec.code != NULL))
		return err_set(err, ERR_INVALID,
			"session exec needs code: exactly one of -c CODE, FILE and - for standard "
			"input");
	if (file && strcmp(file, "-") == 0 && line->spec.stdin_path &&
		strcmp(line->spec.stdin_path, "-") == 0)
		return err_set(err, ERR_INVALID,
			"--stdin: standard input cannot be both the code and what it reads");
	return 0;
}

int session_run_exec(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	struct exec_line line = { 0 };
	struct cli_line cli = { .takes = session_exec_takes, .context = &line, .take = take_exec };
	auto_buf struct buf code = { 0 };
	int status = 0;
	buf_init(&code, LIMIT_CODE_BYTES);
	spec_init(&line.spec);
	int r = cli_read_mixed(argc, argv, &line.spec, exec_options, COUNT_OF(exec_options), &cli,
		&line.words, &err);
	if (r == 0 && !cli.has_help)
		r = check_exec(&line, &err);
	const char *file = line.words.count > 1 ? line.words.items[1] : NULL;
	if (r == 0 && !cli.has_help)
		r = read_code(&line, file, &code, &err);
	if (r == 0 && !cli.has_help)
		r = configure_record(&line, &err);
	if (r < 0)
		status = render_refusal(&line.manner, argc, argv, &line.spec, &err);
	else if (cli.has_help)
		cli_help(command, exec_options, COUNT_OF(exec_options), true, exec_examples);
	else
		status = take_turn(&line, line.words.items[0], file, &code);
	strings_done(&line.words);
	spec_done(&line.spec);
	spec_done(&line.record);
	return status;
}
