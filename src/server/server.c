/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/place.h"
#include "server/parts.h"
#include "wire/log.h"

enum {
	OWN_FDS = 32,    /* streams, sockets, and some in the air */
	WORKER_FDS = 4,  /* its sockets, its loan, and the next one */
	HTTP_FDS = 8192, /* as many as two listeners take */
};

void server_log(const char *fmt, ...)
{
	char text[LOG_LINE_MAX / 2];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_tell(LEVEL_INFO, text, NULL, 0);
}

void server_set_ready(struct server *server)
{
	if (server->is_ready)
		return;
	server->is_ready = true;
	server_log("serving at %s", server->path);
	notify("READY=1");
}

void server_fail(struct server *server, const struct err *err)
{
	*server->err = *err;
	server->is_over = true;
}

static void take_signal(void *context, uint32_t events)
{
	struct server *server = context;
	struct signalfd_siginfo info;
	(void)events;
	while (read(server->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			link_reap(server);
		else if (info.ssi_signo == SIGHUP && !reload_is_hangup(server))
			reload(server);
		else if (info.ssi_signo == SIGHUP)
			server->is_over = true;
		else
			drain_begin(server);
	}
}

/* ---- set-up ------------------------------------------------------------------------------- */

/* Every client that may be here has a descriptor for sure, and so has every worker; connections
 * over HTTP have what is left. */
static rlim_t own_descriptors(const struct server_settings *settings)
{
	return (rlim_t)(WORKER_FDS * settings->concurrency + settings->queue) + SPARE_CLIENTS +
	       OWN_FDS;
}

static unsigned int connections_left(const struct server_settings *settings)
{
	struct rlimit limit = { 0 };
	rlim_t own = own_descriptors(settings);
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur <= own)
		return 0;
	return limit.rlim_cur - own < HTTP_FDS ? (unsigned int)(limit.rlim_cur - own) : HTTP_FDS;
}

int server_allow_descriptors(const struct server_settings *settings, struct err *err)
{
	struct rlimit limit = { 0 };
	rlim_t wanted = own_descriptors(settings);
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return err_sys(err, errno, "read the limit on descriptors");
	if (limit.rlim_cur >= wanted + HTTP_FDS)
		return 0;
	if (limit.rlim_max < wanted)
		return err_set(err, ERR_LIMIT,
			"--concurrency and --queue need %llu descriptors, and this process may "
			"have %llu (ulimit -n)",
			(unsigned long long)wanted, (unsigned long long)limit.rlim_max);
	limit.rlim_cur = limit.rlim_max < wanted + HTTP_FDS ? limit.rlim_max : wanted + HTTP_FDS;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return err_sys(err, errno, "raise the limit on descriptors");
	return 0;
}

/* Whoever has a daemon started tells it the usual place as any other. */
static bool is_in_run_dir(const char *path)
{
	char dir[PLACE_MAX];
	place_run_dir(dir, sizeof(dir));
	return strncmp(path, dir, strlen(dir)) == 0 && path[strlen(dir)] == '/';
}

/* The keeper is started elsewhere, so paths are whole. */
static int find_paths(struct server *server, struct err *err)
{
	char given[PATH_MAX], dir[PATH_MAX] = "";
	auto_fd int run_dir = -1;
	if (server->settings.socket_path)
		(void)snprintf(given, sizeof(given), "%s", server->settings.socket_path);
	else
		loan_socket_path(given, sizeof(given));
	if (is_in_run_dir(given))
		TRY(place_open_run_dir(&run_dir, err));
	if (given[0] != '/' && !getcwd(dir, sizeof(dir)))
		return err_sys(err, errno, "find the working directory");
	auto_free char *whole = xasprintf("%s%s%s", dir, given[0] == '/' ? "" : "/", given);
	char keeper[PATH_MAX * 2 + 16];
	loan_keeper_path(whole, keeper, sizeof(keeper));
	if (strlen(keeper) >= sizeof(server->link.path))
		return err_set(err, ERR_INVALID,
			"--socket: '%s' is longer than the %d bytes that a socket's path may have",
			whole, (int)(sizeof(server->link.path) - 1 - strlen(".keeper")));
	(void)snprintf(server->path, sizeof(server->path), "%s", whole);
	(void)snprintf(server->link.path, sizeof(server->link.path), "%s", keeper);
	return 0;
}

static int watch_signals(struct server *server, struct err *err)
{
	static const int wanted[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD };
	struct sigaction before;
	sigset_t set;
	(void)sigemptyset(&set);
	/* one that is ignored, as nohup does, stays so */
	for (size_t i = 0; i < COUNT_OF(wanted); i++)
		if (sigaction(wanted[i], NULL, &before) == 0 &&
			(before.sa_handler != SIG_IGN || wanted[i] == SIGCHLD))
			(void)sigaddset(&set, wanted[i]);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	server->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (server->signal_fd < 0)
		return err_sys(err, errno, "watch for signals");
	return 0;
}

