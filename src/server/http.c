/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listeners and the life of a request. libmicrohttpd calls us when headers are there, for each
 * piece of the body, and once more when all of it is: then the route answers, or the connection is
 * suspended until somebody wakes it. A suspended connection is not looked at by libmicrohttpd, so
 * our own loop watches it for its client's leaving.
 */
#include "server/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/own.h"
#include "loan/loan.h"
#include "model/units.h"
#include "server/parts.h"
#include "server/tls.h"
#include "wire/log.h"

enum {
	BACKLOG = 512,
	CONNECTIONS_MAX = 4096,
	HEADERS_MAX = 32 << 10,
	SILENT_SECONDS = 30, /* a client that neither sends nor takes anything is dropped */
};

struct listener_socket {
	struct http *http;
	struct listener_socket *next;
	struct MHD_Daemon *daemon;
	struct watch watch; /* of libmicrohttpd's epoll descriptor */
	bool is_local;      /* a unix socket: the kernel says who connects */
	bool is_exposed;    /* other machines can reach it */
	bool is_leaving;    /* it takes nobody new, and goes with the last who is there */
	struct tls tls;     /* owned; empty: none */
	int64_t next_us;
	bool is_woken;              /* a connection goes on that was suspended */
	char path[SOCKET_PATH_MAX]; /* of a unix socket */
};

/* ---- what a request said ------------------------------------------------------------------------
 */

const char *request_header(const struct request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *request_query(const struct request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

int request_fd(const struct request *request)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	return info ? info->connect_fd : -1;
}

/* ---- waiting ------------------------------------------------------------------------------------
 */

static void hear_hangup(void *context, uint32_t events)
{
	struct request *request = context;
	(void)events;
	loop_remove(request->http->loop, &request->hangup);
	if (request->run)
		run_cancel(request->run);
	question_drop(take_ptr(&request->question));
	batch_leave(request->batch);
	asker_leave(request->asker);
	request->is_stream_over = true;
	request_wake(request);
}

static void suspend(struct request *request)
{
	request->is_suspended = true;
	MHD_suspend_connection(request->connection);
	request->hangup = (struct watch){
		.fd = request_fd(request), .wake = hear_hangup, .context = request
	};
	if (request->hangup.fd >= 0 &&
		loop_add(request->http->loop, &request->hangup, EPOLLRDHUP) < 0)
		request->hangup.fd = -1;
}

void request_wake(struct request *request)
{
	if (!request->is_suspended)
		return;
	request->is_suspended = false;
	loop_remove(request->http->loop, &request->hangup);
	MHD_resume_connection(request->connection);
	/* nothing else tells it; and it may be at its turn just now, for another request */
	request->listener->next_us = 0;
	request->listener->is_woken = true;
}

/* ---- an answer that grows -----------------------------------------------------------------------
 */

static ssize_t read_stream(void *context, uint64_t position, char *data, size_t size)
{
	struct request *request = context;
	struct buf *stream = &request->stream;
	size_t left = stream->len - request->stream_sent;
	size_t n = left < size ? left : size;
	(void)position;
	if (n == 0) {
		if (request->is_stream_over)
			return MHD_CONTENT_READER_END_OF_STREAM;
		suspend(request);
		return 0;
	}
	memcpy(data, stream->data + request->stream_sent, n);
	request->stream_sent += n;
	request->sent += n;
	if (request->stream_sent == stream->len)
		request->stream_sent = stream->len = 0;
	if (request->run && stream->len - request->stream_sent < STREAM_LOW)
		run_resume(request->run);
	if (request->batch && stream->len - request->stream_sent < STREAM_LOW) {
		batch_go_on(request->batch);
		run_next(request->http);
	}
	return (ssize_t)n;
}

void stream_begin(struct request *request, const char *type)
{
	enum { BLOCK = 16 << 10 };
	struct MHD_Response *response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, BLOCK, read_stream, request, NULL);
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	(void)MHD_add_response_header(response, "X-Accel-Buffering", "no");
	request->is_stream = true;
	request->status = MHD_HTTP_OK;
	request->response = response;
	request->state = ANSWER_READY;
	request_wake(request);
}

