/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/line.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/io.h"
#include "base/own.h"
#include "wire/json.h"

enum { LINE_DEPTH = 3 };

/* The key that makes a word what it is, and the one for what goes with it. */
static const struct {
	const char *key;
	const char *notes_key;
} shapes[LINE_KIND_COUNT] = {
	[LINE_READY] = { "ready", NULL },
	[LINE_IDLE] = { "idle", NULL },
	[LINE_FORKED] = { "forked", "notes" },
	[LINE_REFUSED] = { "refused", "why" },
	[LINE_DONE] = { "done", "notes" },
};

int line_make(int *ret_ours, int *ret_theirs, struct err *err)
{
	int pair[2];
	const int yes = 1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, errno, "make the line of a session");
	if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) < 0 ||
		fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0) {
		(void)err_sys(err, errno, "make the line of a session");
		(void)close(pair[0]);
		(void)close(pair[1]);
		return -1;
	}
	*ret_ours = pair[0];
	*ret_theirs = pair[1];
	return 0;
}

int line_send(int fd, const char *text, const int *fds, size_t fd_count)
{
	return io_send(fd, text, strlen(text), fds, fd_count);
}

bool line_is_unread(int fd)
{
	int waiting = 0;
	return ioctl(fd, SIOCOUTQ, &waiting) == 0 && waiting > 0;
}

static bool are_notes(struct json_object *value)
{
	if (!json_object_is_type(value, json_type_array) ||
		json_object_array_length(value) > LINE_NOTES_MAX)
		return false;
	for (size_t i = 0; i < json_object_array_length(value); i++) {
		struct json_object *item = json_object_array_get_idx(value, i);
		if (!json_object_is_type(item, json_type_string) ||
			json_object_get_string_len(item) > LINE_NOTE_BYTES)
			return false;
	}
	return true;
}

static bool is_number(struct json_object *value)
{
	return json_object_is_type(value, json_type_int) && json_object_get_int64(value) > 0 &&
	       json_object_get_int64(value) <= UINT32_MAX;
}

static enum line_kind kind_of(struct json_object *json)
{
	for (int kind = LINE_NONE + 1; kind < LINE_KIND_COUNT; kind++)
		if (json_object_object_get_ex(json, shapes[kind].key, NULL))
			return (enum line_kind)kind;
	return LINE_NONE;
}

static int read_word(struct json_object *json, struct line_word *word)
{
	word->kind = kind_of(json);
	if (word->kind == LINE_NONE)
		return -EBADMSG;
	json_object_object_foreach(json, key, value)
	{
		const char *notes_key = shapes[word->kind].notes_key;
		if (strcmp(key, shapes[word->kind].key) == 0) {
			bool is_sound = word->kind == LINE_READY ? json_object_get_boolean(value)
								 : is_number(value);
			if (!is_sound)
				return -EBADMSG;
			word->number = (uint32_t)json_object_get_int64(value);
		} else if (notes_key && strcmp(key, notes_key) == 0 && are_notes(value)) {
			word->notes = json_object_get(value);
		} else {
			return -EBADMSG;
		}
	}
	return 0;
}

int line_parse(const char *data, size_t len, struct line_word *word)
{
	auto_json struct json_object *json = NULL;
	struct err err = { 0 };
	*word = (struct line_word){ 0 };
	if (json_read(data, len, LINE_TEXT_MAX, LINE_DEPTH, &json, &err) < 0)
		return -EBADMSG;
	int r = read_word(json, word);
	if (r < 0)
		line_word_done(word);
	return r;
}

/* Nobody sends us descriptors; what comes all the same is closed. */
static bool read_control(struct msghdr *msg, pid_t *ret_pid)
{
	bool is_clean = (msg->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
	for (struct cmsghdr *head = CMSG_FIRSTHDR(msg); head; head = CMSG_NXTHDR(msg, head)) {
		struct ucred who;
		if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&who, CMSG_DATA(head), sizeof(who));
			*ret_pid = who.pid;
			continue;
		}
		is_clean = false;
		size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count && head->cmsg_type == SCM_RIGHTS; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof(fd));
			(void)close(fd);
		}
	}
	return is_clean;
}

int line_receive(int fd, struct line_word *word)
{
	char text[LINE_TEXT_MAX];
	union {
		char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { .iov_base = text, .iov_len = sizeof(text) };
	struct msghdr msg = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space) };
	pid_t pid = 0;
	*word = (struct line_word){ 0 };
	ssize_t n;
	do {
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	bool is_clean = read_control(&msg, &pid);
	if (n == 0)
		return is_clean ? 0 : -EBADMSG;
	if (!is_clean || line_parse(text, (size_t)n, word) < 0)
		return -EBADMSG;
	word->pid = pid;
	return 1;
}

void line_word_done(struct line_word *word)
{
	json_free(&word->notes);
	*word = (struct line_word){ 0 };
}
