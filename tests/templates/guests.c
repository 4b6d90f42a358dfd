/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs in cells, each forked from one Python that stands ready, or started as ever.
 *
 *   guests RUNTIME [MODULE…]   RUNTIME is the directory of Python's runner. Reads lines from
 *                              standard input: a way, a space and a spec as JSON. Prints each
 *                              result as a line of JSON, or `{"setup_error": "…"}`.
 *
 * The ways: `guest` raises the cell when it is asked for, `parked` takes one that was raised
 * before (and waits until it stands), `started` one in which a Python was started for it alone,
 * `cold` executes the runner.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "keeper/cell.h"
#include "runtime/runtime.h"
#include "wire/json.h"

enum { LINE_MAX_BYTES = 4 << 20, PARKED_MS = 20 };

static struct heard hear(void *context, const char *data, size_t len, struct buf *pending)
{
	struct heard heard = { 0 };
	struct message message = { 0 };
	struct err err = { 0 };
	(void)pending;
	if (channel_take(context, data, len, &message, &err) < 0)
		return (struct heard){ .is_nonsense = true };
	heard.is_done = message.kind == MESSAGE_DONE;
	heard.exit_code = heard.is_done ? message_exit_code(&message) : 0;
	message_done(&message);
	return heard;
}

static int read_code(const struct spec *spec, struct buf *code, struct err *err)
{
	buf_init(code, LIMIT_CODE_BYTES);
	if (spec->code)
		return buf_append(code, spec->code, strlen(spec->code)) < 0
			       ? err_set(err, ERR_LIMIT, "the code is too long")
			       : 0;
	auto_fd int fd = open(spec->file, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : buf_read(code, fd);
	return r < 0 ? err_sys(err, -r, "read '%s'", spec->file) : 0;
}

static enum cell_form form_of(const char *way)
{
	if (strcmp(way, "cold") == 0)
		return FORM_GATE;
	return strcmp(way, "started") == 0 ? FORM_STARTED : FORM_GUEST;
}

static int park_started(struct keeper *keeper, const struct spec *spec, struct err *err)
{
	char *const words[] = { (char *)"/usr/bin/python3", (char *)RUNTIME_DIR "/wait.py" };
	const struct strings argv = { (char **)words, COUNT_OF(words) };
	TRY(keeper_park(keeper, spec, false, FORM_STARTED, err));
	return cell_start(keeper->parked, &argv, err);
}

static int run(struct keeper *keeper, const char *way, const struct spec *spec,
	struct result *result, struct err *err)
{
	struct channel channel = { .result = result };
	struct strings argv = { 0 };
	struct strings own_argv = { 0 };
	auto_buf struct buf code;
	TRY(read_code(spec, &code, err));
	enum cell_form form = form_of(way);
	if (form == FORM_GUEST && !keeper_is_host(keeper))
		return err_set(err, ERR_BROKEN, "the interpreter does not stand ready");
	strings_add(&argv, "/usr/bin/python3");
	strings_add(&argv, RUNTIME_DIR "/runner.py");
	strings_add(&argv, "main.py");
	strings_add(&own_argv, "main.py");
	for (size_t i = 0; i < spec->args.count; i++) {
		strings_add(&argv, spec->args.items[i]);
		strings_add(&own_argv, spec->args.items[i]);
	}
	const struct task task = {
		.spec = spec,
		.argv = &argv,
		.own_argv = &own_argv,
		.program = "main.py",
		.code = buf_text(&code),
		.code_len = code.len,
		.form = form,
		.outlet = { .fds = { -1, -1 } },
		.ear = { .hear = hear, .context = &channel },
		.interrupt_fd = -1,
	};
	int r = 0;
	if (strcmp(way, "parked") == 0) {
		r = keeper_park(keeper, spec, false, form, err);
		(void)poll(NULL, 0, PARKED_MS); /* it has stood there for a while */
	}
	if (form == FORM_STARTED)
		r = park_started(keeper, spec, err);
	if (r == 0)
		r = keeper_run(keeper, &task, result, NULL, err);
	channel_end(&channel);
	strings_done(&argv);
	strings_done(&own_argv);
	return r;
}

static void print_error(const struct err *err)
{
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, "setup_error", json_new_string(err->text));
	auto_free char *text = json_print(json, false);
	(void)puts(text);
}

static void answer(struct keeper *keeper, char *line)
{
	struct err err = { 0 };
	struct spec spec;
	struct result result;
	char *json = line;
	const char *way = strsep(&json, " ");
	spec_init(&spec);
	result_init(&result);
	int r = json ? spec_from_json(&spec, json, strlen(json), &err) : -1;
	if (r == 0)
		r = spec_check(&spec, &err);
	if (r == 0)
		r = run(keeper, way, &spec, &result, &err);
	if (r < 0) {
		print_error(&err);
	} else {
		auto_free char *text = result_to_json(&result, &spec, false);
		(void)puts(text);
	}
	(void)fflush(stdout);
	result_done(&result);
	spec_done(&spec);
	keeper_tidy(keeper);
}

int main(int argc, char **argv)
{
	struct keeper *keeper = NULL;
	struct err err = { 0 };
	struct spec spec;
	struct strings host = { 0 };
	(void)signal(SIGPIPE, SIG_IGN); /* a cell may be gone when its input comes */
	if (argc < 2) {
		(void)fprintf(stderr, "usage: guests RUNTIME [MODULE…]\n");
		return 2;
	}
	auto_free char *boot = xasprintf("%s/boot.py", argv[1]);
	strings_add(&host, "/usr/bin/python3");
	strings_add(&host, boot);
	for (int i = 2; i < argc; i++)
		strings_add(&host, argv[i]);
	spec_init(&spec);
	int r = keeper_open(&spec, argv[1], KEEPER_RESIDENT, &keeper, &err);
	if (r == 0)
		r = keeper_host(keeper, &host, &err);
	if (r == 0)
		r = keeper_await_host(keeper, &err);
	auto_free char *line = xcalloc(1, LINE_MAX_BYTES);
	while (r == 0 && fgets(line, LINE_MAX_BYTES, stdin)) {
		line[strcspn(line, "\n")] = '\0';
		answer(keeper, line);
	}
	if (r < 0)
		(void)fprintf(stderr, "guests: %s\n", err.text);
	keeper_close(keeper);
	spec_done(&spec);
	strings_done(&host);
	return r < 0 ? 1 : 0;
}
