/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child that is an interactive shell. Its stdin is a pipe of commands; the code of a turn is an
 * `eval` in it, whose stdin is the turn's. So it runs as at a prompt: in the shell itself, with its
 * variables, jobs and options, and what sends a prompt's user back to the prompt (a syntax error,
 * an interrupt, ${x?}) ends the turn. The shell reports (report.h) through a pipe that it opens by
 * the relay's /proc, so that none of its children inherits anything of ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/io.h"
#include "base/own.h"
#include "relay/dialect.h"
#include "relay/processes.h"
#include "relay/report.h"
#include "relay/start.h"
#include "relay/talk.h"
#include "wire/json.h"
#include "wire/utf8.h"

enum {
	CODE_MAX = 4 * RELAY_FRAME_MAX + 4096,
	ANSWER_MAX = 256 << 10,
	MATCHES_MAX = 500,
	LATE_TICKS = 100, /* a second */
};

enum question {
	QUESTION_NONE = 0, /* nothing was asked, or code runs */
	QUESTION_COMPLETE,
	QUESTION_INSPECT,
	QUESTION_NAMES,
};

struct shell {
	const struct dialect *dialect;
	int commands;      /* owned; the shell's stdin */
	struct buf script; /* for it, not written yet */
	int report_read;   /* owned */
	int report_write;  /* owned; opened by the shell, never written to here */
	struct report_reader reader;
	bool is_running;
	int status; /* what $? is for the next turn */
	char flags[REPORT_FLAGS_MAX];
	bool has_errexit; /* the code speaks of it */
	bool may_trap; /* code of this or an earlier turn does: programs may follow an interrupt */
	int exit_code;
	bool is_held;        /* the code has ended, but not all that it started */
	int64_t began;       /* the turn, */
	int64_t interrupted; /* and its interrupt; in ticks since boot */

	enum question question;
	int answer_fd;      /* owned; a file in memory */
	int64_t start, end; /* of the word, in characters */
	char before[3];     /* what stands before a variable: $ or ${ */
};

/* ---- lines for the shell ------------------------------------------------------------------------
 */

static void feed_end(struct relay *relay)
{
	struct shell *shell = relay->state;
	(void)buf_printf(&shell->script, "{ __hotcell_end %lld $? $-; set +x; } 2>/dev/null\n",
		(long long)relay->turn.number);
}

static int open_shell(struct relay *relay, int *ret_stdin, int *ret_frames, int *ret_alarm)
{
	int commands[2], report[2];
	struct shell *shell = xcalloc(1, sizeof(*shell));
	*ret_frames = *ret_alarm = -1;
	shell->answer_fd = -1;
	shell->dialect = dialect_find(relay->program);
	if (!shell->dialect) {
		errno = ENOTSUP;
		return -1;
	}
	if (pipe2(commands, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0)
		return -1;
	*ret_stdin = commands[0];
	shell->commands = commands[1];
	shell->report_read = report[0];
	shell->report_write = report[1];
	(void)fcntl(shell->commands, F_SETFL, O_NONBLOCK);
	(void)fcntl(shell->report_read, F_SETFL, O_NONBLOCK);
	buf_init(&shell->script, CODE_MAX);
	relay->state = shell;
	return 0;
}

static void begin_shell(struct relay *relay)
{
	struct shell *shell = relay->state;
	shell->is_running = shell->is_held = false;
	shell->began = processes_now();
	shell->question = QUESTION_NONE;
	shell->reader.len = 0;
	if (relay->turn.number > 0)
		return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)buf_printf(&shell->script, shell->dialect->init, (int)getpid(), shell->report_write);
#pragma GCC diagnostic pop
	feed_end(relay);
}

/* ---- requests -----------------------------------------------------------------------------------
 */

