/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link to the keeper. It is looked for where it listens, and started when nobody is there; the
 * one that was found may have lent cells to clients of a daemon before us, so it is asked for them
 * first. A keeper that ends takes its cells along: clients who hold one are hung up on, those who
 * wait stay where they are, and a new keeper is started, unless it ends again and again.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "server/parts.h"
#include "wire/log.h"

enum {
	CONNECT_MS = 2,    /* between two looks whether it listens */
	ANSWER_MS = 10000, /* it must listen and tell what is lent within this */
	END_MS = 15000,    /* and end within this */
	DYING_MS = 200,    /* from its hanging up to its end */
};

static void adopt(struct server *server);

static void close_link(struct server *server)
{
	loop_remove(&server->loop, &server->link.watch);
	own_close(&server->link.fd);
	own_close(&server->link.pidfd);
	server->link.is_full = false;
	server->link.state = LINK_DOWN;
}

/* Our copies of their connections are closed. If the keeper lives after all they hear nothing of
 * it, and are told to us again. */
static void drop_running(struct server *server)
{
	for (struct client *client = server->served.first, *next; client; client = next) {
		next = client->next;
		if (client->state == CLIENT_RUNNING)
			client_drop(client);
	}
}

static bool is_hopeless(const struct link *link)
{
	return link->death_count >= DEATHS_MAX &&
	       clock_us() - link->deaths_us[link->death_count % DEATHS_MAX] < DEATHS_MS * 1000;
}

static void give_up(struct server *server, const struct err *err)
{
	server->link.state = LINK_GIVEN_UP;
	server->link.retry_us = clock_us() + DEATHS_MS * 1000;
	admit_refuse_all(server, err);
	if (server->is_ready)
		log_say(LEVEL_ERROR, "%s", err->text);
	else
		server_fail(server, err);
}

/* A process that ends may hang up on us before it stops to listen; the next one must not meet it.
 */
static void await_death(const struct link *link)
{
	struct pollfd death = { .fd = link->pidfd, .events = POLLIN };
	(void)poll(&death, 1, DYING_MS);
}

static void lose(struct server *server, const char *what)
{
	struct link *link = &server->link;
	struct err err = { 0 };
	if (link->pidfd >= 0)
		await_death(link);
	close_link(server);
	drop_running(server);
	server->sessions = 0;
	status_answer(server, NULL, 0);
	if (server->is_leaving)
		return;
	link->deaths_us[link->death_count++ % DEATHS_MAX] = clock_us();
	if (is_hopeless(link)) {
		(void)err_set(&err, ERR_BROKEN,
			"the keeper ended %d times within %d s; what it said is in the daemon's "
			"log, and --cold runs without it",
			DEATHS_MAX, DEATHS_MS / 1000);
		give_up(server, &err);
		return;
	}
	log_say(LEVEL_WARNING, "the keeper %s; starting a new one", what);
	link_open(server);
}

static void start_keeper(struct server *server)
{
	struct link *link = &server->link;
	struct err err = { 0 };
	char parked[32];
	char sessions[32];
	(void)snprintf(parked, sizeof(parked), "%lld", (long long)server->settings.parked);
	(void)snprintf(sessions, sizeof(sessions), "%lld", (long long)server->settings.sessions);
	char *const args[] = { (char *)"hotcell-keeper", (char *)"--socket", link->path,
		(char *)"--parked", parked, (char *)"--sessions", sessions, (char *)"--log-format",
		(char *)log_format_names[server->settings.log_format], (char *)"--log-level",
		(char *)log_level_names[server->settings.log_level], NULL };
	if (loan_start("hotcell-keeper", args, true, &link->child, &err) < 0) {
		link->child = -1;
		give_up(server, &err);
		return;
	}
	link->state = LINK_STARTING;
	link->deadline_us = clock_us() + ANSWER_MS * 1000;
	link->retry_us = clock_us() + CONNECT_MS * 1000;
}

