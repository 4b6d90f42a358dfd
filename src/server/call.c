/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to sessions are not queued behind executions: each goes on to the keeper at once, with
 * the client's connection and descriptors. The keeper answers, and the client is none of ours then.
 */
#include <string.h>

#include "base/own.h"
#include "server/parts.h"

/* False: the keeper takes nobody at the moment. */
static bool pass_on(struct client *client, const struct loan_message *request)
{
	int fds[IO_FDS_MAX] = { client->fd };
	memcpy(&fds[1], request->fds, request->fd_count * sizeof(fds[0]));
	return link_send(client->server, LOAN_SESSION, 0, request->text, request->len, fds,
		       request->fd_count + 1) == 0;
}

void call_take(struct client *client, struct loan_message *request)
{
	struct server *server = client->server;
	if (request->fd_count + 1 > IO_FDS_MAX) {
		client_refuse(client, ERR_INVALID, "too many descriptors for one request");
		return;
	}
	if (server->link.state == LINK_DOWN)
		link_open(server);
	if (server->link.state == LINK_GIVEN_UP) {
		client_refuse(client, ERR_BROKEN,
			"the keeper ended %d times within %d s; what it said is in the daemon's "
			"log",
			DEATHS_MAX, DEATHS_MS / 1000);
		return;
	}
	if (server->link.state == LINK_UP && !server->link.is_full && pass_on(client, request)) {
		client_drop(client);
		return;
	}
	client->request = *request;
	*request = (struct loan_message){ 0 };
	client_set_state(client, CLIENT_CALLING);
}

void call_pass_all(struct server *server)
{
	for (struct client *client = server->quiet.first, *next; client; client = next) {
		next = client->next;
		if (client->state != CLIENT_CALLING)
			continue;
		if (server->link.state != LINK_UP || server->link.is_full ||
			!pass_on(client, &client->request))
			return;
		client_drop(client);
	}
}
