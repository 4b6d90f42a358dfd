/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGHUP: the settings are read again, and what can change while clients are here does. Nothing of
 * the old ones goes before all of the new are known to be right.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "server/parts.h"
#include "wire/log.h"

enum { CHANGES_MAX = 800 };

bool reload_is_hangup(const struct server *server)
{
	if (!server->has_terminal)
		return false;
	auto_fd int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	return fd < 0;
}

static void note_number(struct buf *changes, const char *name, int64_t before, int64_t after)
{
	if (before != after)
		(void)buf_printf(changes, "%s%s %" PRId64 " -> %" PRId64, changes->len ? ", " : "",
			name, before, after);
}

static void note_word(struct buf *changes, const char *name, const char *before, const char *after)
{
	if (strcmp(before, after) != 0)
		(void)buf_printf(
			changes, "%s%s %s -> %s", changes->len ? ", " : "", name, before, after);
}

static const char *first_text(const struct config_value *value)
{
	return !value ? "default" : value->texts.count == 0 ? "nothing" : value->texts.items[0];
}

static bool is_same(const struct config_value *a, const struct config_value *b)
{
	size_t count = a ? a->texts.count : 0;
	if (!a || !b || count != b->texts.count)
		return a == b;
	for (size_t i = 0; i < count; i++)
		if (strcmp(a->texts.items[i], b->texts.items[i]) != 0)
			return false;
	return true;
}

/* What runs read too: cells stand ready under it. */
static void note_runs(const struct config *before, const struct config *after, struct buf *changes)
{
	struct config_key key;
	for (size_t i = 0; config_key(i, &key) && key.is_of_run; i++) {
		const struct config_value *old = config_find(before, i, NULL);
		const struct config_value *new = config_find(after, i, NULL);
		if (!is_same(old, new))
			(void)buf_printf(changes, "%s%s %.60s -> %.60s", changes->len ? ", " : "",
				key.field->name, first_text(old), first_text(new));
	}
}

static void note_text(struct buf *changes, const char *name, const char *before, const char *after)
{
	note_word(changes, name, before ? before : "none", after ? after : "none");
}

static void note_changes(const struct server_settings *before, const struct server_settings *after,
	struct buf *changes)
{
	note_number(changes, "concurrency", before->concurrency, after->concurrency);
	note_number(changes, "queue", before->queue, after->queue);
	note_number(changes, "idle", before->idle_s, after->idle_s);
	note_number(changes, "on_demand", before->is_on_demand, after->is_on_demand);
	if (strcmp(before->warm, after->warm) != 0)
		(void)buf_printf(changes, "%swarm '%.100s' -> '%.100s'", changes->len ? ", " : "",
			before->warm, after->warm);
	note_text(changes, "listen (at the next start)", before->listen, after->listen);
	note_text(changes, "tls_cert", before->tls_cert, after->tls_cert);
	note_text(changes, "tls_key", before->tls_key, after->tls_key);
	note_text(changes, "public_name", before->public_name, after->public_name);
	note_number(changes, "parked", before->parked, after->parked);
	note_number(changes, "sessions", before->sessions, after->sessions);
	note_number(changes, "drain_timeout", before->drain_s, after->drain_s);
	note_word(changes, "log_format", log_format_names[before->log_format],
		log_format_names[after->log_format]);
	note_word(changes, "log_level", log_level_names[before->log_level],
		log_level_names[after->log_level]);
	note_runs(before->config, after->config, changes);
}

/* The same list may stand for other cells now, as a run of that language has other limits. What is
 * not wanted any more is let go: nobody asks for it, and it leaves by itself. */
static void apply(struct server *server, struct server_settings *after)
{
	auto_buf struct buf changes;
	bool is_up = server->link.state == LINK_UP;
	struct err err = { 0 };
	struct http_settings http = { 0 };
	buf_init(&changes, CHANGES_MAX);
	note_changes(&server->settings, after, &changes);
	if (is_up)
		warm_down(server, server->settings.warm);
	server_settings_done(&server->settings);
	server->settings = *after;
	log_set(server->settings.log_format, server->settings.log_level);
	http_set_limits(server->http, server->settings.concurrency, server->settings.queue);
	if (is_up) {
		link_tell_settings(server);
		warm_up(server, server->settings.warm);
	}
	server->idle_us = clock_us();
	http = server_http_settings(server);
	if (http_reload(server->http, &http, &err) < 0)
		log_say(LEVEL_ERROR, "the certificate stays as it is: %s", err.text);
	server_log("settings read again: %s", changes.len ? buf_text(&changes) : "no change");
	admit_next(server);
}

void reload(struct server *server)
{
	struct server_settings after;
	struct err err = { 0 };
	if (!server->settings.reread)
		return;
	auto_free char *state = xasprintf("RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_us());
	notify(state);
	int r = server->settings.reread(server->settings.context, &after, &err);
	if (r == 0 && (r = server_allow_descriptors(&after, &err)) < 0)
		server_settings_done(&after);
	if (r == 0)
		apply(server, &after);
	else
		log_say(LEVEL_ERROR, "settings stay as they are: %s", err.text);
	notify("READY=1");
}