void stream_put(struct request *request, const char *data, size_t len)
{
	struct buf *stream = &request->stream;
	if (request->stream_sent > 0) { /* what was sent makes room */
		stream->len -= request->stream_sent;
		memmove(stream->data, stream->data + request->stream_sent, stream->len);
		request->stream_sent = 0;
	}
	if (buf_append(stream, data, len) < 0)
		request->is_stream_over = true; /* a reader so slow has lost the thread */
	request_wake(request);
}

void stream_end(struct request *request)
{
	request->is_stream_over = true;
	request_wake(request);
}

bool stream_is_full(const struct request *request)
{
	return request->stream.len - request->stream_sent > STREAM_HIGH;
}

/* ---- what is asked for --------------------------------------------------------------------------
 */

static bool find_route(struct request *request)
{
	bool is_known = false;
	request->route = route_find(request->method, request->path, request->params, &is_known);
	if (!access_allow(request))
		return false;
	if (request->route)
		return true;
	if (is_known)
		answer_error(request, MHD_HTTP_METHOD_NOT_ALLOWED, "method_not_allowed", NULL, NULL,
			"%s does not take %.16s", request->path, request->method);
	else
		answer_error(request, MHD_HTTP_NOT_FOUND, "not_found", NULL,
			"GET /openapi.json lists what there is", "there is no %.200s",
			request->path);
	return false;
}

/* While it drains, only what tells of the daemon itself is answered. */
static bool is_welcome(struct request *request)
{
	enum scope scope = request->route->scope;
	if (!request->http->is_draining || scope == SCOPE_NONE || scope == SCOPE_ADMIN)
		return true;
	answer_draining(request);
	return false;
}

/* ---- the life of a request ----------------------------------------------------------------------
 */

static struct request *new_request(struct listener_socket *listener,
	struct MHD_Connection *connection, const char *method, const char *path)
{
	struct http *http = listener->http;
	struct request *request = xcalloc(1, sizeof(*request));
	*request = (struct request){ .http = http,
		.listener = listener,
		.connection = connection,
		.method = method,
		.path = xstrdup(path),
		.is_local = listener->is_local,
		.is_exposed = listener->is_exposed,
		.begun_us = clock_us(),
		.upload = { .fd = -1 },
		.hangup = { .fd = -1 } };
	trace_begin(request);
	buf_init(&request->body, BODY_MAX);
	buf_init(&request->stream, BODY_MAX + STREAM_HIGH);
	request->next = http->requests;
	if (request->next)
		request->next->prev = request;
	http->requests = request;
	return request;
}

static void free_request(struct request *request)
{
	events_leave(request);
	loop_remove(request->http->loop, &request->hangup);
	if (request->next)
		request->next->prev = request->prev;
	if (request->prev)
		request->prev->next = request->next;
	else
		request->http->requests = request->next;
	if (request->run)
		run_cancel(request->run);
	question_drop(request->question);
	batch_leave(request->batch);
	own_close(&request->upload.fd);
	(void)json_object_put(request->gathered);
	asker_leave(request->asker);
	if (request->response)
		MHD_destroy_response(request->response);
	buf_done(&request->body);
	buf_done(&request->stream);
	for (size_t i = 0; i < ROUTE_PARAMS; i++)
		free(request->params[i]);
	free(request->path);
	free(request);
}

static enum MHD_Result send_answer(struct request *request)
{
	if (request->state == ANSWER_SENT)
		return MHD_YES;
	if (request->state == ANSWER_NONE || request->state == ANSWER_WAITING) {
		request->state = ANSWER_WAITING;
		if (request->is_stream_over)
			return MHD_NO; /* nobody is there to hear it */
		suspend(request);
		return MHD_YES;
	}
	trace_answer(request, request->response);
	origin_allow(request, request->response);
	enum MHD_Result r =
		MHD_queue_response(request->connection, request->status, request->response);
	MHD_destroy_response(request->response); /* our hold on it */
	request->response = NULL;
	request->state = ANSWER_SENT;
	return r;
}

