/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell-token: what `hotcell token` becomes. */
#include "cli/token.h"
#include "model/result.h"

int main(int argc, char **argv)
{
	if (!cli_begin())
		return EXIT_COULD_NOT_RUN;
	return cli_finish(token_command.run(&token_command, argc, argv));
}
