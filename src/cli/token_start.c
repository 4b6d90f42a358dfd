/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell token: becomes a program of its own, so that no run carries a database along. */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/place.h"
#include "cli/cli.h"

static int run(const struct command *command, int argc, char **argv)
{
	char path[PATH_MAX + 64];
	struct err err = { 0 };
	(void)command;
	(void)argc;
	if (place_program("hotcell-token", path, sizeof(path), &err) < 0)
		return cli_fail(&err);
	(void)execv(path, argv);
	(void)err_sys(&err, errno, "execute '%s'", path);
	return cli_fail(&err);
}

const struct command cmd_token = {
	.name = "token",
	.usage = "new NAME | list | rotate NAME | revoke NAME | limits [NAME] [OPTIONS]",
	.help = "who may ask the daemon over HTTP, for what, and how much",
	.run = run,
};
