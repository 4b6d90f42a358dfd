/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell session VERB: cells that remember, held by the keeper, one command for each thing to do
 * with them. */
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/session_view.h"
#include "cli/sessions.h"
#include "model/units.h"

enum { TEXT_MAX = 16 << 20 };

/* ---- what the verbs share ---------------------------------------------------------------------
 */

#define TENANT_OPTION                                                                   \
	{                                                                               \
		.flag = "tenant", .metavar = "NAME",                                    \
		.help = "a session that was made over HTTP with the token of this name" \
	}

static const struct cli_option json_option[] = {
	{ .flag = "json", .help = "print JSON" },
};

static const struct cli_option tenant_options[] = {
	{ .flag = "json", .help = "print JSON" },
	TENANT_OPTION,
};

struct plain_line {
	bool is_json, has_all, is_forced;
	const char *tenant; /* borrowed; NULL: our own sessions are meant */
	struct strings names;
};

static void plain_line_done(struct plain_line *line)
{
	strings_done(&line->names);
}

#define auto_line __attribute__((cleanup(plain_line_done)))

static int take_plain(void *context, const char *flag, const char *value, struct err *err)
{
	struct plain_line *line = context;
	(void)err;
	if (strcmp(flag, "tenant") == 0)
		line->tenant = value;
	line->is_json |= strcmp(flag, "json") == 0;
	line->has_all |= strcmp(flag, "all") == 0;
	line->is_forced |= strcmp(flag, "force") == 0;
	return 0;
}

/* Reads a command line of few options and so many names. Returns -1 to go on, else the exit
 * status. */
static int read_names(const struct command *command, int argc, char **argv,
	const struct cli_option *options, size_t option_count, size_t min, size_t max,
	struct plain_line *line)
{
	struct err err = { 0 };
	struct cli_line cli = { .context = line, .take = take_plain };
	if (cli_read_mixed(argc, argv, NULL, options, option_count, &cli, &line->names, &err) < 0)
		return cli_fail(&err);
	if (cli.has_help) {
		cli_help(command, options, option_count, false, NULL);
		return 0;
	}
	size_t count = line->names.count;
	if (count >= min && count <= max)
		return -1;
	(void)err_set(&err, ERR_INVALID, "%s: %s; usage: hotcell %s %s", command->name,
		count < min ? "a name is missing" : "too many names", command->name,
		command->usage);
	return cli_fail(&err);
}

static struct json_object *request_of(
	const struct plain_line *line, const char *verb, const char *session)
{
	struct json_object *request = sessions_request(verb, session);
	if (line->tenant)
		json_put(request, "tenant", json_new_string(line->tenant));
	return request;
}

static void print_buf(const struct buf *text)
{
	(void)fwrite(buf_text(text), 1, text->len, stdout);
}

/* Asks about one session; where nobody holds any there is none of that name. */
static int ask(struct json_object *request, struct json_object **ret_answer, struct err *err)
{
	if (sessions_are_served())
		return sessions_ask(request, ret_answer, err);
	(void)err_set(err, ERR_MISSING, "there is no session '%.64s': no daemon runs",
		json_object_get_string(json_object_object_get(request, "session")));
	(void)json_object_put(request);
	return -1;
}

/* ---- looking ----------------------------------------------------------------------------------
 */

static int run_list(const struct command *command, int argc, char **argv)
{
	static const struct cli_option options[] = {
		{ .flag = "json", .help = "print JSON instead of a table" },
		TENANT_OPTION,
		{ .flag = "all", .help = "of every tenant" },
	};
	struct err err = { 0 };
	auto_line struct plain_line line = { 0 };
	auto_json struct json_object *answer = NULL;
	struct term term;
	int status = read_names(command, argc, argv, options, COUNT_OF(options), 0, 0, &line);
	if (status >= 0)
		return status;
	auto_json struct json_object *request = request_of(&line, "list", NULL);
	if (line.has_all)
		json_put(request, "all", json_object_new_boolean(true));
	/* nobody is started only to say that there is nothing */
	if (sessions_are_served() && sessions_ask(json_object_get(request), &answer, &err) < 0)
		return cli_fail(&err);
	struct json_object *list = json_object_object_get(answer, "sessions");
	if (!json_object_is_type(list, json_type_array))
		list = NULL;
	if (line.is_json) {
		auto_json struct json_object *none = json_object_new_array();
		sessions_print(list ? list : none);
		return 0;
	}
	term_look(&term, STDOUT_FILENO, COLOUR_AUTO);
	if (!list || json_object_array_length(list) == 0) {
		if (term.is_terminal)
			(void)printf("no sessions; hotcell session new makes one\n");
		return 0;
	}
	auto_buf struct buf text = { 0 };
	buf_init(&text, TEXT_MAX);
	session_list_put(&text, list, &term, (int64_t)time(NULL));
	print_buf(&text);
	return 0;
}