/* The body of what was refused is of no interest. */
static bool take_body(struct request *request, const char *data, size_t *size)
{
	size_t len = *size;
	*size = 0;
	if (request->is_stream_over)
		return false; /* its client is gone */
	if (request->state != ANSWER_NONE)
		return true;
	if (request->route->take)
		return request->route->take(request, data, len);
	if (buf_append(&request->body, data, len) < 0)
		request->is_too_large = true;
	return true;
}

static enum MHD_Result serve(void *context, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *data, size_t *size, void **slot)
{
	struct request *request = *slot;
	struct listener_socket *listener = context;
	(void)version;
	if (!request) {
		request = *slot = new_request(listener, connection, method, url);
		/* who may not ask is told before the body is sent */
		if (!access_admit(request) || !find_route(request) || !is_welcome(request))
			return send_answer(request);
		if (!request->route->begin)
			return MHD_YES;
		request->route->begin(request);
		request->is_beginning = true;
		return send_answer(request);
	}
	/* libmicrohttpd calls once more when one that was suspended before its body goes on */
	bool has_begun = request->is_beginning;
	request->is_beginning = false;
	if (has_begun && *size == 0)
		return request->state == ANSWER_NONE ? MHD_YES : send_answer(request);
	if (*size > 0)
		return take_body(request, data, size) ? MHD_YES : MHD_NO;
	if (request->state == ANSWER_NONE && request->is_too_large)
		answer_error(request, MHD_HTTP_CONTENT_TOO_LARGE, "too_large", NULL, NULL,
			"the body is over %d bytes", BODY_MAX);
	else if (request->state == ANSWER_NONE)
		request->route->answer(request);
	return send_answer(request);
}

static void finish(void *context, struct MHD_Connection *connection, void **slot,
	enum MHD_RequestTerminationCode why)
{
	(void)context;
	(void)connection;
	(void)why;
	if (*slot) {
		trace_log(*slot);
		metrics_count_request(*slot);
		free_request(*slot);
	}
	*slot = NULL;
}

/* ---- listeners ----------------------------------------------------------------------------------
 */

static unsigned int count_connections(const struct listener_socket *listener)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
	return info ? info->num_connections : 0;
}

/* Where there was no room, libmicrohttpd looks for who waits only at the beginning of a turn, and
 * some may have left in this one. */
static void turn(struct listener_socket *listener)
{
	MHD_UNSIGNED_LONG_LONG ms = 0;
	unsigned int before = 0;
	listener->is_woken = false;
	do {
		before = count_connections(listener);
		(void)MHD_run(listener->daemon);
	} while (count_connections(listener) < before);
	listener->next_us = MHD_get_timeout(listener->daemon, &ms) == MHD_YES
				    ? clock_us() + (int64_t)ms * 1000
				    : INT64_MAX;
	if (listener->is_woken)
		listener->next_us = 0;
}

static void hear_daemon(void *context, uint32_t events)
{
	(void)events;
	turn(context);
}

__attribute__((format(printf, 2, 0))) static void say(void *context, const char *fmt, va_list ap)
{
	char text[512];
	(void)context;
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	log_say(LEVEL_DEBUG, "http: %s", text); /* a client can make it say a lot */
}

/* One listener is beside the daemon's socket, and another may be where `listen` says. Who comes
 * when all are taken waits; a worker, which needs descriptors of its own, must not.
 */
static unsigned int connections_max(const struct http *http)
{
	unsigned int share = http->settings.connections / 2;
	return share < 1 ? 1 : share < CONNECTIONS_MAX ? share : CONNECTIONS_MAX;
}

