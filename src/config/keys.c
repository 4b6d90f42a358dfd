/* SPDX-License-Identifier: Apache-2.0 */
/* The keys: the fields of the spec, and a few that are no run's. */
#include <ctype.h>
#include <string.h>

#include "base/own.h"
#include "config/parts.h"
#include "model/field.h"
#include "model/limits.h"
#include "model/units.h"
#include "wire/log.h"

#define MB ((int64_t)1 << 20)
#define TB ((int64_t)1 << 40)

enum { NAMES_MAX = 96, NAME_SIZE = 64, IDLE_MAX = 30 * 86400, DRAIN_MAX = 86400 };

const char *const config_sections[] = { "daemon", "docker", NULL };

static const char *const picture_modes[] = { "none", "symbols", "sixel", "kitty", NULL };

/* clang-format off */
static const struct own_key {
	const char *section;
	const char *variable;
	bool is_passed_on, is_variable_only;
	struct field field;
} own_keys[] = {
	{ .variable = "HOTCELL_RUNTIMES", .is_passed_on = true,
	  .field = { .name = "runtimes", .type = FIELD_TEXT, .example = "/srv/runtimes",
	  .help = "the only directory that languages are read from" } },
	{ .variable = "HOTCELL_STATE_DIR", .is_passed_on = true,
	  .field = { .name = "state_dir", .type = FIELD_TEXT, .example = "/var/lib/hotcell",
	  .help = "where audit log, artifacts and sessions are kept" } },
	{ .variable = "HOTCELL_PICTURES", .is_passed_on = true,
	  .field = { .name = "pictures", .type = FIELD_TEXT, .choices = picture_modes, .example = "sixel",
	  .help = "how a terminal shows pictures: none, symbols, sixel, kitty; without it it is asked" } },
	{ .variable = "HOTCELL_CONFIG", .is_variable_only = true,
	  .field = { .name = "config", .type = FIELD_TEXT, .example = "config.yaml",
	  .help = "the settings file, in place of the user's and the system's" } },
	{ .variable = "HOTCELL_FAULT", .is_variable_only = true,
	  .field = { .name = "fault", .type = FIELD_TEXT, .example = "step:seccomp",
	  .help = "for tests: make this isolation step fail" } },

	{ .section = "daemon", .variable = "HOTCELL_SOCKET", .is_passed_on = true,
	  .field = { .name = "socket", .type = FIELD_TEXT, .example = "/run/hotcell/hotcelld.sock",
	  .help = "where the daemon listens and clients find it" } },
	{ .section = "daemon", .variable = "HOTCELL_ON_DEMAND", .is_passed_on = true,
	  .field = { .name = "autostart", .type = FIELD_BOOL, .fallback = "false", .example = "true",
	  .help = "a run starts the daemon where none is, to leave when it is not needed" } },
	{ .section = "daemon", .variable = "HOTCELL_LISTEN",
	  .field = { .name = "listen", .type = FIELD_TEXT, .example = "127.0.0.1:7070",
	  .help = "where the daemon serves HTTP, beside the unix socket" } },
	{ .section = "daemon", .variable = "HOTCELL_TLS_CERT",
	  .field = { .name = "tls_cert", .type = FIELD_TEXT, .example = "/etc/hotcell/cert.pem",
	  .help = "with which certificate, as HTTPS then" } },
	{ .section = "daemon", .variable = "HOTCELL_TLS_KEY",
	  .field = { .name = "tls_key", .type = FIELD_TEXT, .example = "/etc/hotcell/key.pem",
	  .help = "and with which key" } },
	{ .section = "daemon", .variable = "HOTCELL_PLAIN_HTTP",
	  .field = { .name = "plain_http", .type = FIELD_BOOL, .fallback = "false", .example = "true",
	  .help = "other machines may come without TLS: something in front speaks it" } },
	{ .section = "daemon", .variable = "HOTCELL_PUBLIC_NAME",
	  .field = { .name = "public_name", .type = FIELD_TEXT, .example = "cells.example.org",
	  .help = "names that others know this machine by, separated by commas" } },
	{ .section = "daemon", .variable = "HOTCELL_DAEMON_CONCURRENCY",
	  .field = { .name = "concurrency", .type = FIELD_COUNT, .min = 1, .max = LIMIT_LOANS,
	  .fallback = "4 for each CPU", .example = "16",
	  .help = "most cells lent at once" } },
	{ .section = "daemon", .variable = "HOTCELL_DAEMON_QUEUE",
	  .field = { .name = "queue", .type = FIELD_COUNT, .min = 0, .max = LIMIT_QUEUE,
	  .fallback = "256", .example = "256",
	  .help = "most clients who wait for a cell; more are refused" } },
	{ .section = "daemon", .variable = "HOTCELL_DAEMON_PARKED",
	  .field = { .name = "parked", .type = FIELD_COUNT, .min = 0, .max = LIMIT_PARKED,
	  .fallback = "64", .example = "64",
	  .help = "most cells that stand ready" } },
	{ .section = "daemon", .variable = "HOTCELL_DAEMON_SESSIONS",
	  .field = { .name = "sessions", .type = FIELD_COUNT, .min = 0, .max = LIMIT_SESSIONS,
	  .fallback = "600", .example = "600",
	  .help = "most sessions held at once" } },
	{ .section = "daemon", .variable = "HOTCELL_DAEMON_WARM",
	  .field = { .name = "warm", .type = FIELD_TEXT, .fallback = "python", .example = "python=4,javascript",
	  .help = "languages whose cells stand ready before anybody asks, and how many of each" } },
	{ .section = "daemon", .variable = "HOTCELL_DAEMON_ON_DEMAND",
	  .field = { .name = "on_demand", .type = FIELD_BOOL, .fallback = "false", .example = "true",
	  .help = "the daemon leaves when nobody has needed it for a while" } },
	{ .section = "daemon", .variable = "HOTCELL_DAEMON_IDLE",
	  .field = { .name = "idle", .type = FIELD_COUNT, .min = 1, .max = IDLE_MAX,
	  .fallback = "300", .example = "300",
	  .help = "how long that is, in seconds" } },
	{ .section = "daemon", .variable = "HOTCELL_DAEMON_DRAIN_TIMEOUT",
	  .field = { .name = "drain_timeout", .type = FIELD_COUNT, .min = 0, .max = DRAIN_MAX,
	  .fallback = "10", .example = "30",
	  .help = "told to end, the daemon lets what is under way go on for so many seconds" } },
	{ .section = "daemon", .variable = "HOTCELL_LOG_FORMAT",
	  .field = { .name = "log_format", .type = FIELD_TEXT, .choices = log_format_names, .fallback = "text",
	  .example = "json", .help = "what the daemon's log is written as: text, json" } },
	{ .section = "daemon", .variable = "HOTCELL_LOG_LEVEL",
	  .field = { .name = "log_level", .type = FIELD_TEXT, .choices = log_level_names, .fallback = "info",
	  .example = "warning", .help = "what the daemon tells: none, error, warning, info, debug" } },

	{ .section = "docker", .variable = "DOCKER_CPU_LIMIT",
	  .field = { .name = "cpus", .type = FIELD_CPUS, .min = 10, .max = 1024 * 1000LL, .example = "0.5",
	  .help = "share of CPUs of a container; counts with the provider docker" } },
	{ .section = "docker", .variable = "DOCKER_MEMORY_LIMIT",
	  .field = { .name = "memory", .type = FIELD_SIZE, .min = 4 * MB, .max = TB, .example = "512M",
	  .help = "most memory of a container; counts with the provider docker" } },
	{ .section = "docker", .variable = "DOCKER_IMAGE",
	  .field = { .name = "image", .type = FIELD_TEXT, .example = "python:3.11-slim",
	  .help = "image of a container; counts with the provider docker" } },
};