static int run_info(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	auto_line struct plain_line line = { 0 };
	auto_json struct json_object *info = NULL;
	auto_buf struct buf text = { 0 };
	struct term term;
	int status = read_names(
		command, argc, argv, tenant_options, COUNT_OF(tenant_options), 1, 1, &line);
	if (status >= 0)
		return status;
	if (ask(request_of(&line, "info", line.names.items[0]), &info, &err) < 0)
		return cli_fail(&err);
	if (line.is_json) {
		sessions_print(info);
		return 0;
	}
	buf_init(&text, TEXT_MAX);
	term_look(&term, STDOUT_FILENO, COLOUR_AUTO);
	session_info_put(&text, info, &term, (int64_t)time(NULL));
	print_buf(&text);
	return 0;
}

/* ---- points and branches ----------------------------------------------------------------------
 */

static void print_point(struct json_object *answer, bool is_json, const char *what)
{
	struct json_object *point = json_object_object_get(answer, "point");
	if (is_json) {
		sessions_print(answer);
		return;
	}
	auto_free char *name = session_point_name(point);
	(void)printf("%s%s\n", what, name);
	sessions_tell_notes(answer);
}

static int run_checkpoint(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	auto_line struct plain_line line = { 0 };
	auto_json struct json_object *answer = NULL;
	int status =
		read_names(command, argc, argv, json_option, COUNT_OF(json_option), 1, 2, &line);
	if (status >= 0)
		return status;
	struct json_object *request = sessions_request("checkpoint", line.names.items[0]);
	if (line.names.count > 1)
		json_put(request, "point", json_new_string(line.names.items[1]));
	if (ask(request, &answer, &err) < 0)
		return cli_fail(&err);
	print_point(answer, line.is_json, "");
	return 0;
}

static int run_rollback(const struct command *command, int argc, char **argv)
{
	static const struct cli_option options[] = {
		{ .flag = "force", .help = "also when something runs that would be lost" },
		{ .flag = "json", .help = "print JSON" },
	};
	struct err err = { 0 };
	auto_line struct plain_line line = { 0 };
	auto_json struct json_object *answer = NULL;
	int status = read_names(command, argc, argv, options, COUNT_OF(options), 2, 2, &line);
	if (status >= 0)
		return status;
	struct json_object *request = sessions_request("rollback", line.names.items[0]);
	json_put(request, "point", json_new_string(line.names.items[1]));
	if (line.is_forced)
		json_put(request, "force", json_object_new_boolean(true));
	if (ask(request, &answer, &err) < 0)
		return cli_fail(&err);
	print_point(answer, line.is_json, "back at ");
	return 0;
}

static int run_undo(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	auto_line struct plain_line line = { 0 };
	auto_json struct json_object *answer = NULL;
	int status =
		read_names(command, argc, argv, json_option, COUNT_OF(json_option), 1, 1, &line);
	if (status >= 0)
		return status;
	if (ask(sessions_request("undo", line.names.items[0]), &answer, &err) < 0)
		return cli_fail(&err);
	print_point(answer, line.is_json, "back at ");
	return 0;
}

