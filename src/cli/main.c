/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell: finds the command and runs it. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

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
	&cmd_doctor,
	&cmd_languages,
	&cmd_providers,
	&cmd_batch,
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

/* What was printed but could not be written, as on a full disk, is no success; a reader who left
 * early, as head does, had what he wanted. */
static int finish(int status)
{
	struct err err = { 0 };
	struct pollfd reader = { .fd = STDOUT_FILENO, .events = POLLOUT };
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR))
		return status;
	(void)err_set(&err, ERR_SYSTEM, "the answer could not be written to standard output");
	return cli_fail(&err);
}

/* A closed 0, 1 or 2 would be given to the next thing we open, and output would go there. */
static bool is_open(int fd)
{
	if (fcntl(fd, F_GETFD) >= 0)
		return true;
	int lowest_fd = open("/dev/null", O_RDWR);
	return lowest_fd == fd; /* and stays open */
}

int main(int argc, char **argv)
{
	if (!is_open(STDIN_FILENO) || !is_open(STDOUT_FILENO) || !is_open(STDERR_FILENO))
		return EXIT_COULD_NOT_RUN;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* a small ulimit -f shall be an error, not our end */
	if (argc < 2) {
		(void)show_help(stderr);
		return EXIT_COULD_NOT_RUN;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
		strcmp(argv[1], "help") == 0)
		return finish(show_help(stdout));
	if (strcmp(argv[1], "--version") == 0) {
		(void)printf("hotcell %s\n", HOTCELL_VERSION);
		return finish(0);
	}
	for (size_t i = 0; i < COUNT_OF(commands); i++)
		if (strcmp(argv[1], commands[i]->name) == 0)
			return finish(commands[i]->run(commands[i], argc - 1, argv + 1));
	return refuse_command(argv[1]);
}
