/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end, in order. Told to end, the daemon takes no new work and lets what is under way go on for
 * a while: executions over HTTP with those that wait among them, and cells that are lent. Then what
 * came over HTTP is cancelled, and says so to whoever waits for it. Told again, it ends at once.
 *
 * Workers are clients of ours like any other and still served: what they ask for is under way.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/own.h"
#include "server/parts.h"
#include "wire/log.h"

enum { CANCEL_MS = 3000, LEAVE_S = 30 };

/* Those who wait for a cell raise their own when they are hung up on, and wait no longer. */
static void drop_waiting(struct server *server)
{
	for (struct client *client = server->served.first, *next; client; client = next) {
		next = client->next;
		if (client->state == CLIENT_WAITING && !client->is_worker)
			client_drop(client);
	}
}

/* A service manager is to give us the time we give others. */
static void tell_manager(int64_t drain_s)
{
	auto_free char *state = xasprintf(
		"STOPPING=1\nEXTEND_TIMEOUT_USEC=%" PRId64, (drain_s + LEAVE_S) * 1000000);
	notify(state);
}

static bool is_done(const struct server *server)
{
	return http_is_idle(server->http) &&
	       (server->is_cancelled || server->running + server->queue.count == 0);
}

void drain_begin(struct server *server)
{
	if (server->is_draining || server->settings.drain_s == 0) {
		server->is_over = true;
		return;
	}
	server->is_draining = true;
	server->drain_us = clock_us() + server->settings.drain_s * 1000000;
	tell_manager(server->settings.drain_s);
	drop_waiting(server);
	http_drain(server->http);
	admit_revoke(server);
	if (!is_done(server))
		log_say(LEVEL_INFO,
			"told to end: %zu lent cells and what came over HTTP have %" PRId64
			" s, and nobody new is served",
			server->running, server->settings.drain_s);
}

int64_t drain_next_us(const struct server *server)
{
	return server->is_draining ? server->drain_us : INT64_MAX;
}

void drain_tick(struct server *server, int64_t now_us)
{
	if (!server->is_draining)
		return;
	if (is_done(server)) {
		server->is_over = true;
	} else if (now_us >= server->drain_us && !server->is_cancelled) {
		log_say(LEVEL_WARNING, "what is still under way is cancelled");
		server->is_cancelled = true;
		server->drain_us = now_us + CANCEL_MS * 1000;
		http_cancel(server->http);
	} else if (now_us >= server->drain_us) {
		server->is_over = true;
	}
}

bool drain_refuse(struct client *client, const struct loan_message *message)
{
	if (!client->server->is_draining || client->is_worker || message->kind == LOAN_INFO)
		return false;
	if (message->kind == LOAN_SESSION)
		client_refuse(client, ERR_BROKEN,
			"the daemon was told to end; sessions stay, ask again when the next one "
			"serves");
	else
		client_drop(client); /* it knows what to do without a daemon */
	return true;
}
