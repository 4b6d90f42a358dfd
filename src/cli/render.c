/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/render.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
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
	else if (strcmp(flag, "color") == 0)
		r = take_colour(manner, value, err);
	else if (strcmp(flag, "rows") == 0)
		r = take_rows(manner, value, err);
	else
		return 0;
	return r < 0 ? -1 : 1;
}

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
	if (rendering->manner->is_stream)
		tell_status(rendering, "queued", "ahead", ahead);
	else if (is_first && rendering->progress.is_wanted)
		(void)fprintf(stderr, "hotcell: waiting for a cell, %u before this one\n", ahead);
}

static void tell_begun(void *context)
{
	struct rendering *rendering = context;
	if (!rendering->has_begun && rendering->manner->is_stream)
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
static void flush_streams(struct rendering *rendering)
{
	bool is_stream = rendering->manner->is_stream;
	for (int stream = 0; stream < STREAM_COUNT; stream++) {
		size_t len = 0;
		int fd = stream == STREAM_OUT || is_stream ? STDOUT_FILENO : STDERR_FILENO;
		if (is_stream) {
			auto_free char *text = utf8_stream_end(&rendering->streams[stream], &len);
			if (len == 0)
				continue;
			auto_free char *line = event_to_json(rendering->id, rendering->seq++,
				stream == STREAM_OUT ? "stdout" : "stderr", text, len);
			(void)cli_write(fd, line, strlen(line), rendering->interrupt_fd);
		} else if (rendering->is_terminal[stream]) {
			auto_free char *text = utf8_visible_end(&rendering->views[stream], &len);
			(void)cli_write(fd, text, len, rendering->interrupt_fd);
		}
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
	*rendering = (struct rendering){
		.manner = manner, .id = result->id, .interrupt_fd = interrupt_fd
	};
	rendering->show.interrupt_fd = interrupt_fd;
	*outlet = (struct outlet){
		.fds = { -1, -1 }, .queued = tell_queued, .begun = tell_begun, .context = rendering
	};
	if (manner->is_json && !manner->is_stream)
		return;
	bool is_events = manner->is_json;
	outlet->render = is_events ? render_event : render_plain;
	outlet->announce = is_events ? announce : NULL;
	outlet->fds[STREAM_OUT] = STDOUT_FILENO;
	outlet->fds[STREAM_ERR] = is_events ? STDOUT_FILENO : STDERR_FILENO;
	rendering->is_terminal[STREAM_OUT] = isatty(STDOUT_FILENO);
	rendering->is_terminal[STREAM_ERR] = isatty(STDERR_FILENO);
	if (!is_events)
		prepare_show(rendering, outlet);
}

void render_end(struct rendering *rendering)
{
	tell_begun(rendering); /* who follows a run hears of its beginning, also of a failed one */
	cli_forget_interrupts(rendering->interrupt_fd);
	progress_erase(&rendering->progress);
	flush_streams(rendering);
}

/* 0, or -errno when the result did not reach its reader. */
static int print_result(
	struct rendering *rendering, const struct result *result, const struct spec *spec)
{
	bool is_stream = rendering->manner->is_stream;
	auto_free char *json = result_to_json(result, spec, !is_stream && isatty(STDOUT_FILENO));
	auto_free char *text =
		is_stream ? event_to_json(result->id, rendering->seq, "done", json, strlen(json))
			  : xasprintf("%s\n", json);
	return cli_write(STDOUT_FILENO, text, strlen(text), rendering->interrupt_fd);
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
	if (rendering->manner->is_json) {
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
	struct rendering rendering = { .manner = manner, .interrupt_fd = -1 };
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		manner->is_json |= strcmp(argv[i], "--json") == 0;
		manner->is_stream |= strcmp(argv[i], "--stream") == 0;
	}
	if (manner->is_json) {
		result_init(&result);
		rendering.id = result.id;
		result.status = STATUS_SETUP_ERROR;
		result_set_error(&result, "setup", "%s", err->text);
		(void)print_result(&rendering, &result, spec);
		result_done(&result);
	}
	return cli_fail(err);
}
