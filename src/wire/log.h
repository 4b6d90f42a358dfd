/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program that stays has to say, one line each on its standard error: for people, or as JSON
 * for a collector. It never waits for whoever reads: a line that finds no room is left out and
 * counted. Here and not in `base`, since a line is JSON and UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level {
	LEVEL_NONE = 0, /* nothing is said */
	LEVEL_ERROR,    /* something does not work */
	LEVEL_WARNING,  /* something went wrong, and was dealt with */
	LEVEL_INFO,     /* what happens, and every request */
	LEVEL_DEBUG,
	LOG_LEVEL_COUNT,
};

enum log_format {
	LOG_TEXT = 0,
	LOG_JSON,
	LOG_FORMAT_COUNT,
};

extern const char *const log_level_names[LOG_LEVEL_COUNT + 1];   /* NULL-terminated */
extern const char *const log_format_names[LOG_FORMAT_COUNT + 1]; /* NULL-terminated */

enum { LOG_LINE_MAX = 2048 }; /* with its newline: less than a pipe takes at once */

/* One thing that a line tells besides its words. */
struct log_field {
	const char *name;
	const char *text; /* NULL: it is a number */
	int64_t number;
	int places; /* number / 10^places */
};

/* What its lines begin with; until it is called, "hotcell". Must outlive the log. */
void log_name(const char *program);

/* Text from `info` on until it is called. */
void log_set(enum log_format format, enum log_level level);
bool log_wants(enum log_level level);

void log_say(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_tell(
	enum log_level level, const char *words, const struct log_field *fields, size_t count);

/* By its name; LOG_LEVEL_COUNT or LOG_FORMAT_COUNT: there is none. */
enum log_level log_level_of(const char *name);
enum log_format log_format_of(const char *name);

/* The line that would be written, with its newline; its length. For tests. */
size_t log_compose(char line[LOG_LINE_MAX], enum log_level level, const char *words,
	const struct log_field *fields, size_t count);
