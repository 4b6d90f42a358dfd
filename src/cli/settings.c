/* SPDX-License-Identifier: Apache-2.0 */
/* Where commands and the configuration meet. */
#include <string.h>

#include "base/own.h"
#include "cli/cli.h"
#include "engine/engine.h"

bool cli_take_config(struct config_wish *wish, const char *flag, const char *value)
{
	if (strcmp(flag, "config") == 0)
		*wish = (struct config_wish){ .file = value };
	else if (strcmp(flag, "no-config") == 0)
		*wish = (struct config_wish){ .has_no_file = true };
	else
		return false;
	return true;
}

int cli_load(struct config *config, const struct config_wish *wish, struct err *err)
{
	TRY(config_load(config, wish, err));
	config_pass_on(config);
	return 0;
}

int cli_configure(struct spec *spec, const struct config_wish *wish, struct err *err)
{
	struct config config;
	config_init(&config);
	int r = cli_load(&config, wish, err);
	if (r == 0 && spec)
		r = engine_configure(spec, &config, err);
	config_done(&config);
	return r;
}

int cli_hand_on(const struct config_wish *wish, struct err *err)
{
	TRY(cli_configure(NULL, wish, err));
	if (wish->has_no_file)
		(void)setenv("HOTCELL_CONFIG", "/dev/null", true);
	if (wish->file) {
		auto_free char *path = realpath(wish->file, NULL);
		(void)setenv("HOTCELL_CONFIG", path ? path : wish->file, true);
	}
	return 0;
}
