/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell repl: becomes the prompt, which is a program of its own, so that what an editor needs
 * does not make every run longer. */
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
	if (place_program("hotcell-repl", path, sizeof(path), &err) < 0)
		return cli_fail(&err);
	(void)execv(path, argv);
	(void)err_sys(&err, errno, "execute '%s'", path);
	return cli_fail(&err);
}

const struct command cmd_repl = {
	.name = "repl",
	.usage = "[-l LANG] [--session NAME] [OPTIONS]",
	.help = "a prompt: code line by line, in a session that remembers",
	.run = run,
};
