/* SPDX-License-Identifier: Apache-2.0 */
/* hotcell languages and hotcell providers: what is here, and what would bring the rest. */
#include <limits.h>
#include <string.h>

#include "base/own.h"
#include "cli/cli.h"
#include "engine/engine.h"
#include "loan/loan.h"
#include "provider/provider.h"
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

static struct json_object *strings_to_json(const struct strings *strings)
{
	struct json_object *json = json_object_new_array();
	for (size_t i = 0; i < strings->count; i++)
		(void)json_object_array_add(json, json_new_string(strings->items[i]));
	return json;
}

/* Whether cells are lent here. */
static bool is_lent(void)
{
	char path[PATH_MAX];
	loan_socket_path(path, sizeof(path));
	auto_fd int fd = loan_connect(path);
	return fd >= 0;
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
	json_put(json, "package", json_new_string(language->package));
	json_put(json, "documentation", json_new_string(language->documentation));
	json_put(json, "definition", json_new_string(language->dir));
	return json;
}

static int print_languages(bool is_json, struct err *err)
{
	struct languages all;
	struct spec spec;
	auto_json struct json_object *list = json_object_new_array();
	TRY(languages_load(&all, err));
	spec_init(&spec);
	bool has_lender = is_lent();
	if (!is_json)
		(void)printf("%-12s %-10s %-5s %s\n", "LANGUAGE", "VERSION", "START", "PROGRAM");
	for (size_t i = 0; i < all.count; i++) {
		const struct language *language = &all.items[i];
		char version[32] = "";
		auto_free char *path = path_of(language);
		const char *start = start_of(language, has_lender);
		bool is_here = !engine_missing_program(language, &spec);
		/* some never tell, as dash does */
		(void)engine_version(language, &spec, version, sizeof(version));
		if (is_json)
			(void)json_object_array_add(
				list, language_to_json(language, version, is_here, start));
		else if (is_here)
			(void)printf("%-12s %-10s %-5s %s\n", language->name,
				version[0] ? version : "-", start, path);
		else
			(void)printf("%-12s %-10s %-5s missing: apt-get install %s\n",
				language->name, "-", "-",
				language->package ? language->package : language->name);
	}
	if (is_json) {
		auto_free char *text = json_print(list, true);
		(void)printf("%s\n", text);
	}
	spec_done(&spec);
	languages_done(&all);
	return 0;
}

static int run_languages(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	bool is_json = false;
	int status = cli_read_simple(command, argc, argv, &is_json);
	if (status >= 0)
		return status;
	int r = cli_configure(NULL, &(struct config_wish){ 0 }, &err);
	return r < 0 || print_languages(is_json, &err) < 0 ? cli_fail(&err) : 0;
}

static int run_providers(const struct command *command, int argc, char **argv)
{
	bool is_json = false;
	int status = cli_read_simple(command, argc, argv, &is_json);
	if (status >= 0)
		return status;
	auto_json struct json_object *list = json_object_new_array();
	for (size_t i = 0; providers[i]; i++) {
		struct json_object *json = json_object_new_object();
		json_put(json, "name", json_new_string(providers[i]->name));
		json_put(json, "title", json_new_string(providers[i]->title));
		(void)json_object_array_add(list, json);
		if (!is_json)
			(void)printf("%-12s %s\n", providers[i]->name, providers[i]->title);
	}
	if (is_json) {
		auto_free char *text = json_print(list, true);
		(void)printf("%s\n", text);
	}
	return 0;
}

const struct command cmd_languages = {
	.name = "languages",
	.usage = "[--json]",
	.help = "languages of this machine, their versions, and what to install for the others",
	.run = run_languages,
};

const struct command cmd_providers = {
	.name = "providers",
	.usage = "[--json]",
	.help = "who can isolate a cell here",
	.run = run_providers,
};
