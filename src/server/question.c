/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of the keeper for somebody over HTTP. The daemon is a client of itself for that: it
 * lets one end of a socket pair in, as it would anybody's connection, and the keeper answers at the
 * other. So nothing waits, neither the daemon nor the question behind executions.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"
#include "loan/loan.h"
#include "server/parts.h"
#include "wire/json.h"

enum { ANSWER_DEPTH = 8 };

struct question {
	struct request *request;
	struct watch watch;
	int fd; /* owned */
	enum loan_kind kind;
	question_hear *hear;
};

void question_drop(struct question *question)
{
	if (!question)
		return;
	loop_remove(question->request->http->loop, &question->watch);
	own_close(&question->fd);
	free(question);
}

/* `ret_fd` receives the descriptor that came, -1: none. */
static int read_answer(const struct question *question, struct json_object **ret_answer,
	int *ret_fd, struct err *err)
{
	struct loan_message message;
	int r = loan_receive(question->fd, &message);
	if (r <= 0)
		return err_set(err, ERR_BROKEN, "the keeper ended");
	if (message.kind == LOAN_REFUSED)
		r = loan_refusal(&message, err);
	else if (message.kind != question->kind)
		r = err_set(err, ERR_BROKEN, "the keeper's answer makes no sense");
	else
		r = json_read(
			message.text, message.len, LOAN_TEXT_MAX, ANSWER_DEPTH, ret_answer, err);
	if (r == 0 && message.fd_count > 0)
		*ret_fd = take_fd(&message.fds[0]);
	loan_message_done(&message);
	return r;
}

static void hear_keeper(void *context, uint32_t events)
{
	struct question *question = context;
	struct request *request = question->request;
	struct json_object *answer = NULL;
	struct err err = { 0 };
	int fd = -1;
	(void)events;
	(void)read_answer(question, &answer, &fd, &err);
	request->question = NULL;
	question->hear(request, answer, fd, &err);
	question_drop(question); /* what the keeper keeps in place for it stays so until now */
}

static int ask(struct request *request, enum loan_kind kind, const char *text, question_hear *hear,
	struct err *err)
{
	struct http *http = request->http;
	int socks[2] = { -1, -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, socks) < 0)
		return err_sys(err, errno, "make a socket");
	struct question *question = xcalloc(1, sizeof(*question));
	*question =
		(struct question){ .request = request, .fd = socks[0], .kind = kind, .hear = hear };
	question->watch =
		(struct watch){ .fd = socks[0], .wake = hear_keeper, .context = question };
	int r = loop_add(http->loop, &question->watch, EPOLLIN);
	if (r < 0)
		question->watch.fd = -1;
	else
		r = loan_send(socks[0], kind, 0, text, strlen(text), NULL, 0);
	if (r < 0) {
		own_close(&socks[1]);
		question_drop(question);
		return err_sys(err, -r, "ask the keeper");
	}
	request->question = question;
	client_let_in(http->settings.server, socks[1]);
	return 0;
}

void question_ask(struct request *request, struct json_object *json, question_hear *hear)
{
	auto_json struct json_object *own = json;
	struct err err = { 0 };
	if (request->tenant.name[0])
		json_put(own, "tenant", json_new_string(request->tenant.name));
	const struct holder *holder = request->tenant.holder;
	if (holder && holder->token.limits[TOKEN_SESSIONS] > 0)
		json_put(own, "most", json_object_new_int64(holder->token.limits[TOKEN_SESSIONS]));
	auto_free char *text = json_print(own, false);
	if (ask(request, LOAN_SESSION, text, hear, &err) < 0)
		hear(request, NULL, -1, &err);
}

void question_account(struct request *request, question_hear *hear)
{
	struct err err = { 0 };
	if (ask(request, LOAN_INFO, "", hear, &err) < 0)
		hear(request, NULL, -1, &err);
}