struct http_settings server_http_settings(struct server *server)
{
	return (struct http_settings){ .server = server,
		.listen = server->settings.listen,
		.public_name = server->settings.public_name,
		.tls_cert = server->settings.tls_cert,
		.tls_key = server->settings.tls_key,
		.is_plain = server->settings.is_plain,
		.socket_path = server->path,
		.concurrency = server->settings.concurrency,
		.queue = server->settings.queue,
		.connections = connections_left(&server->settings) };
}

/* What comes over HTTP is run by workers, who are clients like any other. */
static int open_http(struct server *server, struct err *err)
{
	const struct http_settings settings = server_http_settings(server);
	(void)setenv("HOTCELL_SOCKET", server->path, 1);
	return http_open(&server->loop, &settings, &server->http, err);
}

static int set_up(struct server *server, struct err *err)
{
	log_set(server->settings.log_format, server->settings.log_level);
	TRY(server_allow_descriptors(&server->settings, err));
	TRY(find_paths(server, err));
	TRY(watch_signals(server, err));
	int r = loop_init(&server->loop);
	if (r < 0)
		return err_sys(err, -r, "make an event loop");
	TRY(loan_listen(server->path, &server->listen_fd, err));
	server->listen_watch = (struct watch){ server->listen_fd, client_accept, server };
	server->signal_watch = (struct watch){ server->signal_fd, take_signal, server };
	r = loop_add(&server->loop, &server->listen_watch, EPOLLIN);
	if (r == 0)
		r = loop_add(&server->loop, &server->signal_watch, EPOLLIN);
	return r < 0 ? err_sys(err, -r, "watch the socket") : open_http(server, err);
}

/* ---- time --------------------------------------------------------------------------------- */

static bool is_deserted(const struct server *server)
{
	return server->settings.is_on_demand && server->is_ready && server->quiet.count == 0 &&
	       server->served.count == 0 && server->sessions == 0;
}

static int64_t idle_end_us(const struct server *server)
{
	return server->idle_us + server->settings.idle_s * 1000000;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* How long there is nothing to do unless something happens. */
static int patience_ms(const struct server *server)
{
	int64_t next_us = link_next_us(server);
	if (server->quiet.first)
		next_us = earlier(next_us, server->quiet.first->deadline_us);
	if (server->news_us > 0)
		next_us = earlier(next_us, server->news_us);
	if (server->accept_us > 0)
		next_us = earlier(next_us, server->accept_us);
	next_us = earlier(next_us, http_next_us(server->http));
	next_us = earlier(next_us, drain_next_us(server));
	if (is_deserted(server))
		next_us = earlier(next_us, idle_end_us(server));
	if (next_us == INT64_MAX)
		return -1;
	int64_t left_ms = (next_us - clock_us() + 999) / 1000;
	return left_ms < 0 ? 0 : left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

static void do_what_is_due(struct server *server)
{
	int64_t now_us = clock_us();
	link_tick(server, now_us);
	client_run_late(server, now_us);
	http_tick(server->http);
	drain_tick(server, now_us);
	admit_tell(server, now_us);
	if (server->accept_us > 0 && server->accept_us <= now_us) {
		server->accept_us = 0;
		(void)loop_change(&server->loop, &server->listen_watch, EPOLLIN);
	}
	if (is_deserted(server) && idle_end_us(server) <= now_us)
		server->is_over = true;
}

/* ---- the end ------------------------------------------------------------------------------ */

/* The name goes first, while we still listen: whoever comes now starts a daemon of his own, which
 * must not find ours gone and its name about to be removed. Those who wait are hung up on without
 * a word, as by a daemon that was killed: they know what to do then. */
static void leave(struct server *server)
{
	server->is_leaving = true;
	notify("STOPPING=1");
	if (server->listen_fd >= 0)
		(void)unlink(server->path);
	loop_remove(&server->loop, &server->listen_watch);
	own_close(&server->listen_fd);
	while (server->quiet.first)
		client_drop(server->quiet.first);
	for (struct waiter *waiter; (waiter = queue_peek(&server->queue)) != NULL;)
		client_drop((struct client *)waiter);
	http_close(server->http);
	link_end(server);
	loop_remove(&server->loop, &server->signal_watch);
	own_close(&server->signal_fd);
	loop_done(&server->loop);
}

int server_run(struct server_settings *settings, struct err *err)
{
	struct server server = {
		.settings = *settings,
		.loop.epoll_fd = -1,
		.listen_watch.fd = -1,
		.signal_watch.fd = -1,
		.listen_fd = -1,
		.signal_fd = -1,
		.link = { .fd = -1, .pidfd = -1, .watch.fd = -1, .child = -1 },
		.started_us = clock_us(),
		.idle_us = clock_us(),
		.has_terminal = isatty(STDIN_FILENO) || isatty(STDERR_FILENO),
		.err = err,
	};
	int r = set_up(&server, err);
	if (r == 0)
		link_open(&server);
	while (r == 0 && !server.is_over) {
		int turned = loop_turn(&server.loop, patience_ms(&server));
		if (turned < 0)
			r = err_sys(err, -turned, "wait for clients");
		else
			do_what_is_due(&server);
	}
	leave(&server);
	server_settings_done(&server.settings);
	return r < 0 || err->code != ERR_NONE ? -1 : 0;
}