/* Takes `fd`. */
static int start_listener(
	struct http *http, int fd, struct listener_socket *listener, struct err *err)
{
	static const char newer[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
	const struct MHD_OptionItem secure[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, listener->tls.cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, listener->tls.key },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)newer },
		{ MHD_OPTION_END, 0, NULL },
	};
	const struct MHD_OptionItem *more = &secure[listener->tls.cert ? 0 : COUNT_OF(secure) - 1];
	unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
			     (listener->tls.cert ? MHD_USE_TLS : 0);
	listener->http = http;
	listener->daemon = MHD_start_daemon(flags, 0, NULL, NULL, serve, listener,
		MHD_OPTION_EXTERNAL_LOGGER, say, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_NOTIFY_COMPLETED, finish, NULL, MHD_OPTION_CONNECTION_LIMIT,
		connections_max(http), MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)SILENT_SECONDS, MHD_OPTION_ARRAY, more,
		MHD_OPTION_END);
	if (!listener->daemon) {
		(void)close(fd);
		return err_set(err, ERR_BROKEN, "HTTP could not be started");
	}
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	listener->watch = (struct watch){
		.fd = info ? info->epoll_fd : -1, .wake = hear_daemon, .context = listener
	};
	int r = loop_add(http->loop, &listener->watch, EPOLLIN);
	if (r < 0)
		return err_sys(err, -r, "watch the HTTP server");
	turn(listener);
	return 0;
}

static int listen_local(struct http *http, struct err *err)
{
	struct listener_socket *listener = xcalloc(1, sizeof(*listener));
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	listener->next = http->listeners;
	listener->is_local = true;
	listener->watch.fd = -1;
	http->listeners = listener;
	int len = snprintf(
		listener->path, sizeof(listener->path), "%s.http", http->settings.socket_path);
	if (len < 0 || (size_t)len >= sizeof(listener->path))
		return err_set(
			err, ERR_INVALID, "--socket: the path is too long for HTTP beside it");
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", listener->path);
	auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(err, errno, "make a socket");
	(void)unlink(listener->path); /* the daemon's own socket says that we are the only one */
	mode_t before = umask(0177);
	int r = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	(void)umask(before);
	if (r < 0 || listen(fd, BACKLOG) < 0)
		return err_sys(err, errno, "listen at '%s'", listener->path);
	return start_listener(http, take_fd(&fd), listener, err);
}

/* An address as the kernel takes it. */
struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	};
	socklen_t len;
};

