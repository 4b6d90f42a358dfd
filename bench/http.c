/* SPDX-License-Identifier: Apache-2.0 */
/* A run over HTTP, at the socket beside the daemon's own, on a connection that is kept. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/own.h"
#include "bench.h"
#include "wire/json.h"

enum { ANSWER_MAX = 1 << 20, PATIENCE_S = 20 };

static int connect_http(const char *daemon, int *ret_fd, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	int len = snprintf(address.sun_path, sizeof(address.sun_path), "%s.http", daemon);
	auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || len < 0 || (size_t)len >= sizeof(address.sun_path))
		return err_sys(err, fd < 0 ? errno : ENAMETOOLONG, "make a socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return err_sys(err, errno, "connect to '%s'", address.sun_path);
	*ret_fd = take_fd(&fd);
	return 0;
}

static char *compose(const char *language, const char *code)
{
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, "language", json_new_string(language));
	json_put(json, "code", json_new_string(code));
	auto_free char *body = json_print(json, false);
	return xasprintf("POST /v1/execute HTTP/1.1\r\nHost: localhost\r\n"
			 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		strlen(body), body);
}

/* Where the body begins; 0: not all of the answer is there yet. */
static size_t find_body(const struct buf *answer)
{
	static const char key[] = "Content-Length: ";
	const char *text = buf_text(answer);
	const char *blank = strstr(text, "\r\n\r\n");
	const char *length = strcasestr(text, key);
	if (!blank || !length)
		return 0;
	size_t begin = (size_t)(blank - text) + strlen("\r\n\r\n");
	size_t body = strtoul(length + sizeof(key) - 1, NULL, 10);
	return answer->len >= begin + body ? begin : 0;
}

static int receive(int fd, struct buf *answer, size_t *ret_body, struct err *err)
{
	char chunk[16 << 10];
	while ((*ret_body = find_body(answer)) == 0) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n <= 0)
			return err_sys(err, n < 0 ? errno : ECONNRESET, "read the answer");
		if (buf_append(answer, chunk, (size_t)n) < 0)
			return err_set(err, ERR_LIMIT, "the answer is over %d bytes", ANSWER_MAX);
	}
	return 0;
}

/* A server drops who has been silent for half a minute: some rows take that long to get ready. */
static bool has_hung_up(int fd)
{
	char byte = 0;
	return fd >= 0 && recv(fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) == 0;
}

int run_http(struct bench *bench, struct contender *contender, struct sample *ret_sample,
	struct err *err)
{
	auto_free char *request = compose(contender->words[0], contender->words[1]);
	auto_buf struct buf answer;
	size_t body = 0;
	(void)bench;
	buf_init(&answer, ANSWER_MAX);
	if (!contender->lender)
		return err_set(err, ERR_INVALID, "plan: '%s' has no lender", contender->name);
	if (has_hung_up(contender->http_fd))
		own_close(&contender->http_fd);
	if (contender->http_fd < 0)
		TRY(connect_http(contender->lender->socket, &contender->http_fd, err));
	int64_t began = clock_us();
	int r = io_write(contender->http_fd, request, strlen(request));
	if (r < 0)
		return err_sys(err, -r, "send a request");
	TRY(receive(contender->http_fd, &answer, &body, err));
	ret_sample->us = clock_us() - began;
	ret_sample->is_warm = strstr(answer.data + body, "\"warm\":true") != NULL;
	if (!strstr(answer.data + body, "\"status\":\"ok\""))
		return err_set(err, ERR_BROKEN, "answered: %.200s", answer.data + body);
	return 0;
}
