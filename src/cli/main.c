/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell: finds the command and runs it. */
#include <string.h>

#include "base/own.h"
#include "cli/cli.h"
#include "model/result.h"
#include "model/units.h"

static const struct command *const commands[] = {
	&cmd_run,
	&cmd_check,
	&cmd_repl,
	&cmd_session,
	&cmd_serve,
	&cmd_token,
	&cmd_top,
	&cmd_doctor,
	&cmd_languages,
	&cmd_providers,
	&cmd_batch,
	&cmd_mcp,
	&cmd_config,
	&cmd_audit,
	&cmd_artifacts,
	&cmd_bench,
};

static int show_help(FILE *stream)
{
	(void)fprintf(stream,
		"usage: hotcell COMMAND [OPTIONS]\n\n"
		"Runs code nobody has read yet in a cell that cannot touch the host.\n\n");
	for (size_t i = 0; i < COUNT_OF(commands); i++)
		(void)fprintf(stream, "  %-12s %s\n", commands[i]->name, commands[i]->help);
	(void)fprintf(stream, "\n  hotcell COMMAND --help   explains a command\n"
			      "  hotcell --version        shows the version\n");
	return 0;
}

static int refuse_command(const char *name)
{
	const char *names[COUNT_OF(commands)];
	struct err err = { 0 };
	for (size_t i = 0; i < COUNT_OF(commands); i++)
		names[i] = commands[i]->name;
	const char *near = units_nearest(name, names, COUNT_OF(names));
	(void)err_set(&err, ERR_INVALID,
		"'%.60s' is not a command%s%s%s; hotcell --help lists them", name,
		near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
	return cli_fail(&err);
}

int main(int argc, char **argv)
{
	if (!cli_begin())
		return EXIT_COULD_NOT_RUN;
	if (argc < 2) {
		(void)show_help(stderr);
		return EXIT_COULD_NOT_RUN;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
		strcmp(argv[1], "help") == 0)
		return cli_finish(show_help(stdout));
	if (strcmp(argv[1], "--version") == 0) {
		(void)printf("hotcell %s\n", HOTCELL_VERSION);
		return cli_finish(0);
	}
	for (size_t i = 0; i < COUNT_OF(commands); i++)
		if (strcmp(argv[1], commands[i]->name) == 0)
			return cli_finish(commands[i]->run(commands[i], argc - 1, argv + 1));
	return refuse_command(argv[1]);
}
