/* SPDX-License-Identifier: Apache-2.0 */
/* Where a spec and the configuration meet: a language may have settings of its own. */
#include <string.h>

#include "engine/engine.h"

/* As make_from_language() will choose; a language that is not there is refused then. */
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

void engine_language_names(
	const struct spec *spec, const struct config *config, struct strings *ret_names)
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

int engine_configure(struct spec *spec, const struct config *config, struct err *err)
{
	struct strings names = { 0 };
	engine_language_names(spec, config, &names);
	int r = config_apply(config, &names, spec, err);
	strings_done(&names);
	return r;
}
