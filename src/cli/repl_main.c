/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/repl.h"

int main(int argc, char **argv)
{
	if (!cli_begin())
		return EXIT_COULD_NOT_RUN;
	return cli_finish(repl_command.run(&repl_command, argc, argv));
}