static bool is_loopback(const struct address *address)
{
	if (address->any.sa_family == AF_INET)
		return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static int parse_address(const char *text, struct address *ret_address, struct err *err)
{
	char host[INET6_ADDRSTRLEN + 1];
	int64_t port = 0;
	const char *colon = strrchr(text, ':');
	bool has_port =
		colon && units_parse_count(colon + 1, &port) == 0 && port > 0 && port <= UINT16_MAX;
	bool is_v6 = text[0] == '[' && has_port && colon[-1] == ']';
	size_t len = has_port ? (size_t)(colon - text) - (is_v6 ? 2 : 0) : sizeof(host);
	*ret_address = (struct address){ 0 };
	if (len < sizeof(host)) {
		(void)snprintf(host, sizeof(host), "%.*s", (int)len, text + is_v6);
		if (is_v6 && inet_pton(AF_INET6, host, &ret_address->v6.sin6_addr) == 1) {
			ret_address->v6.sin6_family = AF_INET6;
			ret_address->v6.sin6_port = htons((uint16_t)port);
			ret_address->len = sizeof(ret_address->v6);
			return 0;
		}
		const char *number = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
		if (!is_v6 && inet_pton(AF_INET, number, &ret_address->v4.sin_addr) == 1) {
			ret_address->v4.sin_family = AF_INET;
			ret_address->v4.sin_port = htons((uint16_t)port);
			ret_address->len = sizeof(ret_address->v4);
			return 0;
		}
	}
	return err_set(err, ERR_INVALID,
		"--listen: '%.80s' is not a numeric address and a port, for example --listen "
		"127.0.0.1:7070",
		text);
}

static int bind_address(
	const struct address *address, const char *text, int *ret_fd, struct err *err)
{
	const int yes = 1;
	auto_fd int fd =
		socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(err, errno, "make a socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, &address->any, address->len) < 0 || listen(fd, BACKLOG) < 0)
		return err_sys(err, errno, "--listen: listen at '%.80s'", text);
	*ret_fd = take_fd(&fd);
	return 0;
}

static int listen_at(struct http *http, const char *text, struct err *err)
{
	const struct http_settings *settings = &http->settings;
	struct address address;
	int fd = -1;
	TRY(parse_address(text, &address, err));
	bool is_exposed = !is_loopback(&address);
	if (is_exposed)
		TRY(access_check_listener(http, text, err));
	struct listener_socket *listener = xcalloc(1, sizeof(*listener));
	listener->next = http->listeners;
	listener->watch.fd = -1;
	listener->is_exposed = is_exposed;
	http->listeners = listener;
	if (settings->tls_cert)
		TRY(tls_load(settings->tls_cert, settings->tls_key, &listener->tls, err));
	TRY(bind_address(&address, text, &fd, err));
	TRY(start_listener(http, fd, listener, err));
	server_log("HTTP at http%s://%s", listener->tls.cert ? "s" : "", text);
	return 0;
}

static void free_listener(struct listener_socket *listener)
{
	if (listener->path[0])
		(void)unlink(listener->path);
	loop_remove(listener->http ? listener->http->loop : NULL, &listener->watch);
	if (listener->daemon) {
		turn(listener);
		MHD_stop_daemon(listener->daemon);
	}
	tls_done(&listener->tls);
	free(listener);
}

/* Those who left their place to another and have nobody left. */
static void drop_deserted(struct http *http)
{
	for (struct listener_socket **at = &http->listeners; *at;) {
		struct listener_socket *listener = *at;
		const union MHD_DaemonInfo *info =
			listener->is_leaving ? MHD_get_daemon_info(listener->daemon,
						       MHD_DAEMON_INFO_CURRENT_CONNECTIONS)
					     : NULL;
		if (!info || info->num_connections > 0) {
			at = &listener->next;
			continue;
		}
		*at = listener->next;
		free_listener(listener);
	}
}

/* A certificate cannot be changed under libmicrohttpd: another listener takes the place of the one
 * there is, at the same socket, and that one serves those it has to the end. */
static int replace(struct http *http, struct listener_socket *before, struct err *err)
{
	struct listener_socket *listener = xcalloc(1, sizeof(*listener));
	listener->watch.fd = -1;
	listener->is_exposed = before->is_exposed;
	int r = tls_load(http->settings.tls_cert, http->settings.tls_key, &listener->tls, err);
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(before->daemon, MHD_DAEMON_INFO_LISTEN_FD);
	auto_fd int fd = r == 0 && info ? fcntl(info->listen_fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (r == 0 && fd < 0)
		r = err_sys(err, errno, "--tls-cert: hand the port over");
	if (r == 0)
		r = start_listener(http, take_fd(&fd), listener, err);
	if (r < 0) {
		free_listener(listener);
		return -1;
	}
	int left_fd = MHD_quiesce_daemon(before->daemon);
	own_close(&left_fd);
	before->is_leaving = true;
	listener->next = http->listeners;
	http->listeners = listener;
	return 0;
}

static void drop_texts(struct http_settings *settings)
{
	free((char *)settings->listen);
	free((char *)settings->public_name);
	free((char *)settings->tls_cert);
	free((char *)settings->tls_key);
	free((char *)settings->socket_path);
}

static const char *copy_text(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void keep_texts(struct http_settings *settings)
{
	settings->listen = copy_text(settings->listen);
	settings->public_name = copy_text(settings->public_name);
	settings->tls_cert = copy_text(settings->tls_cert);
	settings->tls_key = copy_text(settings->tls_key);
	settings->socket_path = copy_text(settings->socket_path);
}

int http_reload(struct http *http, const struct http_settings *settings, struct err *err)
{
	struct http_settings before = http->settings;
	http->settings = *settings;
	keep_texts(&http->settings);
	drop_texts(&before);
	for (struct listener_socket *at = http->listeners; at; at = at->next)
		if (at->tls.cert && !at->is_leaving && settings->tls_cert)
			return replace(http, at, err);
	return 0;
}

int http_open(struct loop *loop, const struct http_settings *settings, struct http **ret_http,
	struct err *err)
{
	struct http *http = xcalloc(1, sizeof(*http));
	http->loop = loop;
	http->settings = *settings;
	keep_texts(&http->settings);
	*ret_http = http;
	metrics_open(&http->counts);
	http->workers = workers_open(loop, (size_t)settings->concurrency);
	mcp_serve(http);
	http->porter = porter_open();
	TRY(listen_local(http, err));
	return settings->listen ? listen_at(http, settings->listen, err) : 0;
}

void http_close(struct http *http)
{
	if (!http)
		return;
	/* libmicrohttpd must not be stopped while connections are suspended */
	for (struct request *request = http->requests; request; request = request->next) {
		request->is_stream_over = true;
		request_wake(request);
	}
	while (http->listeners) {
		struct listener_socket *listener = http->listeners;
		http->listeners = listener->next;
		free_listener(listener);
	}
	workers_close(http->workers);
	mcp_close(http->mcp);
	porter_close(http->porter);
	metrics_close(&http->counts);
	drop_texts(&http->settings);
	free(http);
}

/* ---- draining -----------------------------------------------------------------------------------
 */

void http_drain(struct http *http)
{
	http->is_draining = true;
	batches_go_on(http); /* those at which nothing runs are over */
}

/* A request whose answer is not out is under way; one that has not been said yet is not, and
 * neither is a stream that goes on for its own sake. */
static bool is_under_way(const struct request *request)
{
	if (request->run || request->state == ANSWER_WAITING || request->state == ANSWER_READY)
		return true;
	return request->state == ANSWER_SENT && (!request->is_stream || request->is_stream_over);
}

bool http_is_idle(const struct http *http)
{
	const struct request *request = http->requests;
	while (request && !is_under_way(request))
		request = request->next;
	return !request && http->running == 0 && http->queue.count == 0;
}

/* One that hears of it may be gone then. */
void http_cancel(struct http *http)
{
	for (struct request *request = http->requests, *next; request; request = next) {
		next = request->next;
		if (request->run)
			run_interrupt(request->run);
		if (request->batch)
			batch_interrupt(request->batch);
	}
}

bool http_owns(const struct http *http, pid_t pid)
{
	return http && (pid == getpid() || workers_has(http->workers, pid));
}

void http_set_limits(struct http *http, int64_t concurrency, int64_t queue)
{
	http->settings.concurrency = concurrency;
	http->settings.queue = queue;
	workers_set_most(http->workers, (size_t)concurrency);
	run_next(http);
}

int64_t http_next_us(const struct http *http)
{
	int64_t next_us = INT64_MAX;
	for (const struct listener_socket *at = http ? http->listeners : NULL; at; at = at->next)
		if (at->next_us < next_us)
			next_us = at->next_us;
	if (http && porter_next_us(http->porter) < next_us)
		next_us = porter_next_us(http->porter);
	if (http && events_next_us(http) < next_us)
		next_us = events_next_us(http);
	if (http && http->alive_us > 0 && http->alive_us < next_us)
		next_us = http->alive_us;
	return next_us;
}

void http_tick(struct http *http)
{
	int64_t now_us = clock_us();
	for (struct listener_socket *at = http ? http->listeners : NULL; at; at = at->next)
		if (at->next_us <= now_us)
			turn(at);
	if (!http)
		return;
	events_tick(http, now_us);
	drop_deserted(http);
	access_tick(http);
	mcp_tick(http, now_us);
}
