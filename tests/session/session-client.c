/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of sessions for tests: the room behind session/session.h, without a command line around.
 *
 *   session-client new NAME [FIELD=VALUE…]     a spec's fields, and idle, lifetime, undo
 *   session-client exec NAME CODE [wait] [timeout=MS] [input=LINE] [stdin=PATH]
 *   session-client ask JSON                    a control verb
 *   session-client question NAME JSON
 *   session-client time NAME COUNT CODE        the median of so many turns, in microseconds
 *
 * Prints JSON. Exit status 1: refused, and why is on stderr.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/clock.h"
#include "base/own.h"
#include "session/session.h"
#include "wire/json.h"

static int fail(const struct err *err)
{
	(void)fprintf(stderr, "%d %s\n", err->code, err->text);
	return 1;
}

static int tell(struct json_object *json)
{
	auto_free char *text = json_print(json, false);
	(void)printf("%s\n", text);
	(void)json_object_put(json);
	return 0;
}

/* The value of "key=value", NULL when it is another. */
static const char *value_of(const char *word, const char *key)
{
	size_t len = strlen(key);
	return strncmp(word, key, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

static int owner_fd = -1; /* of a session that ends with us */

static int set_wish(struct spec *spec, struct session_wish *wish, const char *word, struct err *err)
{
	auto_free char *key = xstrndup(word, strcspn(word, "="));
	const char *value = word + strlen(key) + (word[strlen(key)] == '=');
	const struct field *field = spec_field(key);
	if (strcmp(key, "idle") == 0)
		wish->idle_s = atoi(value);
	else if (strcmp(key, "lifetime") == 0)
		wish->lifetime_s = atoi(value);
	else if (strcmp(key, "undo") == 0)
		wish->undo = atoi(value);
	else if (strcmp(key, "owned") == 0)
		wish->ret_owner_fd = &owner_fd;
	else if (!field)
		return err_set(err, ERR_INVALID, "no field '%s'", key);
	else
		return spec_set(spec, field, value, err);
	return 0;
}

static int new_session(int argc, char **argv)
{
	struct err err = { 0 };
	struct spec spec;
	struct json_object *info = NULL;
	struct session_wish wish = { .name = argv[0][0] ? argv[0] : NULL, .interrupt_fd = -1 };
	spec_init(&spec);
	int r = 0;
	for (int i = 1; i < argc && r == 0; i++)
		r = set_wish(&spec, &wish, argv[i], &err);
	if (r == 0)
		r = session_new(&spec, &wish, &info, &err);
	spec_done(&spec);
	return r < 0 ? fail(&err) : tell(info);
}

/* A session that ends with us, and we with our input. */
static int own_session(int argc, char **argv)
{
	char byte = 0;
	int r = new_session(argc, argv);
	(void)fflush(stdout);
	while (r == 0 && read(STDIN_FILENO, &byte, 1) > 0)
		;
	return r;
}

static char *give_input(void *context, const char *prompt, bool is_secret)
{
	(void)fprintf(stderr, "asked for '%s'%s\n", prompt, is_secret ? " in secret" : "");
	return context ? xstrdup(context) : NULL;
}

static int open_interrupts(void)
{
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int execute(int argc, char **argv)
{
	struct err err = { 0 };
	struct spec spec;
	struct result result;
	struct session_turn turn = { .session = argv[0],
		.code = argv[1],
		.code_len = strlen(argv[1]),
		.outlet = { .fds = { -1, -1 } },
		.interrupt_fd = open_interrupts(),
		.spec = &spec };
	for (int i = 2; i < argc; i++) {
		const char *timeout = value_of(argv[i], "timeout");
		const char *input = value_of(argv[i], "input");
		turn.waits |= strcmp(argv[i], "wait") == 0;
		if (timeout)
			turn.timeout_ms = atoi(timeout);
		if (input) {
			turn.input = give_input;
			turn.context = input[0] ? (char *)input : NULL;
		}
		if (value_of(argv[i], "stdin"))
			turn.stdin_path = value_of(argv[i], "stdin");
	}
	spec_init(&spec);
	result_init(&result);
	int r = session_exec(&turn, &result, &err);
	if (r < 0)
		(void)fail(&err);
	auto_free char *text = result_to_json(&result, &spec, false);
	(void)printf("%s\n", text);
	result_done(&result);
	spec_done(&spec);
	return r < 0;
}

static int ask(const char *session, const char *text)
{
	struct err err = { 0 };
	struct json_object *answer = NULL;
	auto_json struct json_object *request = json_tokener_parse(text);
	if (!request)
		return 2;
	int r = session ? session_question(session, request, &answer, &err)
			: session_ask(request, &answer, &err);
	return r < 0 ? fail(&err) : tell(answer);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static int time_turns(const char *session, const char *number, const char *code)
{
	size_t count = strtoul(number, NULL, 10);
	auto_free int64_t *times = xcalloc(count + 1, sizeof(*times));
	const struct session_turn turn = { .session = session,
		.code = code,
		.code_len = strlen(code),
		.outlet = { .fds = { -1, -1 } },
		.interrupt_fd = -1 };
	for (size_t i = 0; i < count; i++) {
		struct err err = { 0 };
		struct result result;
		result_init(&result);
		int64_t before_us = clock_us();
		int r = session_exec(&turn, &result, &err);
		times[i] = clock_us() - before_us;
		result_done(&result);
		if (r < 0)
			return fail(&err);
	}
	qsort(times, count, sizeof(*times), compare);
	(void)printf("%lld\n", (long long)times[count / 2]);
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 2 ? argv[1] : "";
	if (strcmp(verb, "new") == 0)
		return new_session(argc - 2, argv + 2);
	if (strcmp(verb, "own") == 0)
		return own_session(argc - 2, argv + 2);
	if (strcmp(verb, "exec") == 0 && argc > 3)
		return execute(argc - 2, argv + 2);
	if (strcmp(verb, "ask") == 0)
		return ask(NULL, argv[2]);
	if (strcmp(verb, "question") == 0 && argc > 3)
		return ask(argv[2], argv[3]);
	if (strcmp(verb, "time") == 0 && argc > 4)
		return time_turns(argv[2], argv[3], argv[4]);
	return 2;
}
