/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotcell-sql SCRIPT [DATABASE] [NAME=VALUE…]   runs a script of SQL against a database file, or
 * one in memory; :NAME in it stands for VALUE. It is the runner of the language "sql": results go
 * to standard output as tables, and as rich values over the channel when there is one.
 *
 * hotcell-sql --session [DATABASE] [NAME=VALUE…]   serves the line of a session on descriptor 3.
 */
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "relay/order.h"
#include "sql/failure.h"
#include "sql/session.h"
#include "sql/shell.h"

struct arguments {
	const char *script;
	const char *database;
	struct parameter *parameters; /* owned */
	size_t parameter_count;
};

/* NAME=VALUE; a file of such a name is written with its directory, as ./a=b. */
static bool is_parameter(const char *text)
{
	size_t len =
		strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
	return len > 0 && text[len] == '=';
}

static bool read_arguments(int argc, char **argv, struct arguments *arguments)
{
	if (argc < 2)
		return false;
	arguments->script = argv[1];
	arguments->parameters = xcalloc((size_t)argc, sizeof(*arguments->parameters));
	for (int i = 2; i < argc; i++) {
		if (is_parameter(argv[i])) {
			size_t len = strcspn(argv[i], "=");
			arguments->parameters[arguments->parameter_count++] =
				(struct parameter){ argv[i], len, argv[i] + len + 1 };
		} else if (arguments->database) {
			return false;
		} else {
			arguments->database = argv[i];
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct shell shell = { 0 };
	bool is_session = argc > 1 && strcmp(argv[1], "--session") == 0;
	int line_fd = is_session ? order_open_line() : -1;
	channel_open(&shell.channel);
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void)printf("SQLite %s\n", sqlite3_libversion());
		return 0;
	}
	if (is_session && line_fd < 0) {
		(void)fprintf(stderr, "%s: descriptor 3 is no line of a keeper\n", argv[0]);
		return 2;
	}
	if (!read_arguments(argc, argv, &arguments)) {
		(void)fprintf(stderr, "usage: %s SCRIPT [DATABASE] [NAME=VALUE…]\n", argv[0]);
		return 2;
	}
	shell.parameters = arguments.parameters;
	shell.parameter_count = arguments.parameter_count;
	bool is_done = shell_open(&shell, arguments.database);
	if (is_done)
		is_done = is_session ? session_serve(&shell, line_fd) == 0
				     : shell_run_file(&shell, arguments.script);
	if (!is_done && shell.message[0] != '\0')
		failure_of_shell(&shell, NULL, NULL);
	shell_finish(&shell);
	shell_close(&shell);
	free(arguments.parameters);
	return shell.has_failed;
}