/* Connects. False: nobody listens. */
static bool find_keeper(struct server *server)
{
	struct link *link = &server->link;
	struct err err = { 0 };
	int fd = loan_connect(link->path);
	if (fd == -ENOENT || fd == -ECONNREFUSED)
		return false;
	if (fd < 0) {
		(void)err_sys(&err, -fd, "connect to the keeper at '%s'", link->path);
		give_up(server, &err);
		return true;
	}
	link->fd = fd;
	adopt(server);
	return true;
}

void link_open(struct server *server)
{
	if (!find_keeper(server))
		start_keeper(server);
}

void link_tell_settings(struct server *server)
{
	const struct server_settings *settings = &server->settings;
	auto_free char *text = xasprintf(
		"{\"parked\":%" PRId64 ",\"sessions\":%" PRId64
		",\"one_owner\":%s,\"log_format\":\"%s\",\"log_level\":\"%s\"}",
		settings->parked, settings->sessions,
		access_has_one_owner(server->http) ? "true" : "false",
		log_format_names[settings->log_format], log_level_names[settings->log_level]);
	(void)link_send(server, LOAN_SETTINGS, 0, text, strlen(text), NULL, 0);
}

/* ---- what it says ------------------------------------------------------------------------- */

static void take_message(struct server *server, struct loan_message *message)
{
	struct link *link = &server->link;
	if (message->kind == LOAN_LENT && message->fd_count == 1) {
		client_adopt(server, take_fd(&message->fds[0]));
	} else if (message->kind == LOAN_ADOPT && link->state == LINK_ADOPTING) {
		link->state = LINK_UP;
		link->deadline_us = 0;
		server->has_stayed = server->running > 0; /* another daemon let them in */
		if (server->running > 0)
			server_log("took over %zu cells that are lent", server->running);
		if (server->sessions > 0)
			server_log("took over %zu sessions", server->sessions);
		link_tell_settings(server); /* it may be another daemon's */
		server_set_ready(server);
		admit_next(server);
		call_pass_all(server);
		warm_up(server, server->settings.warm);
	} else if (message->kind == LOAN_SESSION) {
		server->sessions = message->number;
		server->idle_us = clock_us();
	} else if (message->kind == LOAN_INFO) {
		status_answer(server, message->text, message->len);
	}
}

static void wake(void *context, uint32_t events)
{
	struct server *server = context;
	struct link *link = &server->link;
	struct loan_message message;
	if (events & EPOLLOUT) {
		link->is_full = false;
		(void)loop_change(&server->loop, &link->watch, EPOLLIN | EPOLLRDHUP);
		admit_next(server);
		call_pass_all(server);
	}
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	int r = loan_receive(link->fd, &message);
	if (r == -EAGAIN)
		return;
	if (r <= 0) {
		lose(server, r == -EBADMSG ? "talks nonsense" : "ended");
		return;
	}
	take_message(server, &message);
	loan_message_done(&message);
}