/* Names that fields of the spec have in other programs' environment files. */
static const struct old_name {
	const char *variable;
	const char *field;
	const char *unit;
} old_names[] = {
	{ "SANDBOX_TYPE",                    "provider",      NULL },
	{ "SANDBOX_TIMEOUT_SEC",             "timeout",       NULL },
	{ "SANDBOX_MAX_OUTPUT_KB",           "max_output",    "K" },
	{ "SANDBOX_BLOCK_DANGEROUS_IMPORTS", "block_imports", NULL },
	{ "SANDBOX_STORE_CODE",              "store",         NULL },
};
/* clang-format on */

static void fill_run_key(const struct field *field, struct config_key *key)
{
	*key = (struct config_key){ .field = field, .is_of_run = true };
	for (size_t i = 0; i < COUNT_OF(old_names); i++)
		if (strcmp(old_names[i].field, field->name) == 0) {
			key->old_variable = old_names[i].variable;
			key->unit = old_names[i].unit;
		}
}

bool config_key(size_t index, struct config_key *ret_key)
{
	if (index < spec_field_count) {
		fill_run_key(&spec_fields[index], ret_key);
		return true;
	}
	index -= spec_field_count;
	if (index >= COUNT_OF(own_keys))
		return false;
	const struct own_key *own = &own_keys[index];
	*ret_key = (struct config_key){ .section = own->section,
		.field = &own->field,
		.variable = own->variable,
		.is_passed_on = own->is_passed_on,
		.is_variable_only = own->is_variable_only };
	return true;
}

