/* SPDX-License-Identifier: Apache-2.0 */
/* The session behind a prompt: how it begins, what is executed in it, what becomes of it. */
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "cli/repl.h"
#include "runtime/runtime.h"

/* ---- the session ------------------------------------------------------------------------------
 */

const char *repl_text(struct json_object *json, const char *key)
{
	struct json_object *value = json_object_object_get(json, key);
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

static void take_info(struct repl *repl, struct json_object *info)
{
	const char *name = repl_text(info, "name");
	const char *language = repl_text(info, "language");
	free(repl->session);
	free(repl->language);
	repl->session = xstrdup(name ? name : "");
	repl->language = xstrdup(language ? language : "");
	repl->number = json_object_get_int64(json_object_object_get(info, "executions")) + 1;
}

static int make(struct repl *repl, const char *name, struct err *err)
{
	auto_json struct json_object *info = NULL;
	struct session_wish wish = { .name = name,
		.idle_s = repl->options.idle_s,
		.lifetime_s = repl->options.lifetime_s,
		.undo = repl->options.undo,
		.interrupt_fd = repl->interrupt_fd };
	if (!name) {
		own_close(&repl->owner_fd);
		wish.ret_owner_fd = &repl->owner_fd;
	}
	if (!repl->options.is_quiet)
		sessions_tell_start();
	TRY(session_new(&repl->spec, &wish, &info, err));
	take_info(repl, info);
	free(repl->made);
	repl->made = xstrdup(repl->session);
	if (!name) {
		free(repl->own);
		repl->own = xstrdup(repl->session);
	}
	return 0;
}

/* -l may be an alias. */
static int check_language(const struct repl *repl, const char *spoken, struct err *err)
{
	struct language language;
	if (!repl->has_language || !spoken)
		return 0;
	TRY(language_load_one(repl->spec.language, &language, err));
	bool is_same = strcmp(language.name, spoken) == 0;
	language_done(&language);
	return is_same ? 0
		       : err_set(err, ERR_INVALID,
				 "--session: '%.64s' speaks %s, not %.32s; without -l it is joined",
				 repl->wanted, spoken, repl->spec.language);
}

/* 1: it is there; 0: there is none of that name. */
static int find(struct repl *repl, const char *name, struct err *err)
{
	auto_json struct json_object *info = NULL;
	auto_json struct json_object *request = sessions_request("info", name);
	if (!sessions_are_served())
		return 0;
	if (session_ask(request, &info, err) < 0)
		return err->code == ERR_MISSING ? 0 : -1;
	TRY(check_language(repl, repl_text(info, "language"), err));
	take_info(repl, info);
	return 1;
}

int repl_begin(struct repl *repl, struct err *err)
{
	if (!repl->wanted)
		return make(repl, NULL, err);
	if (sessions_check_name(repl->wanted, err) < 0)
		return err_wrap(err, "--session");
	int found = find(repl, repl->wanted, err);
	if (found != 0)
		return found < 0 ? -1 : 0;
	return make(repl, repl->wanted, err);
}

static void kill_session(const char *session)
{
	struct err err = { 0 };
	auto_json struct json_object *answer = NULL;
	(void)sessions_ask(sessions_request("kill", session), &answer, &err);
}

void repl_end(struct repl *repl)
{
	if (repl->own)
		kill_session(repl->own);
	own_close(&repl->owner_fd);
}

static bool is_name(const char *name, const struct repl *repl)
{
	return name && strcmp(name, repl->session) == 0;
}

bool repl_is_own(const struct repl *repl)
{
	return is_name(repl->own, repl);
}

int repl_begin_anew(struct repl *repl, struct err *err)
{
	auto_free char *name = repl_is_own(repl) ? NULL : xstrdup(repl->session);
	if (!is_name(repl->made, repl))
		return err_set(err, ERR_INVALID,
			"session '%.64s' was made elsewhere; hotcell session kill and session new "
			"make it anew",
			repl->session);
	kill_session(repl->session);
	return make(repl, name, err);
}

int repl_switch(struct repl *repl, const char *session, struct err *err)
{
	auto_json struct json_object *info = NULL;
	TRY(sessions_ask(sessions_request("info", session), &info, err));
	const char *language = repl_text(info, "language");
	if (language && strcmp(language, repl->language) != 0)
		return err_set(err, ERR_INVALID,
			"session '%.64s' speaks %s; hotcell repl --session %.64s goes there",
			session, language, session);
	take_info(repl, info);
	return 0;
}

void repl_go_back(struct repl *repl, struct json_object *answer)
{
	struct json_object *point = json_object_object_get(answer, "point");
	repl->number = json_object_get_int64(json_object_object_get(point, "execution")) + 1;
}

bool repl_question(struct repl *repl, const char *kind, struct json_object *request,
	struct json_object **ret_answer)
{
	struct err err = { 0 };
	auto_json struct json_object *whole = json_object_new_object();
	(void)json_object_object_add(whole, kind, request);
	return session_question(repl->session, whole, ret_answer, &err) == 0;
}

/* ---- executing --------------------------------------------------------------------------------
 */

/* What ended the execution: Ctrl-C is for the code, other signals are for us. */
static void read_signals(struct repl *repl)
{
	struct signalfd_siginfo info;
	while (read(repl->interrupt_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		repl->is_leaving |= info.ssi_signo != SIGINT;
}

static void end_line(struct repl *repl, struct rendering *rendering)
{
	if (rendering->show.is_midline && repl->term.is_terminal)
		(void)io_write(repl->term.fd, "\n", 1);
	rendering->show.is_midline = false;
}

/* Lines of the question before its last one are output. */
static char *answer_input(void *context, const char *prompt, bool is_secret)
{
	struct repl *repl = context;
	char *text = NULL;
	progress_erase(&repl->rendering->progress);
	end_line(repl, repl->rendering);
	const char *last = strrchr(prompt, '\n');
	if (last)
		cli_print(stdout, prompt, (size_t)(last - prompt) + 1);
	(void)fflush(stdout);
	if (editor_ask(&repl->editor, last ? last + 1 : prompt, is_secret, &text) == EDITOR_CANCEL)
		(void)raise(SIGINT); /* for the code, as anywhere else */
	return text;
}

/* A session that died with its code is made again, where we can, and that is said. */
static void look_after(struct repl *repl)
{
	struct err err = { 0 };
	auto_json struct json_object *info = NULL;
	if (sessions_ask(sessions_request("info", repl->session), &info, &err) == 0 &&
		!repl_text(info, "died"))
		return;
	bool can_begin_anew = is_name(repl->made, repl);
	if (can_begin_anew && repl_begin_anew(repl, &err) == 0) {
		(void)fprintf(stderr,
			"hotcell: the session ended with it; a new one begins, with nothing of the "
			"old\n");
		return;
	}
	if (can_begin_anew)
		(void)cli_fail(&err);
	else
		(void)fprintf(stderr, "hotcell: session '%s' has ended\n", repl->session);
	repl->is_leaving = repl->has_ended = true;
}

static void keep_last(struct repl *repl, const char *code, size_t len, const struct result *result)
{
	char *copy = xstrndup(code, len);
	free(repl->last_code);
	repl->last_code = copy;
	repl->last_status = result->status;
	repl->last_wall_us = result->usage.wall_us;
}

static bool may_have_ended_it(enum run_status status)
{
	return status != STATUS_OK && status != STATUS_ERROR;
}

enum run_status repl_execute(struct repl *repl, const char *code, size_t len)
{
	struct err err = { 0 };
	struct result result;
	struct rendering rendering;
	struct spec spec;
	struct session_turn turn = { .session = repl->session,
		.code = code,
		.code_len = len,
		/* who works on a project changes its files while he tries them */
		.reloads = repl->spec.ro.count + repl->spec.rw.count > 0,
		.interrupt_fd = repl->interrupt_fd,
		.input = answer_input,
		.context = repl,
		.spec = &spec };
	spec_init(&spec);
	spec_take_record(&spec, &repl->spec);
	result_init(&result);
	render_begin(&rendering, &repl->manner, &result, repl->interrupt_fd, &turn.outlet);
	rendering.show.out.is_rich = true; /* values are what a prompt is for */
	repl->rendering = &rendering;
	int r = session_exec(&turn, &result, &err);
	read_signals(repl);
	render_end(&rendering);
	repl->rendering = NULL;
	enum run_status status = r < 0 ? STATUS_SETUP_ERROR : result.status;
	repl->has_failed |= status != STATUS_OK;
	if (result.execution_count > 0)
		repl->number = result.execution_count;
	rendering.show.number = repl->number;
	if (r < 0)
		(void)cli_fail(&err);
	else
		(void)render_result(&rendering, &result, &spec, true);
	end_line(repl, &rendering);
	keep_last(repl, code, len, &result);
	repl->number += r == 0;
	if (may_have_ended_it(status))
		look_after(repl);
	result_done(&result);
	spec_done(&spec);
	return status;
}
