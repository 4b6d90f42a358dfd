/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets a cell now, who waits, who is refused. */
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/own.h"
#include "server/parts.h"

static struct client *client_of(struct waiter *waiter)
{
	return (struct client *)waiter;
}

void admit_note_change(struct server *server)
{
	if (server->queue.count > 0 && server->news_us == 0)
		server->news_us = clock_us() + NEWS_MS * 1000;
}

static void tell_one(void *context, struct waiter *waiter, size_t before)
{
	struct client *client = client_of(waiter);
	const struct client *only = context;
	if ((only && client != only) || client->told == before)
		return;
	/* one that does not read is told again when it changed again */
	(void)loan_send(client->fd, LOAN_QUEUED, (uint32_t)before, NULL, 0, NULL, 0);
	client->told = (uint32_t)before;
}

void admit_tell(struct server *server, int64_t now_us)
{
	if (server->news_us == 0 || server->news_us > now_us)
		return;
	server->news_us = 0;
	queue_visit(&server->queue, tell_one, NULL);
}

/* False: the keeper takes nobody at the moment. */
static bool pass_on(struct server *server, struct client *client)
{
	const struct loan_message *request = &client->request;
	bool may_stay = server->queue.count == 1 && !server->is_draining;
	uint32_t number = request->number | (may_stay ? 0 : LOAN_ONCE);
	if (link_send(server, LOAN_ASK, number, request->text, request->len, &client->fd, 1) < 0)
		return false;
	(void)queue_pop(&server->queue);
	server->has_stayed |= may_stay;
	loan_message_done(&client->request);
	client_set_state(client, CLIENT_RUNNING);
	server->lent++;
	admit_note_change(server);
	return true;
}

void admit_next(struct server *server)
{
	struct waiter *waiter;
	while (server->link.state == LINK_UP && !server->link.is_full && !server->is_leaving &&
		server->running < (size_t)server->settings.concurrency &&
		(waiter = queue_peek(&server->queue)) != NULL)
		if (!pass_on(server, client_of(waiter)))
			return;
}

void admit_revoke(struct server *server)
{
	if (server->has_stayed && server->link.state == LINK_UP &&
		link_send(server, LOAN_REVOKE, 0, NULL, 0, NULL, 0) == 0)
		server->has_stayed = false;
}

/* Cells that are held for later are to be in nobody's way: they take a half of the places at most,
 * and are had back as soon as somebody waits. */
static bool has_room_ahead(const struct server *server)
{
	return server->link.state == LINK_UP && server->queue.count == 0 && !server->is_draining &&
	       server->running < (size_t)server->settings.concurrency / 2;
}

void admit_ask(struct client *client, struct loan_message *request)
{
	struct server *server = client->server;
	if (request->number == LOAN_AHEAD && !has_room_ahead(server)) {
		client_drop(client); /* it will ask again when it needs one */
		return;
	}
	size_t most = (size_t)server->settings.concurrency;
	size_t room = most > server->running ? most - server->running : 0;
	if (server->link.state == LINK_DOWN)
		link_open(server);
	if (server->link.state == LINK_GIVEN_UP) {
		client_refuse(client, ERR_BROKEN,
			"the keeper ended %d times within %d s; what it said is in the daemon's "
			"log, and --cold runs without it",
			DEATHS_MAX, DEATHS_MS / 1000);
		return;
	}
	if (!queue_push(&server->queue, &client->waiter, client->key,
		    (size_t)server->settings.queue + room)) {
		client_refuse(client, ERR_LIMIT,
			"the daemon is full: %" PRId64 " cells are lent and %zu clients wait; try "
			"again later, or serve with a higher --concurrency (%" PRId64
			") or --queue (%" PRId64 ")",
			(int64_t)server->running, server->queue.count, server->settings.concurrency,
			server->settings.queue);
		return;
	}
	client->request = *request;
	*request = (struct loan_message){ 0 };
	client->told = UINT32_MAX;
	client_set_state(client, CLIENT_WAITING);
	admit_next(server);
	if (client->state == CLIENT_WAITING) {
		admit_revoke(server);
		queue_visit(&server->queue, tell_one, client);
		admit_note_change(server);
	}
}

void admit_refuse_all(struct server *server, const struct err *err)
{
	struct waiter *waiter;
	while ((waiter = queue_peek(&server->queue)) != NULL)
		client_refuse(client_of(waiter), err->code, "%s", err->text);
}