static int run_fork(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	auto_line struct plain_line line = { 0 };
	auto_json struct json_object *answer = NULL;
	int status =
		read_names(command, argc, argv, json_option, COUNT_OF(json_option), 2, 2, &line);
	if (status >= 0)
		return status;
	if (sessions_check_name(line.names.items[1], &err) < 0)
		return cli_fail(&err);
	struct json_object *request = sessions_request("fork", line.names.items[0]);
	json_put(request, "new", json_new_string(line.names.items[1]));
	if (ask(request, &answer, &err) < 0)
		return cli_fail(&err);
	if (line.is_json) {
		sessions_print(answer);
		return 0;
	}
	(void)printf("%s\n", line.names.items[1]);
	sessions_tell_notes(answer);
	return 0;
}

/* ---- ending -----------------------------------------------------------------------------------
 */

static int run_interrupt(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	auto_line struct plain_line line = { 0 };
	auto_json struct json_object *answer = NULL;
	int status = read_names(
		command, argc, argv, tenant_options, COUNT_OF(tenant_options), 1, 1, &line);
	if (status >= 0)
		return status;
	if (ask(request_of(&line, "interrupt", line.names.items[0]), &answer, &err) < 0)
		return cli_fail(&err);
	if (line.is_json)
		sessions_print(answer);
	else if (!json_object_get_boolean(json_object_object_get(answer, "interrupted")))
		(void)fprintf(
			stderr, "hotcell: nothing ran in session '%.64s'\n", line.names.items[0]);
	return 0;
}

/* Every one of them is tried; the status tells whether one could not be. */
static int kill_named(const struct plain_line *line, const struct strings *names)
{
	int status = 0;
	auto_json struct json_object *killed = json_object_new_array();
	for (size_t i = 0; i < names->count; i++) {
		struct err err = { 0 };
		auto_json struct json_object *answer = NULL;
		if (ask(request_of(line, "kill", names->items[i]), &answer, &err) < 0)
			status = cli_fail(&err);
		else
			(void)json_object_array_add(killed, json_new_string(names->items[i]));
	}
	if (line->is_json)
		sessions_print(killed);
	return status;
}

static int kill_all(const struct plain_line *line)
{
	struct err err = { 0 };
	struct strings names = { 0 };
	auto_json struct json_object *answer = NULL;
	if (sessions_are_served() &&
		sessions_ask(request_of(line, "list", NULL), &answer, &err) < 0)
		return cli_fail(&err);
	struct json_object *list = json_object_object_get(answer, "sessions");
	size_t count =
		json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	for (size_t i = 0; i < count; i++) {
		const char *name = json_object_get_string(
			json_object_object_get(json_object_array_get_idx(list, i), "name"));
		if (name)
			strings_add(&names, name);
	}
	int status = kill_named(line, &names);
	strings_done(&names);
	return status;
}

static int run_kill(const struct command *command, int argc, char **argv)
{
	static const struct cli_option options[] = {
		{ .flag = "all", .help = "every session there is" },
		{ .flag = "json", .help = "print the names of those that ended" },
		TENANT_OPTION,
	};
	struct err err = { 0 };
	auto_line struct plain_line line = { 0 };
	int status =
		read_names(command, argc, argv, options, COUNT_OF(options), 0, SIZE_MAX, &line);
	if (status >= 0)
		return status;
	if (line.has_all == (line.names.count > 0)) {
		(void)err_set(&err, ERR_INVALID,
			"session kill needs names, or --all: hotcell session list shows them");
		return cli_fail(&err);
	}
	return line.has_all ? kill_all(&line) : kill_named(&line, &line.names);
}

/* ---- the verbs --------------------------------------------------------------------------------
 */

