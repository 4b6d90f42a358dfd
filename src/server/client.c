/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients: from their connection to the moment they are passed on or dropped. A connection that was
 * passed on belongs to the keeper; our copy of it tells when the client hangs up, and is closed
 * when the keeper ends, so that the client learns of it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "server/parts.h"

enum { ACCEPT_PAUSE_MS = 100 };

static struct clients *list_of(const struct client *client)
{
	bool is_quiet = client->state == CLIENT_SILENT || client->state == CLIENT_CURIOUS ||
			client->state == CLIENT_CALLING;
	return is_quiet ? &client->server->quiet : &client->server->served;
}

static void list_add(struct client *client)
{
	struct clients *list = list_of(client);
	client->prev = list->last;
	client->next = NULL;
	if (list->last)
		list->last->next = client;
	else
		list->first = client;
	list->last = client;
	list->count++;
}

static void list_remove(struct client *client)
{
	struct clients *list = list_of(client);
	if (client->prev)
		client->prev->next = client->next;
	else
		list->first = client->next;
	if (client->next)
		client->next->prev = client->prev;
	else
		list->last = client->prev;
	list->count--;
}

/* What we want to hear of: words only from one that has not said what it wants. */
static uint32_t events_of(enum client_state state)
{
	return state == CLIENT_SILENT ? EPOLLIN | EPOLLRDHUP : EPOLLRDHUP;
}

void client_set_state(struct client *client, enum client_state state)
{
	list_remove(client);
	client->server->running -= client->state == CLIENT_RUNNING;
	client->state = state;
	client->server->running += client->state == CLIENT_RUNNING;
	client->deadline_us = clock_us() + SPEAK_MS * 1000;
	list_add(client);
	(void)loop_change(&client->server->loop, &client->watch, events_of(state));
}

void client_drop(struct client *client)
{
	struct server *server = client->server;
	bool was_served = list_of(client) == &server->served;
	list_remove(client);
	queue_remove(&server->queue, &client->waiter);
	server->running -= client->state == CLIENT_RUNNING;
	loop_remove(&server->loop, &client->watch);
	own_close(&client->fd);
	loan_message_done(&client->request);
	free(client);
	server->idle_us = clock_us();
	if (was_served)
		admit_note_change(server);
}

/* The sentence may find no room or no reader; the hang-up is clear all the same. What the client
 * has said meanwhile is read, or the kernel would tell it of a reset in place of the sentence. */
static void tell_refusal(int fd, enum err_code code, const char *text)
{
	struct loan_message unheard;
	(void)loan_send(fd, LOAN_REFUSED, code, text, strlen(text), NULL, 0);
	if (loan_receive(fd, &unheard) > 0)
		loan_message_done(&unheard);
}

void client_refuse(struct client *client, enum err_code code, const char *fmt, ...)
{
	char text[sizeof(((struct err *)0)->text)];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	client->server->refused++;
	if (client->state == CLIENT_WAITING)
		(void)loan_send(client->fd, LOAN_REFUSED, code, text, strlen(text), NULL, 0);
	else
		tell_refusal(client->fd, code, text);
	client_drop(client);
}

static void ask_status(struct client *client, uint32_t detail)
{
	struct server *server = client->server;
	client_set_state(client, CLIENT_CURIOUS);
	if (server->link.state != LINK_UP ||
		link_send(server, LOAN_INFO, detail, NULL, 0, NULL, 0) < 0)
		status_answer(server, NULL, 0);
}

/* Reads the one message in which a client says what it wants; a waiting client says no more. */
static void hear(struct client *client)
{
	struct loan_message message;
	int r = loan_receive(client->fd, &message);
	if (r == -EAGAIN)
		return;
	if (r == -EBADMSG) {
		client_refuse(client, ERR_INVALID,
			"the daemon (hotcell %s) does not understand this client; restart the "
			"daemon after an update",
			HOTCELL_VERSION);
		return;
	}
	if (r <= 0) {
		client_drop(client);
		return;
	}
	if (drain_refuse(client, &message))
		;
	else if (message.kind == LOAN_ASK)
		admit_ask(client, &message);
	else if (message.kind == LOAN_INFO)
		ask_status(client, message.number);
	else if (message.kind == LOAN_SESSION)
		call_take(client, &message);
	else
		client_refuse(client, ERR_INVALID, "a client may not ask for this");
	loan_message_done(&message);
}