void config_variable(const struct config_key *key, char *name, size_t size)
{
	if (key->variable)
		(void)snprintf(name, size, "%s", key->variable);
	else
		(void)snprintf(name, size, "HOTCELL_%s", key->field->name);
	for (char *at = name; *at; at++)
		*at = (char)toupper((unsigned char)*at);
}

void config_key_name(const struct config_key *key, char *name, size_t size)
{
	(void)snprintf(name, size, "%s%s%s", key->section ? key->section : "",
		key->section ? "." : "", key->field->name);
}

static bool is_in(const struct config_key *key, const char *section)
{
	if (!section || !key->section)
		return !section && !key->section;
	return strcmp(section, key->section) == 0;
}

int config_find_key(const char *section, const char *name, size_t *ret_key, const char **ret_near)
{
	const char *names[NAMES_MAX];
	size_t count = 0;
	struct config_key key;
	for (size_t i = 0; config_key(i, &key); i++) {
		if (!is_in(&key, section) || key.is_variable_only)
			continue;
		if (strcmp(key.field->name, name) == 0) {
			*ret_key = i;
			return 0;
		}
		if (!key.field->is_once && count < NAMES_MAX)
			names[count++] = key.field->name;
	}
	for (size_t i = 0; !section && config_sections[i] && count < NAMES_MAX; i++)
		names[count++] = config_sections[i];
	if (!section && count < NAMES_MAX)
		names[count++] = "languages";
	*ret_near = units_nearest(name, names, count);
	return -1;
}

/* ---- variables that are none of ours ------------------------------------------------------- */

static bool is_known(const char *name, size_t len, const char *known)
{
	return strlen(known) == len && strncmp(name, known, len) == 0;
}

char *config_unknown_variable(size_t *at, char *near, size_t size)
{
	char texts[NAMES_MAX][NAME_SIZE];
	const char *names[NAMES_MAX];
	size_t count = 0;
	struct config_key key;
	for (; count < NAMES_MAX && config_key(count, &key); count++) {
		config_variable(&key, texts[count], NAME_SIZE);
		names[count] = texts[count];
	}
	for (; environ[*at]; (*at)++) {
		const char *name = environ[*at];
		size_t len = strcspn(name, "=");
		bool is_ours = strncmp(name, "HOTCELL_", 8) != 0;
		for (size_t i = 0; i < count && !is_ours; i++)
			is_ours = is_known(name, len, names[i]);
		if (is_ours)
			continue;
		char *unknown = xstrndup(name, len);
		const char *found = units_nearest(unknown, names, count);
		(void)snprintf(near, size, "%s", found ? found : "");
		(*at)++;
		return unknown;
	}
	return NULL;
}
