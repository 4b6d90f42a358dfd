/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: one file per command. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "config/config.h"
#include "model/spec.h"

struct command {
	const char *name;
	const char *usage; /* after "hotcell NAME " */
	const char *help;  /* one line */
	int (*run)(const struct command *command, int argc, char **argv);
	/* Which of the spec's fields it has options for; NULL: all of them. */
	bool (*takes)(const struct field *field);
};

extern const struct command cmd_run;
extern const struct command cmd_check;
extern const struct command cmd_repl;
extern const struct command cmd_session;
extern const struct command cmd_serve;
extern const struct command cmd_token;
extern const struct command cmd_top;
extern const struct command cmd_doctor;
extern const struct command cmd_languages;
extern const struct command cmd_providers;
extern const struct command cmd_batch;
extern const struct command cmd_mcp;
extern const struct command cmd_bench;
extern const struct command cmd_config;
extern const struct command cmd_audit;
extern const struct command cmd_artifacts;

/* At the beginning of a program: streams are there, and signals that are errors are ignored. False:
 * it cannot run. */
bool cli_begin(void);

/* At its end: the exit status. What was printed but could not be written, as on a full disk, is no
 * success; a reader who left early, as head does, had what he wanted. */
int cli_finish(int status);

/* An option that is the command's own, not a field of the spec. */
struct cli_option {
	const char *flag;
	char short_flag;     /* 0: none */
	const char *metavar; /* NULL: takes no value */
	const char *help;
};

/* What a command line came to. */
struct cli_line {
	bool has_help;
	int rest; /* index of the first argument that is no option */
	bool (*takes)(const struct field *field); /* as in struct command */
	void *context;
	/* Called for each of the command's own options, with its value or NULL. */
	int (*take)(void *context, const char *flag, const char *value, struct err *err);
};

/* Reads options: the spec's fields (spec may be NULL: none of them) and the command's own. */
int cli_read(int argc, char **argv, struct spec *spec, const struct cli_option *own,
	size_t own_count, struct cli_line *line, struct err *err);

/* The same for commands whose words may stand among the options: those are collected, and
 * line->rest is not of interest. Behind "--" everything is a word. */
int cli_read_mixed(int argc, char **argv, struct spec *spec, const struct cli_option *own,
	size_t own_count, struct cli_line *line, struct strings *ret_words, struct err *err);

/* Prints usage, own options, and the spec's fields when there are any to take. */
void cli_help(const struct command *command, const struct cli_option *own, size_t own_count,
	bool has_spec, const char *examples);

/* "hotcell: " + text on stderr. Returns EXIT_COULD_NOT_RUN. */
int cli_fail(const struct err *err);

/* Reads options of a command whose only ones are --json and --help. Returns -1 to go on, else the
 * exit status. */
int cli_read_simple(const struct command *command, int argc, char **argv, bool *ret_json);

/* A descriptor that becomes readable with a signal that ends a run; not with those our caller
 * ignores, as nohup does. */
int cli_open_interrupts(void);

/* The signal that ended the run has done its work; the next one is news. */
void cli_forget_interrupts(int interrupt_fd);

/* Prints text that may carry foreign bytes, made safe when the stream is a terminal. */
void cli_print(FILE *stream, const char *text, size_t len);

/* The two options of a command that reads the configuration. */
#define CLI_CONFIG_OPTIONS                                                            \
	{ .flag = "config",                                                           \
		.metavar = "FILE",                                                    \
		.help = "read this settings file, not the user's and the system's" }, \
	{                                                                             \
		.flag = "no-config", .help = "read no settings file"                  \
	}

/* Takes one of them. False: it is another option. */
bool cli_take_config(struct config_wish *wish, const char *flag, const char *value);

/* Reads the configuration, and puts what programs look for there into the environment. */
int cli_load(struct config *config, const struct config_wish *wish, struct err *err);

/* The same, and fills what the spec, when there is one, leaves open. */
int cli_configure(struct spec *spec, const struct config_wish *wish, struct err *err);

/* For a command whose runs happen in other processes: those read the configuration that was wished
 * for too. Says beforehand when it is wrong. */
int cli_hand_on(const struct config_wish *wish, struct err *err);
