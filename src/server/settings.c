/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "model/field.h"
#include "model/limits.h"
#include "model/units.h"
#include "server/server.h"
#include "wire/utf8.h"

enum {
	IDLE_S = 300,
	QUEUE = 256,
	PARKED = 64,
	SESSIONS = 600,
	LOANS_PER_CPU = 4,
	DRAIN_S = 10,
	DRAIN_MAX = 86400,
};

/* What each option sets; the words for it are in the table below. */
static const struct number {
	const char *flag;
	size_t offset;
	int64_t min, max;
} numbers[] = {
	/* clang-format off */
	{ "concurrency", offsetof(struct server_settings, concurrency), 1, LIMIT_LOANS },
	{ "queue",       offsetof(struct server_settings, queue),       0, LIMIT_QUEUE },
	{ "parked",      offsetof(struct server_settings, parked),      0, LIMIT_PARKED },
	{ "sessions",    offsetof(struct server_settings, sessions),    0, LIMIT_SESSIONS },
	{ "idle",        offsetof(struct server_settings, idle_s),      1, 30 * 86400 },
	{ "drain-timeout", offsetof(struct server_settings, drain_s),   0, DRAIN_MAX },
	/* clang-format on */
};

const struct server_option server_options[] = {
	{ "socket", "PATH",
		"where clients find it [HOTCELL_SOCKET, else hotcelld.sock in the user's run "
		"directory]" },
	{ "listen", "ADDR:PORT",
		"serve HTTP there too, for example 127.0.0.1:7070 [only at the socket's path + "
		".http]" },
	{ "tls-cert", "FILE", "with --listen: serve HTTPS with this certificate, PEM" },
	{ "tls-key", "FILE", "and with this key, PEM" },
	{ "plain-http", NULL,
		"let other machines come without TLS, as behind a proxy that does it" },
	{ "public-name", "NAME[,NAME]",
		"names of this machine that requests may be for [localhost]" },
	{ "concurrency", "N", "most cells lent at once [4 for each CPU]" },
	{ "queue", "N", "most clients who wait for one; more are refused [256]" },
	{ "parked", "N", "most cells that stand ready [64]" },
	{ "sessions", "N", "most sessions held at once [600]" },
	{ "warm", "NAME[=N],…",
		"languages whose cells stand ready before anybody asks, and how many of each "
		"[python=2]" },
	{ "on-demand", NULL, "leave when nobody has needed it for a while" },
	{ "idle", "SEC", "with --on-demand: how long that is, in seconds [300]" },
	{ "drain-timeout", "SEC",
		"told to end, let what is under way go on for so long, in seconds [10]" },
	{ "log-format", "FORMAT", "what its log is written as: text or json [text]" },
	{ "log-level", "LEVEL", "what it tells: none, error, warning, info or debug [info]" },
	{ "config", "FILE", "read this settings file, not the user's and the system's" },
	{ "no-config", NULL, "read no settings file" },
};
const size_t server_option_count = COUNT_OF(server_options);

void server_settings_init(struct server_settings *settings)
{
	cpu_set_t cpus;
	bool is_known = sched_getaffinity(0, sizeof(cpus), &cpus) == 0;
	*settings = (struct server_settings){
		.concurrency = LOANS_PER_CPU * (is_known ? CPU_COUNT(&cpus) : 1),
		.queue = QUEUE,
		.parked = PARKED,
		.sessions = SESSIONS,
		.warm = "python",
		.idle_s = IDLE_S,
		.drain_s = DRAIN_S,
		.log_level = LEVEL_INFO,
	};
}

void server_settings_done(struct server_settings *settings)
{
	if (settings->config)
		config_done(settings->config);
	free(settings->config);
	*settings = (struct server_settings){ 0 };
}

static int set_number(struct server_settings *settings, const struct number *number,
	const char *value, struct err *err)
{
	char quote[64];
	int64_t count = 0;
	int r = units_parse_count(value, &count);
	if (r < 0 || count < number->min || count > number->max)
		return err_set(err, ERR_INVALID,
			"--%s: '%s' is not a whole number from %" PRId64 " to %" PRId64
			", for example --%s 100",
			number->flag, utf8_line(value, quote, sizeof(quote)), number->min,
			number->max, number->flag);
	*(int64_t *)((char *)settings + number->offset) = count;
	return 0;
}

static int set_log(
	struct server_settings *settings, const char *flag, const char *value, struct err *err)
{
	char quote[64];
	bool is_format = strcmp(flag, "log-format") == 0;
	enum log_format format = log_format_of(value);
	enum log_level level = log_level_of(value);
	if (is_format ? format == LOG_FORMAT_COUNT : level == LOG_LEVEL_COUNT)
		return err_set(err, ERR_INVALID, "--%s: '%s' is not %s, for example --%s %s", flag,
			utf8_line(value, quote, sizeof(quote)),
			is_format ? "text or json" : "one of none, error, warning, info, debug",
			flag, is_format ? "json" : "info");
	if (is_format)
		settings->log_format = format;
	else
		settings->log_level = level;
	return 0;
}