/* clang-format off */
static const struct command verbs[] = {
	{ .name = "session new", .usage = "[OPTIONS] [NAME]", .run = session_run_new, .takes = session_takes,
	  .help = "starts a session and prints its name" },
	{ .name = "session list", .usage = "[--all | --tenant NAME] [--json]", .run = run_list,
	  .help = "the sessions there are" },
	{ .name = "session exec", .usage = "[OPTIONS] NAME (-c CODE | FILE | -)", .run = session_run_exec,
	  .takes = session_exec_takes,
	  .help = "executes code in a session; what it leaves is there for the next" },
	{ .name = "session files", .usage = "[--json] NAME", .run = session_run_files,
	  .help = "the files in a session's /home/user" },
	{ .name = "session put", .usage = "NAME FILE[:PATH]…", .run = session_run_put,
	  .help = "copies files into a session's /home/user, also while code runs" },
	{ .name = "session get", .usage = "NAME PATH[:FILE]…", .run = session_run_get,
	  .help = "copies files out of it; PATH:- prints one" },
	{ .name = "session info", .usage = "[--tenant NAME] [--json] NAME", .run = run_info,
	  .help = "all about one session: limits, memory, points" },
	{ .name = "session checkpoint", .usage = "[--json] NAME [POINT]", .run = run_checkpoint,
	  .help = "remembers how a session is, its files included, as a point to go back to" },
	{ .name = "session rollback", .usage = "[--force] [--json] NAME POINT", .run = run_rollback,
	  .help = "takes a session back to a point, by its name or number" },
	{ .name = "session undo", .usage = "[--json] NAME", .run = run_undo,
	  .help = "takes the last turn back, in a session made with --undo" },
	{ .name = "session fork", .usage = "[--json] NAME NEW", .run = run_fork,
	  .help = "makes a branch: another session that begins where this one is" },
	{ .name = "session interrupt", .usage = "[--tenant NAME] [--json] NAME", .run = run_interrupt,
	  .help = "stops the code that runs in a session; its state stays" },
	{ .name = "session kill", .usage = "[--tenant NAME] (NAME… | --all)", .run = run_kill,
	  .help = "ends sessions" },
};
/* clang-format on */

static const char *verb_name(const struct command *verb)
{
	return strchr(verb->name, ' ') + 1;
}

static int show_help(FILE *stream)
{
	(void)fprintf(stream, "usage: hotcell session VERB [OPTIONS]\n\n"
			      "Cells that remember from one execution to the next.\n\n");
	for (size_t i = 0; i < COUNT_OF(verbs); i++)
		(void)fprintf(stream, "  %-12s %s\n", verb_name(&verbs[i]), verbs[i].help);
	(void)fprintf(stream, "\n  hotcell session VERB --help   explains a verb\n\nexamples:\n"
			      "  hotcell session new work\n"
			      "  hotcell session exec work -c 'x = 6'\n"
			      "  hotcell session checkpoint work before\n"
			      "  hotcell session exec work -c 'x = 0'\n"
			      "  hotcell session rollback work before\n"
			      "  hotcell session kill work\n");
	return stream == stdout ? 0 : EXIT_COULD_NOT_RUN;
}

static int refuse_verb(const char *word)
{
	struct err err = { 0 };
	const char *names[COUNT_OF(verbs)];
	for (size_t i = 0; i < COUNT_OF(verbs); i++)
		names[i] = verb_name(&verbs[i]);
	const char *near = units_nearest(word, names, COUNT_OF(names));
	(void)err_set(&err, ERR_INVALID,
		"session: '%.60s' is not a verb%s%s%s; hotcell session --help lists them", word,
		near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
	return cli_fail(&err);
}

static int read_config(struct err *err)
{
	struct config config;
	struct config_wish wish = { 0 };
	config_init(&config);
	int r = cli_load(&config, &wish, err);
	config_done(&config);
	return r;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	(void)command;
	if (argc < 2)
		return show_help(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
		strcmp(argv[1], "help") == 0)
		return show_help(stdout);
	for (size_t i = 0; i < COUNT_OF(verbs); i++) {
		if (strcmp(argv[1], verb_name(&verbs[i])) != 0)
			continue;
		/* where the daemon is; `new` reads all of it by itself */
		if (verbs[i].run != session_run_new && read_config(&err) < 0)
			return cli_fail(&err);
		return verbs[i].run(&verbs[i], argc - 1, argv + 1);
	}
	return refuse_verb(argv[1]);
}

const struct command cmd_session = {
	.name = "session",
	.usage = "VERB [OPTIONS]",
	.help = "cells that remember: new, exec, checkpoint, rollback, fork and more",
	.run = run,
};