static const char *text_of(struct json_object *object, const char *name)
{
	struct json_object *value = json_object_object_get(object, name);
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* What was on is on again for the code, and never for our own lines. */
static const char *prefix_of(const struct shell *shell)
{
	return strchr(shell->flags, 'x') ? "set -x; " : "";
}

/* NAME=VALUE; anything else would be code. */
static bool is_setting(const char *text)
{
	size_t len =
		strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
	return len > 0 && (text[0] < '0' || text[0] > '9') && text[len] == '=';
}

static void export_all(struct shell *shell, struct json_object *list)
{
	size_t count =
		json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	for (size_t i = 0; i < count; i++) {
		const char *item = json_object_get_string(json_object_array_get_idx(list, i));
		if (!item || !is_setting(item))
			continue;
		size_t name_len = strcspn(item, "=") + 1;
		(void)buf_printf(&shell->script, "export %.*s", (int)name_len, item);
		dialect_quote(
			shell->dialect, &shell->script, item + name_len, strlen(item + name_len));
		(void)buf_append(&shell->script, "; ", 2);
	}
}

static void execute(struct relay *relay, struct json_object *request)
{
	struct shell *shell = relay->state;
	const char *code = text_of(request, "code");
	/* a backslash at its end must not reach for what follows */
	auto_free char *text = xasprintf("%s%s\n", prefix_of(shell), code);
	relay->executions++;
	shell->has_errexit = strstr(code, "set -e") || strstr(code, "errexit");
	shell->may_trap |= strstr(code, "trap") || strstr(code, "TRAP");
	export_all(shell, json_object_object_get(request, "env"));
	(void)buf_printf(&shell->script, "__hotcell_begin %d %s eval ", shell->status,
		shell->status ? "||" : "&&");
	dialect_quote(shell->dialect, &shell->script, text, strlen(text));
	(void)buf_printf(&shell->script, " </proc/%d/fd/%d\n", (int)getpid(), relay->turn.in_read);
}

static void ask(struct relay *relay, enum question question, const char *about, const char *how,
	const char *how_else)
{
	struct shell *shell = relay->state;
	auto_buf struct buf text;
	buf_init(&text, CODE_MAX);
	(void)buf_printf(&text, "__hotcell=");
	dialect_quote(shell->dialect, &text, about, strlen(about));
	(void)buf_printf(&text, "; set +eux; %s; %s", how, how_else ? how_else : ":");
	shell->question = question;
	own_close(&shell->answer_fd);
	shell->answer_fd = memfd_create("answer", MFD_CLOEXEC);
	(void)buf_printf(&shell->script, "__hotcell_begin 0 && ( eval ");
	dialect_quote(shell->dialect, &shell->script, buf_text(&text), text.len);
	(void)buf_printf(&shell->script, " ) >|/proc/%d/fd/%d 2>/dev/null </dev/null\n",
		(int)getpid(), shell->answer_fd);
}

static void complete(struct relay *relay, struct json_object *request)
{
	struct shell *shell = relay->state;
	const struct dialect *dialect = shell->dialect;
	const char *code = text_of(request, "code");
	size_t end = utf8_byte_at(
		code, json_object_get_int64(json_object_object_get(request, "cursor")));
	bool is_command = false, is_cd = false;
	size_t start = dialect_word(code, end, &is_command, &is_cd);
	auto_free char *word = xstrndup(code + start, end - start);
	const char *how = is_cd ? dialect->directories : dialect->files;
	const char *about = word;
	shell->start = utf8_count(code, start);
	shell->end = utf8_count(code, end);
	shell->before[0] = '\0';
	const char *dollar = strrchr(word, '$');
	if (dollar) {
		about = dollar + (dollar[1] == '{' ? 2 : 1);
		(void)snprintf(shell->before, sizeof(shell->before), "%.*s", (int)(about - dollar),
			dollar);
		shell->start += utf8_count(word, (size_t)(dollar - word));
		how = dialect->variables;
	} else if (is_command) {
		how = dialect->commands;
	}
	ask(relay, QUESTION_COMPLETE, about, how, NULL);
}

static void inspect(struct relay *relay, struct json_object *request)
{
	const struct shell *shell = relay->state;
	const char *name = text_of(request, "name");
	bool is_more = json_object_get_int(json_object_object_get(request, "detail")) > 0;
	if (name[0] == '\0') {
		ask(relay, QUESTION_NAMES, "", shell->dialect->names, NULL);
		return;
	}
	ask(relay, QUESTION_INSPECT, name[0] == '$' ? name + 1 : name, shell->dialect->about,
		is_more ? shell->dialect->manual : NULL);
}

/* A backslash, a pipe or && before the end of the text joins it with a line to come. */
static bool ends_open(const char *code)
{
	size_t len = strlen(code);
	size_t count = 0;
	while (len > 0 && strchr(" \t\n", code[len - 1]))
		len--;
	while (count < len && code[len - 1 - count] == '\\')
		count++;
	return count % 2 == 1 || (len > 0 && code[len - 1] == '|') ||
	       (len > 1 && code[len - 1] == '&' && code[len - 2] == '&');
}

/* Whether the shell takes it for whole; what it says otherwise. */
static bool is_whole(const struct dialect *dialect, int fd, struct buf *said)
{
	char path[64];
	char *argv[COUNT_OF(dialect->check) + 2] = { 0 };
	size_t count = 0;
	for (; count < COUNT_OF(dialect->check) && dialect->check[count]; count++)
		argv[count] = (char *)dialect->check[count];
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	argv[count] = path;
	return start_check(argv, said) <= 0;
}

/*
 * A line that is wrong wherever a command may stand tells what the code before it is: when the
 * shell complains of the same as without it, that is what is wrong; when it takes it, the code
 * ended in something that is still open, as a here-document.
 */
static const char *state_of(const struct dialect *dialect, const char *code)
{
	static const char wrong[] = "\n)\n";
	auto_fd int fd = memfd_create("code", MFD_CLOEXEC);
	auto_buf struct buf said, said_more;
	buf_init(&said, ANSWER_MAX);
	buf_init(&said_more, ANSWER_MAX);
	if (ends_open(code))
		return "incomplete";
	if (fd < 0 || io_write(fd, code, strlen(code)) < 0)
		return "complete"; /* the shell itself will say */
	bool is_good = is_whole(dialect, fd, &said);
	if (is_good && !strstr(code, "<<"))
		return "complete";
	if (strstr(buf_text(&said), dialect->open))
		return "incomplete";
	(void)io_write(fd, wrong, strlen(wrong));
	bool is_more_good = is_whole(dialect, fd, &said_more);
	if (is_good)
		return is_more_good ? "incomplete" : "complete";
	return strcmp(buf_text(&said), buf_text(&said_more)) == 0 ? "invalid" : "incomplete";
}

static void tell_state(struct relay *relay, struct json_object *request)
{
	const struct shell *shell = relay->state;
	const char *state = state_of(shell->dialect, text_of(request, "code"));
	struct json_object *json = json_object_new_object();
	json_put(json, "event", json_new_string("completeness"));
	json_put(json, "state", json_new_string(state));
	json_put(json, "indent", json_new_string(strcmp(state, "incomplete") == 0 ? "    " : ""));
	relay_answer(relay, json);
	relay_answer_done(relay, 0);
	relay_end_turn(relay);
}

/* clang-format off */
static const struct { const char *name; void (*serve)(struct relay *, struct json_object *); } requests[] = {
	{ "execute", execute },
	{ "complete", complete },
	{ "inspect", inspect },
	{ "is_complete", tell_state },
};
/* clang-format on */

/* One request a turn; an answer to a question that a shell never asks is not for us. */
static void take_request(struct relay *relay, const char *data, size_t len)
{
	struct shell *shell = relay->state;
	auto_json struct json_object *json = NULL;
	struct err err = { 0 };
	if (shell->script.len > 0 || shell->is_running || shell->question != QUESTION_NONE)
		return;
	if (json_read(data, len, RELAY_FRAME_MAX, RELAY_FRAME_DEPTH, &json, &err) == 0) {
		for (size_t i = 0; i < COUNT_OF(requests); i++) {
			struct json_object *value = json_object_object_get(json, requests[i].name);
			if (value) {
				requests[i].serve(relay, value);
				return;
			}
		}
	}
	relay_answer_done(relay, 1);
	relay_end_turn(relay);
}

/* ---- answers ------------------------------------------------------------------------------------
 */

static struct json_object *list_matches(const struct shell *shell, char *text)
{
	struct json_object *list = json_object_new_array();
	size_t count = 0;
	char *rest = text;
	for (char *line = strsep(&rest, "\n"); line && count < MATCHES_MAX;
		line = strsep(&rest, "\n")) {
		if (line[0] == '\0' || strncmp(line, "__hotcell", 9) == 0)
			continue;
		auto_free char *match = xasprintf(
			"%s%s%s", shell->before, line, strcmp(shell->before, "${") == 0 ? "}" : "");
		bool is_known = false;
		for (size_t i = 0; i < count && !is_known; i++)
			is_known = strcmp(match, json_object_get_string(
							 json_object_array_get_idx(list, i))) == 0;
		if (is_known)
			continue;
		(void)json_object_array_add(list, json_new_string(match));
		count++;
	}
	return list;
}

static void answer_question(struct relay *relay)
{
	struct shell *shell = relay->state;
	struct json_object *json = json_object_new_object();
	auto_free char *text = xcalloc(1, ANSWER_MAX + 1);
	ssize_t len = pread(shell->answer_fd, text, ANSWER_MAX, 0);
	text[len > 0 ? len : 0] = '\0';
	own_close(&shell->answer_fd);
	if (shell->question == QUESTION_COMPLETE) {
		json_put(json, "event", json_new_string("completions"));
		json_put(json, "matches", list_matches(shell, text));
		json_put(json, "start", json_object_new_int64(shell->start));
		json_put(json, "end", json_object_new_int64(shell->end));
	} else {
		const char *none = shell->question == QUESTION_NAMES ? "no names yet" : NULL;
		json_put(json, "event", json_new_string("inspection"));
		json_put(json, "text",
			len > 0 ? json_new_text(text, (size_t)len) : json_new_string(none));
	}
	relay_answer(relay, json);
}

static void end_execution(struct relay *relay)
{
	struct shell *shell = relay->state;
	shell->is_running = shell->is_held = false;
	relay_owe(relay);
	if (shell->question != QUESTION_NONE) {
		answer_question(relay);
		shell->exit_code = 0;
	} else {
		shell->status = shell->exit_code;
	}
	relay_answer_done(relay, shell->exit_code);
	relay_end_turn(relay);
}

/* ---- interrupts ---------------------------------------------------------------------------------
 */

static bool ready_shell(struct relay *relay)
{
	const struct shell *shell = relay->state;
	return shell->is_running;
}

/* What runs in the background since an earlier turn is spared, as by a terminal. */
static void interrupt_one(void *context, const struct process *process)
{
	const struct relay *relay = context;
	const struct shell *shell = relay->state;
	bool is_leader = process->group == process->pid; /* of a job, after set -m */
	if (process->pid != relay->pid && process->started >= shell->began)
		(void)kill(is_leader ? -process->pid : process->pid, SIGINT);
}

/* The interrupt may come while the shell reads one of our own lines, and cost that line: the one
 * that reports the end is said once more. */
static void interrupt_shell(struct relay *relay)
{
	struct shell *shell = relay->state;
	feed_end(relay);
	shell->interrupted = processes_now();
	(void)kill(relay->pid, SIGINT);
	processes_each(relay->pid, interrupt_one, relay);
}

/*
 * A program that the shell is about to start when the interrupt comes is not there yet, and the
 * shell may wait for it nevertheless, even back at its prompt. Such a one lives although a SIGINT
 * would have ended it. While it is still a copy of the shell it cannot be told from a program that
 * has something to do first.
 */
struct search {
	const struct relay *relay;
	bool is_back; /* the shell is, so none of its children runs in the foreground */
	bool has_found;
};

static void find_missed(void *context, const struct process *process)
{
	struct search *search = context;
	const struct relay *relay = search->relay;
	const struct shell *shell = relay->state;
	if (process->parent != relay->pid || process->started < shell->began ||
		process->ignores_interrupt)
		return;
	/* on a busy machine the shell may start it long after; but a trap's is not to be stopped */
	int64_t latest = shell->interrupted + (shell->may_trap ? 1 : LATE_TICKS);
	if (!search->is_back && process->started > latest)
		return;
	search->has_found = true;
	if (!process->catches_interrupt)
		(void)kill(process->pid, SIGINT);
}

static bool is_settled(struct relay *relay)
{
	const struct shell *shell = relay->state;
	struct search search = { .relay = relay, .is_back = shell->is_held };
	processes_each(relay->pid, find_missed, &search);
	return !search.has_found;
}

static void insist_shell(struct relay *relay, bool is_last)
{
	const struct shell *shell = relay->state;
	bool is_over = is_settled(relay) || is_last;
	if (shell->is_held && is_over)
		end_execution(relay);
}

/* ---- the shell's reports ------------------------------------------------------------------------
 */

static void hear_begin(struct relay *relay)
{
	struct shell *shell = relay->state;
	/* its end is told by a line of its own, read only when the code is done; twice, in case
	 * that the code has left the shell in the middle of something */
	if (!shell->is_running) {
		feed_end(relay);
		feed_end(relay);
	}
	shell->is_running = true;
}

static void hear_end(struct relay *relay, const struct report_end *end)
{
	struct shell *shell = relay->state;
	if (relay->turn.is_ending || shell->is_held || end->turn != relay->turn.number)
		return; /* of a turn that is over, or not the shell's */
	memcpy(shell->flags, end->flags, sizeof(shell->flags));
	shell->exit_code = end->status;
	shell->is_held = true;
	if (!relay->turn.is_interrupted || is_settled(relay))
		end_execution(relay);
}

static void hear_report(struct relay *relay)
{
	struct shell *shell = relay->state;
	struct report_end end;
	char part[512];
	ssize_t n = read(shell->report_read, part, sizeof(part));
	for (ssize_t i = 0; i < n; i++) {
		enum report_kind kind = report_take(&shell->reader, part[i], &end);
		if (kind == REPORT_BEGUN)
			hear_begin(relay);
		else if (kind == REPORT_ENDED)
			hear_end(relay, &end);
	}
}

static size_t watch_shell(struct relay *relay, struct pollfd *fds)
{
	const struct shell *shell = relay->state;
	fds[0] = (struct pollfd){ .fd = shell->report_read, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = shell->script.len ? shell->commands : -1,
		.events = POLLOUT };
	return 2;
}

static void wake_shell(struct relay *relay, const struct pollfd *fds, size_t count)
{
	struct shell *shell = relay->state;
	(void)count;
	if (shell->script.len > 0) {
		ssize_t n = write(shell->commands, shell->script.data, shell->script.len);
		if (n > 0) {
			shell->script.len -= (size_t)n;
			memmove(shell->script.data, shell->script.data + n, shell->script.len);
		}
	}
	if (fds[0].revents)
		hear_report(relay);
}

static const char *explain_shell(struct relay *relay, bool is_signal)
{
	const struct shell *shell = relay->state;
	if (!is_signal && shell->is_running && (shell->has_errexit || strchr(shell->flags, 'e')))
		return "with 'set -e' a command that fails ends the shell, and the session";
	return NULL;
}

const struct talk talk_shell = {
	.open = open_shell,
	.begin = begin_shell,
	.take = take_request,
	.watch = watch_shell,
	.wake = wake_shell,
	.ready = ready_shell,
	.interrupt = interrupt_shell,
	.insist = insist_shell,
	.explain = explain_shell,
};