/* Names as they stand in a Host header, without a port. */
static int set_names(struct server_settings *settings, const char *value, struct err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-,";
	char quote[64];
	if (value[0] == '\0' || strspn(value, letters) != strlen(value))
		return err_set(err, ERR_INVALID,
			"--public-name: '%s' is not a list of host names, for example "
			"--public-name cells.example.org",
			utf8_line(value, quote, sizeof(quote)));
	settings->public_name = value;
	return 0;
}

int server_settings_set(
	struct server_settings *settings, const char *flag, const char *value, struct err *err)
{
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		if (strcmp(flag, numbers[i].flag) == 0) {
			settings->has_idle |= strcmp(flag, "idle") == 0;
			return set_number(settings, &numbers[i], value, err);
		}
	if (strcmp(flag, "on-demand") == 0)
		settings->is_on_demand = true;
	else if (strcmp(flag, "config") == 0)
		settings->wish = (struct config_wish){ .file = value };
	else if (strcmp(flag, "no-config") == 0)
		settings->wish = (struct config_wish){ .has_no_file = true };
	else if (strncmp(flag, "log-", 4) == 0)
		return set_log(settings, flag, value, err);
	else if (strcmp(flag, "warm") == 0) {
		settings->warm = value;
		return warm_check(value, err);
	} else if (strcmp(flag, "socket") == 0 && value[0])
		settings->socket_path = value;
	else if (strcmp(flag, "socket") == 0)
		return err_set(err, ERR_INVALID, "--socket: the path is empty");
	else if (strcmp(flag, "listen") == 0)
		settings->listen = value;
	else if (strcmp(flag, "tls-cert") == 0)
		settings->tls_cert = value;
	else if (strcmp(flag, "tls-key") == 0)
		settings->tls_key = value;
	else if (strcmp(flag, "plain-http") == 0)
		settings->is_plain = true;
	else if (strcmp(flag, "public-name") == 0)
		return set_names(settings, value, err);
	else
		return err_set(err, ERR_INVALID, "--%s: no such option; --help lists them", flag);
	return 0;
}

/* A key is written as its option is, but for the strokes between its words. */
static int configure_one(struct server_settings *settings, const struct config *config,
	const char *flag, struct err *err)
{
	char name[32];
	(void)snprintf(name, sizeof(name), "%s", flag);
	for (char *at = name; (at = strchr(at, '-')) != NULL;)
		*at = '_';
	const struct config_value *value = config_look_up(config, "daemon", name);
	if (!value || server_settings_set(settings, flag, value->texts.items[0], err) == 0)
		return 0;
	auto_free char *origin = config_origin(value);
	return err_wrap(err, "%s", origin);
}

static bool is_true(const struct config *config, const char *name)
{
	const struct config_value *value = config_look_up(config, "daemon", name);
	return value && field_is_true(value->texts.items[0]);
}

/* Where its socket is is passed on to clients too, and so stands in the environment. */
int server_settings_configure(
	struct server_settings *settings, const struct config *config, struct err *err)
{
	static const char *const texts[] = { "warm", "listen", "tls-cert", "tls-key", "public-name",
		"log-format", "log-level" };
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		TRY(configure_one(settings, config, numbers[i].flag, err));
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		TRY(configure_one(settings, config, texts[i], err));
	settings->has_idle = false; /* a default that waits for --on-demand */
	settings->is_on_demand = is_true(config, "on_demand");
	settings->is_plain = is_true(config, "plain_http");
	return 0;
}

int server_settings_check(const struct server_settings *settings, struct err *err)
{
	if (settings->has_idle && !settings->is_on_demand)
		return err_set(err, ERR_INVALID,
			"--idle: only a daemon started with --on-demand leaves by itself");
	if (!settings->tls_cert != !settings->tls_key)
		return err_set(err, ERR_INVALID,
			"--tls-cert and --tls-key go together: a certificate and the key it was "
			"made with");
	if (!settings->listen &&
		(settings->tls_cert || settings->is_plain || settings->public_name))
		return err_set(err, ERR_INVALID,
			"%s: only with --listen, for example --listen 0.0.0.0:7070",
			settings->tls_cert   ? "--tls-cert"
			: settings->is_plain ? "--plain-http"
					     : "--public-name");
	if (settings->tls_cert && settings->is_plain)
		return err_set(err, ERR_INVALID,
			"--plain-http: is said in place of --tls-cert, not besides");
	return 0;
}
