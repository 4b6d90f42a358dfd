/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell-keeper: holds zygotes, interpreters and cells that stand ready, and lends them. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "keeper/lend.h"
#include "model/result.h"
#include "model/units.h"
#include "wire/log.h"

enum { MOST_PARKED = 64, MOST_SESSIONS = 600, LINGER_SECONDS = 60, LINGER_MAX = 86400 };

static int fail(const struct err *err)
{
	log_say(LEVEL_ERROR, "%s", err->text);
	return EXIT_COULD_NOT_RUN;
}

static int read_count(
	const char *flag, const char *text, long min, long max, long *ret_count, struct err *err)
{
	int64_t count = 0;
	if (units_parse_count(text, &count) < 0 || count < min || count > max)
		return err_set(err, ERR_INVALID, "%s: '%.40s' is not a number from %ld to %ld",
			flag, text, min, max);
	*ret_count = (long)count;
	return 0;
}

static int read_log(bool is_format, const char *text, enum log_format *ret_format,
	enum log_level *ret_level, struct err *err)
{
	enum log_format format = log_format_of(text);
	enum log_level level = log_level_of(text);
	if (is_format ? format == LOG_FORMAT_COUNT : level == LOG_LEVEL_COUNT)
		return err_set(err, ERR_INVALID, "--log-%s: '%.40s' is none",
			is_format ? "format" : "level", text);
	if (is_format)
		*ret_format = format;
	else
		*ret_level = level;
	return 0;
}

static int read_options(int argc, char **argv, struct lend_options *options, struct err *err)
{
	static const struct option known[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "parked", required_argument, NULL, 'p' },
		{ "sessions", required_argument, NULL, 'n' },
		{ "linger", required_argument, NULL, 'l' },
		{ "log-format", required_argument, NULL, 'F' },
		{ "log-level", required_argument, NULL, 'L' },
		{ NULL, 0, NULL, 0 },
	};
	enum log_format format = LOG_TEXT;
	enum log_level level = LEVEL_INFO;
	for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
		if (c == 's')
			options->socket = optarg;
		else if (c == 'p')
			TRY(read_count(
				"--parked", optarg, 0, LIMIT_PARKED, &options->most_parked, err));
		else if (c == 'n')
			TRY(read_count("--sessions", optarg, 0, LIMIT_SESSIONS,
				&options->most_sessions, err));
		else if (c == 'l')
			TRY(read_count(
				"--linger", optarg, 0, LINGER_MAX, &options->linger_seconds, err));
		else if (c == 'F' || c == 'L')
			TRY(read_log(c == 'F', optarg, &format, &level, err));
		else
			return err_set(err, ERR_INVALID,
				"usage: hotcell-keeper --socket PATH [--parked N] [--sessions N] "
				"[--linger SEC] [--log-format FORMAT] [--log-level LEVEL]");
	}
	log_set(format, level);
	if (!options->socket || optind < argc)
		return err_set(err, ERR_INVALID,
			"--socket: says where the daemon finds us, and nothing else follows");
	return 0;
}

int main(int argc, char **argv)
{
	struct lend_options options = { .most_parked = MOST_PARKED,
		.most_sessions = MOST_SESSIONS,
		.linger_seconds = LINGER_SECONDS };
	struct err err = { 0 };
	log_name("hotcell-keeper");
	if (read_options(argc, argv, &options, &err) < 0 || lend(&options, &err) < 0)
		return fail(&err);
	return 0;
}
