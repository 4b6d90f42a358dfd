/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell bench: becomes the benchmark. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "base/place.h"
#include "cli/cli.h"
#include "model/units.h"

enum { ROUNDS_MAX = 100000 };

static const struct cli_option options[] = {
	{ .flag = "rounds", .metavar = "N", .help = "how often each contender runs [200]" },
	{ .flag = "quick", .help = "a few rounds and small crowds, half a minute in all" },
	{ .flag = "json", .metavar = "FILE", .help = "write all numbers there; - for stdout" },
};

static const char examples[] = "  hotcell bench\n"
			       "  hotcell bench --quick\n"
			       "  hotcell bench --rounds 50 --json bench.json python static\n"
			       "  hotcell bench throughput burst parked memory points\n";

static int take(void *context, const char *flag, const char *value, struct err *err)
{
	int64_t rounds = 0;
	(void)context;
	if (strcmp(flag, "rounds") == 0 &&
		(units_parse_count(value, &rounds) < 0 || rounds < 1 || rounds > ROUNDS_MAX))
		return err_set(err, ERR_INVALID,
			"--rounds: '%.40s' is not a whole number from 1 to %d, for example "
			"--rounds 50",
			value, ROUNDS_MAX);
	return 0;
}

/* It times this very command, too. */
static int become(char **argv, struct err *err)
{
	char path[PATH_MAX + 64];
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0)
		return err_sys(err, errno, "find our own program");
	self[n] = '\0';
	TRY(place_program("bench/run", path, sizeof(path), err));
	(void)setenv("HOTCELL", self, 1);
	argv[0] = path;
	(void)execv(path, argv);
	return err_sys(err, errno, "execute '%s', which needs /usr/bin/python3", path);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	struct cli_line line = { .take = take };
	int r = cli_read(argc, argv, NULL, options, COUNT_OF(options), &line, &err);
	if (r == 0 && line.has_help) {
		cli_help(command, options, COUNT_OF(options), false, examples);
		return 0;
	}
	if (r == 0)
		r = become(argv, &err);
	return r < 0 ? cli_fail(&err) : 0;
}

const struct command cmd_bench = {
	.name = "bench",
	.usage = "[OPTIONS] [CONTENDER...]",
	.help = "how fast it is here, beside bare programs and other ways to isolate them",
	.run = run,
};
