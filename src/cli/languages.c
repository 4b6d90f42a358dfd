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

/* Whether cells are lent here. */
static bool is_lent(void)
{
	char path[PATH_MAX];
	loan_socket_path(path, sizeof(path));
	auto_fd int fd = loan_connect(path);
	return fd >= 0;
}

static const char *text_of(struct json_object *language, const char *key)
{
	const char *text = json_object_get_string(json_object_object_get(language, key));
	return text ? text : "-";
}

static void print_language(struct json_object *language)
{
	const char *name = text_of(language, "name");
	if (json_object_get_boolean(json_object_object_get(language, "available")))
		(void)printf("%-12s %-10s %-5s %s\n", name, text_of(language, "version"),
			text_of(language, "start"), text_of(language, "path"));
	else
		(void)printf("%-12s %-10s %-5s missing: apt-get install %s\n", name, "-", "-",
			json_object_object_get(language, "package") ? text_of(language, "package")
								    : name);
}

static int print_languages(bool is_json, struct err *err)
{
	auto_json struct json_object *list = NULL;
	TRY(engine_languages(is_lent(), &list, err));
	if (is_json) {
		auto_free char *text = json_print(list, true);
		(void)printf("%s\n", text);
		return 0;
	}
	(void)printf("%-12s %-10s %-5s %s\n", "LANGUAGE", "VERSION", "START", "PROGRAM");
	for (size_t i = 0; i < json_object_array_length(list); i++)
		print_language(json_object_array_get_idx(list, i));
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
