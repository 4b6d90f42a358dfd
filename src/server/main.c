/* SPDX-License-Identifier: Apache-2.0 */
/* hotcelld: reads its options and serves. */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "model/result.h"
#include "server/server.h"
#include "wire/utf8.h"

static int fail(const struct err *err)
{
	char line[sizeof(err->text) * 2];
	(void)fprintf(stderr, "hotcell: %s\n", utf8_line(err->text, line, sizeof(line)));
	return EXIT_COULD_NOT_RUN;
}

static const struct server_option *find_option(const char *word, size_t len)
{
	for (size_t i = 0; i < server_option_count; i++)
		if (strncmp(word, server_options[i].flag, len) == 0 &&
			server_options[i].flag[len] == '\0')
			return &server_options[i];
	return NULL;
}

/* `--flag VALUE` or `--flag=VALUE`; *at moves past what it took. */
static int take_option(char **argv, int *at, struct server_settings *settings, struct err *err)
{
	char shown[80];
	const char *word = argv[(*at)++];
	size_t len = strcspn(word, "=");
	const struct server_option *option =
		strncmp(word, "--", 2) == 0 ? find_option(word + 2, len - 2) : NULL;
	if (!option || (!option->metavar && word[len] == '='))
		return err_set(err, ERR_INVALID,
			"%s: no such option; hotcell serve --help lists them",
			utf8_line(word, shown, sizeof(shown)));
	const char *value = word[len] == '=' ? word + len + 1 : NULL;
	if (option->metavar && !value && !(value = argv[*at]))
		return err_set(err, ERR_INVALID, "--%s: needs a value", option->flag);
	*at += option->metavar && word[len] != '=';
	return server_settings_set(settings, option->flag, value, err);
}

static int take_options(char **argv, struct server_settings *settings, struct err *err)
{
	for (int at = 1; argv[at];)
		TRY(take_option(argv, &at, settings, err));
	return 0;
}

/* Options say which file to read, and then count more than what it says. */
static int fill_settings(
	char **argv, struct config *config, struct server_settings *settings, struct err *err)
{
	server_settings_init(settings);
	TRY(take_options(argv, settings, err));
	TRY(config_load(config, &settings->wish, err));
	server_settings_init(settings);
	TRY(server_settings_configure(settings, config, err));
	TRY(take_options(argv, settings, err));
	return server_settings_check(settings, err);
}

static int read_settings(void *argv, struct server_settings *ret_settings, struct err *err)
{
	struct config *config = xcalloc(1, sizeof(*config));
	config_init(config);
	int r = fill_settings(argv, config, ret_settings, err);
	ret_settings->config = config;
	ret_settings->reread = read_settings;
	ret_settings->context = argv;
	if (r < 0)
		server_settings_done(ret_settings);
	return r;
}

int main(int argc, char **argv)
{
	struct server_settings settings;
	struct err err = { 0 };
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void)printf("hotcelld %s\n", HOTCELL_VERSION);
		return 0;
	}
	if (read_settings(argv, &settings, &err) < 0)
		return fail(&err);
	config_pass_on(settings.config);
	return server_run(&settings, &err) < 0 ? fail(&err) : 0;
}
