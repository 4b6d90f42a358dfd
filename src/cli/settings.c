/* SPDX-License-Identifier: Apache-2.0 */
/* Where commands and the configuration meet. */
#include <string.h>

#include "cli/cli.h"
#include "runtime/runtime.h"

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

/* As the engine chooses; a language that is not there is its to refuse. */
static bool load_language(
	const struct config *config, const struct spec *spec, struct language *language)
{
	struct err err = { 0 };
	bool is_there = false;
	const struct config_value *usual = config_look_up(config, NULL, "language");
	const char *name = usual ? usual->texts.items[0] : "python";
	if (spec->language)
		return language_load_one(spec->language, language, &err) == 0;
	if (spec->file && strcmp(spec->file, "-") != 0)
		return language_load_for_file(spec->file, language, &is_there, &err) == 0 &&
		       (is_there || language_load_one("python", language, &err) == 0);
	return language_load_one(name, language, &err) == 0;
}

void cli_language_names(
	const struct config *config, const struct spec *spec, struct strings *ret_names)
{
	struct language language;
	if (spec->exec.count > 0 || !config_has_languages(config) ||
		!load_language(config, spec, &language))
		return;
	strings_add(ret_names, language.name);
	for (size_t i = 0; i < language.aliases.count; i++)
		strings_add(ret_names, language.aliases.items[i]);
	language_done(&language);
}

int cli_configure(struct spec *spec, const struct config_wish *wish, struct err *err)
{
	struct config config;
	struct strings names = { 0 };
	config_init(&config);
	int r = cli_load(&config, wish, err);
	if (r == 0)
		cli_language_names(&config, spec, &names);
	if (r == 0)
		r = config_apply(&config, &names, spec, err);
	strings_done(&names);
	config_done(&config);
	return r;
}
