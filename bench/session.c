/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done with a session: each contender has one of its own, with state and files, and before
 * each run its state is changed. Only the run itself is timed.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "bench.h"
#include "session/session.h"
#include "wire/json.h"

#define MEMORY "2g"
#define PIDS "400"
#define FIRST "first"

/* Somebody thinks between two requests, if only for a moment. */
enum { THINKING_NS = 10000000 };

static void think(void)
{
	const struct timespec pause = { .tv_nsec = THINKING_NS };
	(void)nanosleep(&pause, NULL);
}

static int execute(const struct contender *contender, const char *code, struct err *err)
{
	const struct session_turn turn = { .session = contender->session,
		.code = code,
		.code_len = strlen(code),
		.outlet = { .fds = { -1, -1 } },
		.interrupt_fd = -1 };
	struct result result;
	result_init(&result);
	int r = session_exec(&turn, &result, err);
	if (r == 0)
		r = contender_check(&result, err);
	result_done(&result);
	return r;
}

/* `key` and `value` are what the verb needs besides; NULL: nothing. */
static int ask(const struct contender *contender, const char *verb, const char *key,
	struct json_object *value, struct json_object **ret_answer, struct err *err)
{
	auto_json struct json_object *request = json_object_new_object();
	json_put(request, "verb", json_new_string(verb));
	json_put(request, "session", json_new_string(contender->session));
	if (key)
		json_put(request, key, value);
	return session_ask(request, ret_answer, err);
}

static int do_verb(const struct contender *contender, const char *verb, const char *key,
	const char *value, struct err *err)
{
	auto_json struct json_object *answer = NULL;
	return ask(contender, verb, key, value ? json_new_string(value) : NULL, &answer, err);
}

static int make_session(struct contender *contender, struct err *err)
{
	const struct session_wish wish = { .interrupt_fd = -1 };
	auto_json struct json_object *info = NULL;
	TRY(spec_set(&contender->spec, spec_field("language"), contender->words[0], err));
	TRY(spec_set(&contender->spec, spec_field("memory"), MEMORY, err));
	TRY(spec_set(&contender->spec, spec_field("pids"), PIDS, err));
	TRY(session_new(&contender->spec, &wish, &info, err));
	const char *name = json_object_get_string(json_object_object_get(info, "name"));
	contender->session = xstrdup(name ? name : "");
	return execute(contender, contender->words[1], err);
}

int session_open(struct contender *contender, struct err *err)
{
	if (!contender->lender)
		return err_set(err, ERR_INVALID, "plan: '%s' has no lender", contender->name);
	TRY(make_session(contender, err));
	return do_verb(contender, "checkpoint", "point", FIRST, err);
}

void session_close(struct contender *contender)
{
	struct err err = { 0 };
	if (contender->session)
		(void)do_verb(contender, "kill", NULL, NULL, &err);
	free(take_ptr(&contender->session));
}

int session_run_exec(struct bench *bench, struct contender *contender, struct sample *ret_sample,
	struct err *err)
{
	(void)bench;
	int64_t began = clock_us();
	int r = execute(contender, contender->words[2], err);
	ret_sample->us = clock_us() - began;
	think(); /* and what the session makes ahead meanwhile disturbs nobody's time */
	return r;
}

int session_run_checkpoint(struct bench *bench, struct contender *contender,
	struct sample *ret_sample, struct err *err)
{
	(void)bench;
	TRY(execute(contender, contender->words[2], err));
	think();
	int64_t began = clock_us();
	int r = do_verb(contender, "checkpoint", NULL, NULL, err);
	ret_sample->us = clock_us() - began;
	think(); /* and what the session makes ahead meanwhile disturbs nobody's time */
	return r;
}

int session_run_rollback(struct bench *bench, struct contender *contender,
	struct sample *ret_sample, struct err *err)
{
	(void)bench;
	TRY(execute(contender, contender->words[2], err));
	think();
	int64_t began = clock_us();
	int r = do_verb(contender, "rollback", "point", FIRST, err);
	if (r == 0)
		r = execute(contender, contender->words[2], err);
	ret_sample->us = clock_us() - began;
	think(); /* and what the session makes ahead meanwhile disturbs nobody's time */
	return r;
}

int session_run_branch(struct bench *bench, struct contender *contender, struct sample *ret_sample,
	struct err *err)
{
	auto_json struct json_object *answer = NULL;
	(void)bench;
	TRY(execute(contender, contender->words[2], err));
	think();
	int64_t began = clock_us();
	TRY(ask(contender, "fork", NULL, NULL, &answer, err));
	ret_sample->us = clock_us() - began;
	struct json_object *info = json_object_object_get(answer, "session");
	const char *name = json_object_get_string(json_object_object_get(info, "name"));
	struct contender branch = { .session = xstrdup(name ? name : "") };
	int r = do_verb(&branch, "kill", NULL, NULL, err);
	free(branch.session);
	think();
	return r;
}

/* Each time from a copy of the copy before. */
int session_run_generation(struct bench *bench, struct contender *contender,
	struct sample *ret_sample, struct err *err)
{
	auto_json struct json_object *made = NULL;
	auto_json struct json_object *gone = NULL;
	(void)bench;
	TRY(ask(contender, "checkpoint", NULL, NULL, &made, err));
	struct json_object *point = json_object_object_get(made, "point");
	struct json_object *id = json_object_get(json_object_object_get(point, "id"));
	think();
	int64_t began = clock_us();
	TRY(ask(contender, "rollback", "point", id, &gone, err));
	int r = execute(contender, contender->words[2], err);
	ret_sample->us = clock_us() - began;
	think(); /* and what the session makes ahead meanwhile disturbs nobody's time */
	return r;
}
