/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell run: one execution in a fresh cell. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/show.h"
#include "cli/view.h"
#include "engine/engine.h"
#include "model/units.h"
#include "wire/utf8.h"

struct run_line {
	struct spec spec;
	bool is_json, is_stream, is_explain, is_exec;
	char *spec_file; /* borrowed */
	enum colour_wish colour;
	int64_t rows; /* of a table; 0: as many as fit the eye */
};

static const struct cli_option run_options[] = {
	{ .flag = "exec", .help = "run a program of the cell: --exec -- PROG ARG…" },
	{ .flag = "json", .help = "print one ExecutionResult as JSON on stdout, nothing else" },
	{ .flag = "stream", .help = "with --json: events as JSON lines, the result as the last" },
	{ .flag = "explain", .help = "tell on stderr what each isolation layer did" },
	{ .flag = "spec",
		.metavar = "FILE",
		.help = "read the settings as JSON first, - for stdin" },
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
				   "  hotcell run --exec -- ls -la /\n";

static int take_colour(struct run_line *line, const char *value, struct err *err)
{
	for (int i = 0; i < COLOUR_WISH_COUNT; i++) {
		if (strcmp(value, colour_wish_names[i]) != 0)
			continue;
		line->colour = (enum colour_wish)i;
		return 0;
	}
	return err_set(err, ERR_INVALID,
		"--color: '%.40s' is not auto, always or never, for example --color never", value);
}

static int take_rows(struct run_line *line, const char *value, struct err *err)
{
	if (units_parse_count(value, &line->rows) < 0 || line->rows < 1)
		return err_set(err, ERR_INVALID,
			"--rows: '%.40s' is not a count from 1, for example --rows 100", value);
	return 0;
}

static int take_option(void *context, const char *flag, const char *value, struct err *err)
{
	struct run_line *line = context;
	if (strcmp(flag, "exec") == 0)
		line->is_exec = true;
	else if (strcmp(flag, "json") == 0)
		line->is_json = true;
	else if (strcmp(flag, "stream") == 0)
		line->is_stream = true;
	else if (strcmp(flag, "explain") == 0)
		line->is_explain = true;
	else if (strcmp(flag, "spec") == 0)
		line->spec_file = (char *)value;
	else if (strcmp(flag, "color") == 0)
		return take_colour(line, value, err);
	else if (strcmp(flag, "rows") == 0)
		return take_rows(line, value, err);
	return 0;
}

/* Output on its way to the terminal, a pipe, or the event stream. */
struct rendering {
	const char *id; /* for events */
	int64_t seq;
	bool is_terminal[STREAM_COUNT];
	struct utf8_visible views[STREAM_COUNT];
	struct utf8_stream streams[STREAM_COUNT];
	struct show show;
	struct progress progress;
	int interrupt_fd;
	bool is_stream;
	bool has_begun;
	int64_t queued_us; /* since when; 0: it was not */
};

static void tell_status(
	struct rendering *rendering, const char *state, const char *key, int64_t number)
{
	auto_free char *event = status_to_json(rendering->id, rendering->seq++, state, key, number);
	(void)cli_write(STDOUT_FILENO, event, strlen(event), rendering->interrupt_fd);
}

static void tell_queued(void *context, unsigned int ahead)
{
	struct rendering *rendering = context;
	bool is_first = rendering->queued_us == 0;
	if (is_first)
		rendering->queued_us = clock_us();
	if (rendering->is_stream)
		tell_status(rendering, "queued", "ahead", ahead);
	else if (is_first && rendering->progress.is_wanted)
		(void)fprintf(stderr, "hotcell: waiting for a cell, %u before this one\n", ahead);
}

static void tell_begun(void *context)
{
	struct rendering *rendering = context;
	if (!rendering->has_begun && rendering->is_stream)
		tell_status(rendering, "running", rendering->queued_us ? "waited_ms" : NULL,
			rendering->queued_us ? (clock_us() - rendering->queued_us) / 1000 : 0);
	rendering->has_begun = true;
}

static void tick(void *context, const struct pulse *pulse)
{
	struct rendering *rendering = context;
	if (!rendering->show.is_midline)
		progress_draw(&rendering->progress, pulse);
}

static void render_plain(
	void *context, int stream, const char *data, size_t len, struct buf *pending)
{
	struct rendering *rendering = context;
	if (!rendering->is_terminal[stream]) {
		(void)buf_append(pending, data, len);
		return;
	}
	size_t safe_len = 0;
	progress_erase(&rendering->progress);
	rendering->show.is_midline = len > 0 && data[len - 1] != '\n';
	auto_free char *safe = utf8_visible_push(&rendering->views[stream], data, len, &safe_len);
	(void)buf_append(pending, safe, safe_len);
}

static void render_event(
	void *context, int stream, const char *data, size_t len, struct buf *pending)
{
	struct rendering *rendering = context;
	size_t text_len = 0;
	auto_free char *text = utf8_stream_push(&rendering->streams[stream], data, len, &text_len);
	if (text_len == 0)
		return;
	auto_free char *line = event_to_json(rendering->id, rendering->seq++,
		stream == STREAM_OUT ? "stdout" : "stderr", text, text_len);
	(void)buf_append(pending, line, strlen(line));
}

static void announce(void *context, const struct message *message, struct buf *pending)
{
	struct rendering *rendering = context;
	auto_free char *line = message_to_json(message, rendering->id, rendering->seq++);
	(void)buf_append(pending, line, strlen(line));
}

/* What a stream held back, hoping for the rest of a character, comes out at the end. */
static void finish_rendering(struct rendering *rendering, bool is_stream, int interrupt_fd)
{
	for (int stream = 0; stream < STREAM_COUNT; stream++) {
		size_t len = 0;
		int fd = stream == STREAM_OUT || is_stream ? STDOUT_FILENO : STDERR_FILENO;
		if (is_stream) {
			auto_free char *text = utf8_stream_end(&rendering->streams[stream], &len);
			if (len == 0)
				continue;
			auto_free char *line = event_to_json(rendering->id, rendering->seq++,
				stream == STREAM_OUT ? "stdout" : "stderr", text, len);
			(void)cli_write(fd, line, strlen(line), interrupt_fd);
		} else if (rendering->is_terminal[stream]) {
			auto_free char *text = utf8_visible_end(&rendering->views[stream], &len);
			(void)cli_write(fd, text, len, interrupt_fd);
		}
	}
}

static void prepare_show(
	const struct run_line *line, struct rendering *rendering, struct outlet *outlet)
{
	struct show *show = &rendering->show;
	term_look(&show->out, STDOUT_FILENO, line->colour);
	term_look(&show->err, STDERR_FILENO, line->colour);
	show->max_rows = line->rows > 0 ? (size_t)line->rows : VIEW_ROWS;
	/* where a person types, the line is theirs */
	bool is_typed = line->spec.stdin_path && strcmp(line->spec.stdin_path, "-") == 0 &&
			isatty(STDIN_FILENO);
	rendering->progress = (struct progress){ .term = &show->err,
		.is_wanted = show->err.is_terminal && !show->err.is_dumb && !is_typed };
	outlet->tick = rendering->progress.is_wanted ? tick : NULL;
}

static void choose_outlet(
	const struct run_line *line, struct rendering *rendering, struct outlet *outlet)
{
	*outlet = (struct outlet){
		.fds = { -1, -1 }, .queued = tell_queued, .begun = tell_begun, .context = rendering
	};
	if (line->is_json && !line->is_stream)
		return;
	bool is_events = line->is_json;
	outlet->render = is_events ? render_event : render_plain;
	outlet->announce = is_events ? announce : NULL;
	outlet->fds[STREAM_OUT] = STDOUT_FILENO;
	outlet->fds[STREAM_ERR] = is_events ? STDOUT_FILENO : STDERR_FILENO;
	rendering->is_terminal[STREAM_OUT] = isatty(STDOUT_FILENO);
	rendering->is_terminal[STREAM_ERR] = isatty(STDERR_FILENO);
	if (!is_events)
		prepare_show(line, rendering, outlet);
}

/* Signals that end a run; not those our caller ignores, as nohup does. */
static int open_interrupts(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t signals;
	(void)sigemptyset(&signals);
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		struct sigaction action;
		if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			(void)sigaddset(&signals, numbers[i]);
	}
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
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
	if (line->is_stream && !line->is_json)
		return err_set(err, ERR_INVALID, "--stream: only goes with --json");
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

/* 0, or -errno when the result did not reach its reader. */
static int print_result(const struct run_line *line, const struct result *result,
	struct rendering *rendering, int interrupt_fd)
{
	auto_free char *json =
		result_to_json(result, &line->spec, !line->is_stream && isatty(STDOUT_FILENO));
	auto_free char *text = line->is_stream ? event_to_json(result->id, rendering->seq, "done",
							 json, strlen(json))
					       : xasprintf("%s\n", json);
	return cli_write(STDOUT_FILENO, text, strlen(text), interrupt_fd);
}

/* The exit status when the result could not be told: a reader who left knows it himself. */
static int judge_telling(int told, int status)
{
	struct err err = { 0 };
	if (told == -EINTR)
		return 128 + SIGINT;
	if (told == 0 || told == -EPIPE)
		return status;
	(void)err_sys(&err, -told, "write the result");
	return cli_fail(&err);
}

/* The signal that ended the run has done its work; the next one is news. */
static void forget_interrupts(int interrupt_fd)
{
	struct signalfd_siginfo info;
	while (read(interrupt_fd, &info, sizeof(info)) > 0)
		;
}

static int run_spec(struct run_line *line)
{
	struct err err = { 0 };
	struct result result;
	struct report report = { 0 };
	struct engine_rest rest = { 0 };
	struct engine_wishes wishes = { .interrupt_fd = open_interrupts(),
		.wants_version = line->is_json };
	result_init(&result);
	struct rendering rendering = {
		.id = result.id, .interrupt_fd = wishes.interrupt_fd, .is_stream = line->is_stream
	};
	choose_outlet(line, &rendering, &wishes.outlet);
	int told = 0;
	int r = engine_run(&line->spec, &wishes, &result, &report, &rest, &err);
	tell_begun(&rendering); /* who follows a run hears of its beginning, also of a failed one */
	forget_interrupts(wishes.interrupt_fd);
	progress_erase(&rendering.progress);
	finish_rendering(&rendering, line->is_stream, wishes.interrupt_fd);
	if (line->is_explain)
		print_explain(&report);
	if (r < 0)
		(void)cli_fail(&err);
	if (line->is_json) {
		show_note_cuts(&result);
		told = print_result(line, &result, &rendering, wishes.interrupt_fd);
	} else {
		rendering.show.interrupt_fd = wishes.interrupt_fd;
		rendering.show.is_snippet = !line->spec.file || strcmp(line->spec.file, "-") == 0;
		show_values(&rendering.show, &result);
		show_words(&rendering.show, &result);
	}
	int status = judge_telling(told, result_exit_code(&result));
	engine_clean(&rest);
	own_close(&wishes.interrupt_fd);
	result_done(&result);
	return status;
}

/* Whoever asked for JSON gets JSON, also when --json stands behind the word that was wrong. */
static int refuse_line(int argc, char **argv, struct run_line *line, const struct err *err)
{
	struct result result;
	struct rendering rendering = { 0 };
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		line->is_json |= strcmp(argv[i], "--json") == 0;
		line->is_stream |= strcmp(argv[i], "--stream") == 0;
	}
	if (line->is_json) {
		result_init(&result);
		result.status = STATUS_SETUP_ERROR;
		result_set_error(&result, "setup", "%s", err->text);
		(void)print_result(line, &result, &rendering, -1);
		result_done(&result);
	}
	return cli_fail(err);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	struct run_line line = { 0 };
	struct cli_line cli = { .context = &line, .take = take_option };
	int status = 0;
	spec_init(&line.spec);
	if (read_line(argc, argv, &line, &cli, &err) < 0)
		status = refuse_line(argc, argv, &line, &err);
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