static void adopt(struct server *server)
{
	struct link *link = &server->link;
	uid_t uid = 0;
	pid_t pid = 0;
	int flags = fcntl(link->fd, F_GETFL);
	link->state = LINK_ADOPTING;
	link->deadline_us = clock_us() + ANSWER_MS * 1000;
	link->watch = (struct watch){ .fd = link->fd, .wake = wake, .context = server };
	if (loan_is_trusted(link->fd, &uid, &pid))
		link->pidfd = pidfd_open(pid, 0);
	if (fcntl(link->fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
		loop_add(&server->loop, &link->watch, EPOLLIN | EPOLLRDHUP) < 0 ||
		loan_send(link->fd, LOAN_ADOPT, 0, NULL, 0, NULL, 0) < 0)
		lose(server, "cannot be asked");
}

int link_send(struct server *server, enum loan_kind kind, uint32_t number, const void *text,
	size_t len, const int *fds, size_t fd_count)
{
	struct link *link = &server->link;
	int r = loan_send(link->fd, kind, number, text, len, fds, fd_count);
	if (r == -EAGAIN) {
		link->is_full = true;
		(void)loop_change(&server->loop, &link->watch, EPOLLIN | EPOLLRDHUP | EPOLLOUT);
	} else if (r < 0) {
		(void)shutdown(link->fd, SHUT_RDWR); /* the loop finds it dead */
	}
	return r;
}

/* ---- time --------------------------------------------------------------------------------- */

void link_tick(struct server *server, int64_t now_us)
{
	struct link *link = &server->link;
	if (link->state == LINK_GIVEN_UP && now_us >= link->retry_us)
		link->state = LINK_DOWN; /* the next client who asks starts it */
	if (link->state == LINK_STARTING && now_us >= link->retry_us) {
		link->retry_us = now_us + CONNECT_MS * 1000;
		(void)find_keeper(server);
	}
	if ((link->state == LINK_STARTING || link->state == LINK_ADOPTING) &&
		now_us >= link->deadline_us) {
		if (link->pidfd >= 0)
			(void)pidfd_send_signal(link->pidfd, SIGKILL, NULL, 0);
		else if (link->child > 0)
			(void)kill(link->child, SIGKILL);
		lose(server, "did not answer");
	}
}

int64_t link_next_us(const struct server *server)
{
	const struct link *link = &server->link;
	switch (link->state) {
	case LINK_STARTING:
	case LINK_GIVEN_UP:
		return link->retry_us;
	case LINK_ADOPTING:
		return link->deadline_us;
	default:
		return INT64_MAX;
	}
}

void link_reap(struct server *server)
{
	struct link *link = &server->link;
	if (link->child <= 0 || waitpid(link->child, NULL, WNOHANG) != link->child)
		return;
	link->child = -1;
	/* one that listens already is another's: ours left because of it */
	if (link->state == LINK_STARTING && !find_keeper(server))
		lose(server, "ended before it listened");
}

/* ---- the end ------------------------------------------------------------------------------ */

/* Waits for a descriptor. False: it took too long. */
static bool wait_for(int fd, short events)
{
	struct pollfd what = { .fd = fd, .events = events };
	int64_t end_us = clock_us() + END_MS * 1000;
	int n = 0;
	do {
		int64_t left_us = end_us - clock_us();
		n = poll(&what, 1, left_us > 0 ? (int)(left_us / 1000) + 1 : 0);
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

/* Reads on to its answer: it stays when it holds sessions, and hangs up when it ends. */
static bool has_answered(const struct link *link, bool *ret_stays)
{
	struct loan_message message;
	for (;;) {
		if (!wait_for(link->fd, POLLIN | POLLRDHUP))
			return false;
		int r = loan_receive(link->fd, &message);
		if (r <= 0 && r != -EAGAIN)
			return true;
		*ret_stays = r > 0 && message.kind == LOAN_END;
		if (r > 0)
			loan_message_done(&message);
		if (*ret_stays)
			return true;
	}
}

static bool has_ended(const struct link *link, bool *ret_stays)
{
	while (loan_send(link->fd, LOAN_END, 1, NULL, 0, NULL, 0) == -EAGAIN)
		if (!wait_for(link->fd, POLLOUT))
			return false;
	if (!has_answered(link, ret_stays))
		return false;
	return *ret_stays || link->pidfd < 0 || wait_for(link->pidfd, POLLIN);
}

void link_end(struct server *server)
{
	struct link *link = &server->link;
	bool does_stay = false;
	bool is_stuck = link->fd >= 0 && !has_ended(link, &does_stay);
	if (does_stay)
		server_log("the keeper stays with %zu sessions, for the next daemon",
			server->sessions);
	if (is_stuck)
		log_say(LEVEL_WARNING, "the keeper did not end within %d s, and is killed",
			END_MS / 1000);
	if (is_stuck && link->pidfd >= 0)
		(void)pidfd_send_signal(link->pidfd, SIGKILL, NULL, 0);
	/* one that does not listen yet has lent nothing */
	if (link->child > 0 && link->state == LINK_STARTING)
		(void)kill(link->child, SIGKILL);
	if (link->child > 0 && !does_stay)
		while (waitpid(link->child, NULL, 0) < 0 && errno == EINTR)
			;
	link->child = -1;
	close_link(server);
	drop_running(server);
}
