/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/order.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/own.h"
#include "wire/json.h"

enum { LINE_FD = 3, LINE_FD_OWN = 64, ORDER_DEPTH = 4 };

/* clang-format off */
static const char *const order_words[ORDER_KIND_COUNT] = {
	[ORDER_NONE]     = "",
	[ORDER_TURN]     = "turn",
	[ORDER_BRANCH]   = "branch",
	[ORDER_FORK]     = "fork",
	[ORDER_POINT]    = "point",
	[ORDER_ROLLBACK] = "rollback",
	[ORDER_DROP]     = "drop",
	[ORDER_BYE]      = "bye",
};
/* clang-format on */

int order_open_line(void)
{
	struct stat st;
	if (fstat(LINE_FD, &st) < 0 || !S_ISSOCK(st.st_mode))
		return -1;
	int fd = fcntl(LINE_FD, F_DUPFD_CLOEXEC, LINE_FD_OWN);
	(void)close(LINE_FD);
	return fd;
}

void order_done(struct order *order)
{
	for (size_t i = 0; i < COUNT_OF(order->fds); i++)
		own_close(&order->fds[i]);
}

static void read_order(struct order *order, const char *text, size_t len)
{
	auto_json struct json_object *json = NULL;
	struct err err = { 0 };
	if (json_read(text, len, ORDER_BYTES, ORDER_DEPTH, &json, &err) < 0)
		return;
	order->is_branch = json_object_get_boolean(json_object_object_get(json, "branch"));
	for (int kind = ORDER_NONE + 1; kind < ORDER_KIND_COUNT; kind++) {
		struct json_object *value = json_object_object_get(json, order_words[kind]);
		if (!value)
			continue;
		order->kind = (enum order_kind)kind;
		if (json_object_is_type(value, json_type_int))
			order->number = json_object_get_int64(value);
	}
}

int order_receive(int line_fd, struct order *ret_order)
{
	char text[ORDER_BYTES];
	size_t fd_count = ORDER_FDS;
	struct order order = { .fds = { -1, -1, -1, -1 } };
	ssize_t len = io_recv(line_fd, text, sizeof(text), order.fds, &fd_count);
	if (len == 0 || (len < 0 && len != -EBADMSG))
		return 0;
	if (len > 0)
		read_order(&order, text, (size_t)len);
	/* a turn without its four descriptors is none */
	if (order.kind == ORDER_TURN && fd_count < ORDER_FDS)
		order.kind = ORDER_NONE;
	*ret_order = order;
	return 1;
}

static void say(int line_fd, struct json_object *json)
{
	auto_free char *text = json_print(json, false);
	(void)io_send(line_fd, text, strlen(text), NULL, 0);
}

void order_answer(int line_fd, const char *word, int64_t number)
{
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, word, json_object_new_int64(number));
	say(line_fd, json);
}

void order_say_ready(int line_fd)
{
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, "ready", json_object_new_boolean(true));
	say(line_fd, json);
}

void order_refuse(int line_fd, int64_t number, const char *why)
{
	auto_json struct json_object *json = json_object_new_object();
	struct json_object *list = json_object_new_array();
	(void)json_object_array_add(list, json_new_string(why));
	json_put(json, "refused", json_object_new_int64(number));
	json_put(json, "why", list);
	say(line_fd, json);
}

void order_say_ended(int line_fd, const char *why)
{
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, "ended", json_new_string(why));
	say(line_fd, json);
}
