/* SPDX-License-Identifier: Apache-2.0 */
/* The languages that are defined here, described. */
#include <string.h>

#include "base/own.h"
#include "engine/engine.h"
#include "wire/json.h"

/* Where the program is on the host; owned by the caller. */
static char *path_of(const struct language *language)
{
	static const char runtime[] = "{runtime}";
	const char *path = language_path(language);
	bool is_own = strncmp(path, runtime, sizeof(runtime) - 1) == 0 && language->dir;
	return is_own ? xasprintf("%s%s", language->dir, path + sizeof(runtime) - 1)
		      : xstrdup(path);
}

/* What stands ready where cells are lent: the interpreter as well, or the cell alone. */
static const char *start_of(const struct language *language, bool is_lent)
{
	if (!is_lent)
		return "cold";
	return language->guest.count > 0 || language->started.count > 0 ? "warm" : "cell";
}

static struct json_object *language_to_json(
	const struct language *language, const char *version, bool is_here, const char *start)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "name", json_new_string(language->name));
	json_put(json, "title", json_new_string(language->title));
	json_put(json, "aliases", strings_to_json(&language->aliases));
	json_put(json, "endings", strings_to_json(&language->endings));
	json_put(json, "version", version[0] ? json_new_string(version) : NULL);
	auto_free char *path = path_of(language);
	json_put(json, "path", json_new_string(path));
	json_put(json, "compiled", json_object_new_boolean(language->compile.count > 0));
	json_put(json, "available", json_object_new_boolean(is_here));
	json_put(json, "warm", json_object_new_boolean(strcmp(start, "warm") == 0));
	json_put(json, "start", json_new_string(start));
	json_put(json, "package", json_new_string(language->package));
	json_put(json, "documentation", json_new_string(language->documentation));
	json_put(json, "definition", json_new_string(language->dir));
	return json;
}

int engine_languages(bool is_lent, struct json_object **ret_list, struct err *err)
{
	struct languages all;
	struct spec spec;
	TRY(languages_load(&all, err));
	struct json_object *list = json_object_new_array();
	spec_init(&spec);
	for (size_t i = 0; i < all.count; i++) {
		const struct language *language = &all.items[i];
		char version[32] = "";
		bool is_here = !engine_missing_program(language, &spec);
		/* some never tell, as dash does */
		(void)engine_version(language, &spec, version, sizeof(version));
		(void)json_object_array_add(list,
			language_to_json(language, version, is_here, start_of(language, is_lent)));
	}
	spec_done(&spec);
	languages_done(&all);
	*ret_list = list;
	return 0;
}