static void wake(void *context, uint32_t events)
{
	struct client *client = context;
	struct server *server = client->server;
	if (client->state == CLIENT_SILENT && (events & EPOLLIN))
		hear(client);
	else if (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR))
		client_drop(client);
	admit_next(server);
}

static uint64_t key_of(uid_t uid, pid_t pid)
{
	pid_t session = getsid(pid);
	return (uint64_t)uid << 32 | (uint32_t)(session > 0 ? session : pid);
}

/* Takes fd. NULL: it could not be watched, and is closed. */
static struct client *add_client(struct server *server, int fd, enum client_state state)
{
	struct client *client = xcalloc(1, sizeof(*client));
	*client = (struct client){ .server = server, .fd = fd, .state = state };
	client->watch = (struct watch){ .fd = fd, .wake = wake, .context = client };
	client->deadline_us = clock_us() + SPEAK_MS * 1000;
	server->running += state == CLIENT_RUNNING;
	list_add(client);
	if (loop_add(&server->loop, &client->watch, events_of(state)) == 0)
		return client;
	client_drop(client);
	return NULL;
}

void client_let_in(struct server *server, int fd)
{
	uid_t uid = (uid_t)-1;
	pid_t pid = 0;
	size_t most =
		(size_t)(server->settings.concurrency + server->settings.queue) + SPARE_CLIENTS;
	char text[160];
	if (loan_is_trusted(fd, &uid, &pid) && server->quiet.count + server->served.count < most) {
		struct client *client = add_client(server, fd, CLIENT_SILENT);
		if (!client)
			return;
		client->key = key_of(uid, pid);
		client->is_worker = http_owns(server->http, pid);
		/* most have spoken by now: a turn of the loop, 20 µs, is spared */
		hear(client);
		return;
	}
	if (server->quiet.count + server->served.count >= most)
		(void)snprintf(text, sizeof(text),
			"the daemon has %zu connections, and takes no more", most);
	else
		(void)snprintf(text, sizeof(text),
			"this daemon serves user %u alone; start one of your own with hotcell "
			"serve",
			geteuid());
	server->refused++;
	tell_refusal(fd, ERR_LIMIT, text);
	(void)close(fd);
}

void client_accept(void *context, uint32_t events)
{
	struct server *server = context;
	(void)events;
	for (int i = 0; i < LOOP_BATCH; i++) {
		/* cppcheck-suppress nullPointer ; a client has no address to tell */
		int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			client_let_in(server, fd);
			continue;
		}
		if (errno == ENFILE || errno == EMFILE || errno == ENOMEM || errno == ENOBUFS) {
			/* the machine has none left: trying on at once would only heat it */
			(void)loop_change(&server->loop, &server->listen_watch, 0);
			server->accept_us = clock_us() + ACCEPT_PAUSE_MS * 1000;
		}
		return;
	}
}

void client_adopt(struct server *server, int fd)
{
	(void)add_client(server, fd, CLIENT_RUNNING);
}

void client_run_late(struct server *server, int64_t now_us)
{
	while (server->quiet.first && server->quiet.first->deadline_us <= now_us) {
		if (server->quiet.first->state == CLIENT_CURIOUS)
			status_answer(server, NULL, 0); /* without the keeper, then */
		else if (server->quiet.first->state == CLIENT_CALLING)
			client_refuse(server->quiet.first, ERR_BROKEN,
				"the keeper did not answer within %d s", SPEAK_MS / 1000);
		else
			client_refuse(server->quiet.first, ERR_INVALID,
				"nothing was asked for %d s", SPEAK_MS / 1000);
	}
}
