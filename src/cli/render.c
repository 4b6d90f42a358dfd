/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/render.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "cli/cli.h"
#include "cli/view.h"
#include "model/units.h"

static int take_colour(struct manner *manner, const char *value, struct err *err)
{
	for (int i = 0; i < COLOUR_WISH_COUNT; i++) {
		if (strcmp(value, colour_wish_names[i]) != 0)
			continue;
		manner->colour = (enum colour_wish)i;
		return 0;
	}
	return err_set(err, ERR_INVALID,
		"--color: '%.40s' is not auto, always or never, for example --color never", value);
}

static int take_rows(struct manner *manner, const char *value, struct err *err)
{
	if (units_parse_count(value, &manner->rows) < 0 || manner->rows < 1)
		return err_set(err, ERR_INVALID,
			"--rows: '%.40s' is not a count from 1, for example --rows 100", value);
	return 0;
}

int manner_take(struct manner *manner, const char *flag, const char *value, struct err *err)
{
	int r = 0;
	if (strcmp(flag, "json") == 0)
		manner->is_json = true;
	else if (strcmp(flag, "stream") == 0)
		manner->is_stream = true;
	else if (strcmp(flag, "compact") == 0)
		manner->is_compact = true;
	else if (strcmp(flag, "color") == 0)
		r = take_colour(manner, value, err);
	else if (strcmp(flag, "rows") == 0)
		r = take_rows(manner, value, err);
	else
		return 0;
	return r < 0 ? -1 : 1;
}

static void tell_queued(void *context, unsigned int ahead)
{
	struct rendering *rendering = context;
	if (!rendering->was_queued && rendering->progress.is_wanted)
		(void)fprintf(stderr, "hotcell: waiting for a cell, %u before this one\n", ahead);
	rendering->was_queued = true;
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

/* What a stream held back, hoping for the rest of a character, comes out at the end. */
static void flush_streams(struct rendering *rendering)
{
	static const int fds[STREAM_COUNT] = { STDOUT_FILENO, STDERR_FILENO };
	for (int stream = 0; stream < STREAM_COUNT; stream++) {
		size_t len = 0;
		if (!rendering->is_terminal[stream])
			continue;
		auto_free char *text = utf8_visible_end(&rendering->views[stream], &len);
		(void)io_write_until(fds[stream], text, len, rendering->interrupt_fd);
	}
}

static void prepare_show(struct rendering *rendering, struct outlet *outlet)
{
	const struct manner *manner = rendering->manner;
	struct show *show = &rendering->show;
	term_look(&show->out, STDOUT_FILENO, manner->colour);
	term_look(&show->err, STDERR_FILENO, manner->colour);
	show->max_rows = manner->rows > 0 ? (size_t)manner->rows : VIEW_ROWS;
	rendering->progress = (struct progress){ .term = &show->err,
		.is_wanted =
			show->err.is_terminal && !show->err.is_dumb && !manner->has_typed_input };
	outlet->tick = rendering->progress.is_wanted ? tick : NULL;
}

void render_begin(struct rendering *rendering, const struct manner *manner,
	const struct result *result, int interrupt_fd, struct outlet *ret_outlet)
{
	struct outlet *outlet = ret_outlet;
	*rendering = (struct rendering){ .manner = manner,
		.events = { .id = result->id, .fd = STDOUT_FILENO, .interrupt_fd = interrupt_fd },
		.interrupt_fd = interrupt_fd };
	rendering->show.interrupt_fd = interrupt_fd;
	*outlet = (struct outlet){ .fds = { -1, -1 }, .queued = tell_queued, .context = rendering };
	if (manner->is_stream)
		events_follow(&rendering->events, outlet);
	if (manner->is_json || manner->is_compact)
		return;
	outlet->render = render_plain;
	outlet->fds[STREAM_OUT] = STDOUT_FILENO;
	outlet->fds[STREAM_ERR] = STDERR_FILENO;
	rendering->is_terminal[STREAM_OUT] = isatty(STDOUT_FILENO);
	rendering->is_terminal[STREAM_ERR] = isatty(STDERR_FILENO);
	prepare_show(rendering, outlet);
}

void render_end(struct rendering *rendering)
{
	cli_forget_interrupts(rendering->interrupt_fd);
	progress_erase(&rendering->progress);
	flush_streams(rendering);
}

/* 0, or -errno when the result did not reach its reader. */
static int print_result(
	struct rendering *rendering, const struct result *result, const struct spec *spec)
{
	bool is_stream = rendering->manner->is_stream;
	if (rendering->manner->is_compact) {
		auto_free char *words = result_compact(result, spec);
		return io_write_until(STDOUT_FILENO, words, strlen(words), rendering->interrupt_fd);
	}
	auto_free char *json = result_to_json(result, spec, !is_stream && isatty(STDOUT_FILENO));
	if (is_stream)
		return events_finish(&rendering->events, json);
	auto_free char *text = xasprintf("%s\n", json);
	return io_write_until(STDOUT_FILENO, text, strlen(text), rendering->interrupt_fd);
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

int render_result(struct rendering *rendering, struct result *result, const struct spec *spec,
	bool is_snippet)
{
	int told = 0;
	if (rendering->manner->is_compact) {
		told = print_result(rendering, result, spec);
	} else if (rendering->manner->is_json) {
		show_note_cuts(result);
		told = print_result(rendering, result, spec);
	} else {
		rendering->show.is_snippet = is_snippet;
		show_values(&rendering->show, result);
		show_words(&rendering->show, result);
	}
	return judge_telling(told, result_exit_code(result));
}

int render_refusal(struct manner *manner, int argc, char **argv, const struct spec *spec,
	const struct err *err)
{
	struct result result;
	struct rendering rendering = { .manner = manner,
		.events = { .fd = STDOUT_FILENO, .interrupt_fd = -1, .has_begun = true },
		.interrupt_fd = -1 };
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		manner->is_json |= strcmp(argv[i], "--json") == 0;
		manner->is_stream |= strcmp(argv[i], "--stream") == 0;
		manner->is_compact |= strcmp(argv[i], "--compact") == 0;
	}
	manner->is_compact &= !manner->is_json;
	if (manner->is_json || manner->is_compact) {
		result_init(&result);
		rendering.events.id = result.id;
		result.status = STATUS_SETUP_ERROR;
		result_set_error(&result, "setup", "%s", err->text);
		(void)print_result(&rendering, &result, spec);
		result_done(&result);
	}
	return cli_fail(err);
}
