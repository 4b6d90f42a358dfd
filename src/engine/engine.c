/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "engine/compile.h"
#include "engine/explain.h"
#include "engine/memory.h"
#include "engine/python.h"
#include "engine/stand.h"
#include "model/units.h"
#include "provider/provider.h"
#include "store/store.h"

/* What a spec turns into on its way to a task. */
struct making {
	const struct language *language; /* what was loaded, or what is remembered */
	struct language loaded;
	struct strings argv;
	struct buf code;
	bool has_code; /* it was read */
	char *program; /* owned */
	char *file;    /* owned; the program as an argument */
	char *runtime; /* owned; shown at RUNTIME_DIR, or NULL */
	int build_fd;  /* owned; what the compiler made, or -1 */
	struct stand stand;
	struct strings own_argv;   /* the part of argv that is the code's */
	struct audit_draft *draft; /* owned; of the record, or NULL */
};

static int load_language(const struct spec *spec, struct language *language, struct err *err)
{
	bool is_there = false;
	if (spec->language)
		return language_load_one(spec->language, language, err);
	if (spec->file && strcmp(spec->file, "-") != 0)
		TRY(language_load_for_file(spec->file, language, &is_there, err));
	return is_there ? 0 : language_load_one("python", language, err);
}

/* Reading a definition takes longer than a cell that stands ready takes to answer: who stays need
 * not read it each time. One that is asked to differ is not remembered. */
static int choose_language(const struct spec *spec, const struct engine_wishes *wishes,
	struct making *making, struct err *err)
{
	if (wishes->memory && spec->language && !spec->python)
		return memory_language(wishes->memory, spec->language, &making->language, err);
	return load_language(spec, &making->loaded, err);
}

static int read_code(const struct spec *spec, struct buf *code, struct err *err)
{
	bool is_stdin = spec->file && strcmp(spec->file, "-") == 0;
	buf_init(code, LIMIT_CODE_BYTES);
	if (spec->code) {
		int r = buf_append(code, spec->code, strlen(spec->code));
		return r < 0 ? err_set(err, ERR_LIMIT, "--code: over %d bytes", LIMIT_CODE_BYTES)
			     : 0;
	}
	if (!spec->file)
		return err_set(err, ERR_INVALID, "no code to run");
	auto_fd int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				  : open(spec->file, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : buf_read(code, fd);
	if (r == -ENOSPC)
		return err_set(
			err, ERR_LIMIT, "'%s' is over %d bytes", spec->file, LIMIT_CODE_BYTES);
	return r < 0 ? err_sys(err, -r, "read '%s'", spec->file) : 0;
}

/* The file keeps its own name, so that error messages speak of the file the person knows. */
static void name_program(const struct spec *spec, struct making *making)
{
	const char *name = making->language->program;
	if (spec->file && strcmp(spec->file, "-") != 0) {
		const char *slash = strrchr(spec->file, '/');
		name = slash ? slash + 1 : spec->file;
	}
	making->program = xstrdup(name);
}

/* A file whose name begins with a dash must not be taken for an option. */
static void fill_argv(const struct spec *spec, struct making *making)
{
	const struct language *language = making->language;
	making->file = xasprintf("%s%s", making->program[0] == '-' ? "./" : "", making->program);
	const struct places places = { .file = making->file,
		.runtime = RUNTIME_DIR,
		.prepared = RUNTIME_DIR,
		.binary = BUILD_PATH };
	language_fill(&language->argv, &places, &making->argv);
	strings_add(&making->own_argv, making->file);
	for (size_t i = 0; i < spec->args.count; i++) {
		strings_add(&making->argv, spec->args.items[i]);
		strings_add(&making->own_argv, spec->args.items[i]);
	}
}

/* Whether the code's own cell has to do with what is shown at RUNTIME_DIR. */
static bool runs_runtime(const struct language *language)
{
	return language->has_channel || language_uses(&language->argv, "{runtime}") ||
	       language_uses(&language->argv, "{prepared}");
}

/* What the cell shows at RUNTIME_DIR, when anything. */
static int find_runtime(const struct spec *spec, const struct engine_wishes *wishes,
	struct making *making, struct err *err)
{
	const struct language *language = making->language;
	if (language->prepare.count > 0)
		return prepare(language, spec, wishes->interrupt_fd, &making->runtime, err);
	if (language->dir &&
		(runs_runtime(language) || language_uses(&language->compile, "{runtime}")))
		making->runtime = xstrdup(language->dir);
	return 0;
}

/* What only the compiler needs is not for the code's own cell. */
static void hide_runtime(struct making *making)
{
	if (runs_runtime(making->language))
		return;
	free(making->runtime);
	making->runtime = NULL;
}

static int check_root(const struct spec *spec, struct err *err)
{
	if (strcmp(spec->rootfs, "host") == 0)
		return 0;
	auto_fd int fd = open(spec->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_sys(err, errno, "--rootfs: open '%s'", spec->rootfs) : 0;
}

/* The language of the code, and what is to be had for it here. */
static int make_language(struct spec *spec, const struct engine_wishes *wishes,
	struct making *making, struct result *result, struct err *err)
{
	TRY(choose_language(spec, wishes, making, err));
	(void)snprintf(result->language, sizeof(result->language), "%.31s", making->language->name);
	TRY(set_defaults(spec, making->language, &making->language->defaults, err));
	spec_bound(spec);
	if (making->language == &making->loaded)
		TRY(python_choose(spec, &making->loaded, err));
	const char *missing = memory_missing_program(wishes->memory, making->language, spec);
	if (missing)
		return err_set(err, ERR_MISSING,
			"%s needs %s, which is not in the root file system '%s'; install it with: "
			"apt-get install %s",
			making->language->name, missing, spec->rootfs,
			making->language->package ? making->language->package
						  : making->language->name);
	return 0;
}

static int make_from_language(struct spec *spec, const struct engine_wishes *wishes,
	struct making *making, struct result *result, struct err *err)
{
	TRY(make_language(spec, wishes, making, result, err));
	TRY(read_code(spec, &making->code, err));
	making->has_code = true;
	name_program(spec, making);
	fill_argv(spec, making);
	return 0;
}

static int make_from_exec(struct spec *spec, struct making *making)
{
	spec_bound(spec);
	for (size_t i = 0; i < spec->exec.count; i++)
		strings_add(&making->argv, spec->exec.items[i]);
	return 0;
}

/* What the runner says becomes part of the result, and an event for who follows the run. */
struct hearing {
	struct channel channel;
	struct guard_report *report; /* NULL: none is expected, or it is too late for one */
	const struct outlet *outlet;
	bool has_heard;
};

static bool is_word(const char *data, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(data, word, len) == 0;
}

static struct heard hear(void *context, const char *data, size_t len, struct buf *pending)
{
	struct hearing *hearing = context;
	struct message message = { 0 };
	struct heard heard = { 0 };
	struct err err = { 0 };
	bool is_first = !hearing->has_heard;
	hearing->has_heard = true;
	if (is_first && is_word(data, len, "{\"event\":\"status\",\"state\":\"waiting\"}"))
		return heard; /* it was started only now, or its keeper would have heard that */
	/* what most say last, letter for letter: there is nothing in it to check */
	if (is_word(data, len, "{\"event\":\"done\",\"exit_code\":0}")) {
		hearing->report = NULL;
		return (struct heard){ .is_done = true };
	}
	if (channel_take(&hearing->channel, data, len, &message, &err) < 0)
		return (struct heard){ .is_nonsense = true };
	if (message.kind == MESSAGE_REPORT) {
		if (!hearing->report) { /* only the runner speaks before the code does */
			message_done(&message);
			return (struct heard){ .is_nonsense = true };
		}
		guard_report_take(hearing->report, &message);
	}
	hearing->report = NULL;
	if (message_is_event(&message) && hearing->outlet->announce)
		hearing->outlet->announce(hearing->outlet->context, &message, pending);
	if (message.kind == MESSAGE_REFUSED)
		guard_note_refused(hearing->channel.result, message_refused_module(&message));
	heard.is_done = message.kind == MESSAGE_DONE;
	heard.exit_code = heard.is_done ? message_exit_code(&message) : 0;
	message_done(&message);
	return heard;
}

static bool needs_full_proc(const struct spec *spec, const struct language *language)
{
	return spec->proc == PROC_MASKED || (spec->proc == PROC_AUTO && language->needs_full_proc);
}

static struct engine_code code_of(const struct engine_wishes *wishes, const struct making *making)
{
	return (struct engine_code){ .text = making->has_code ? buf_text(&making->code) : NULL,
		.len = making->has_code ? making->code.len : 0,
		.token = wishes->token,
		.draft = making->draft,
		.memory = memory_audit(wishes->memory) };
}

/* A run that is under way. */
struct waiting {
	const struct spec *spec;
	const struct engine_wishes *wishes;
	struct making *making;
	const struct result *result;
};

static void draft_record(void *context)
{
	const struct waiting *waiting = context;
	struct making *making = waiting->making;
	engine_draft_free(take_ptr(&making->draft)); /* of a cell that died */
	const struct engine_code code = code_of(waiting->wishes, making);
	making->draft = engine_draft_record(waiting->spec, &code, waiting->result);
}

static int run_made(struct spec *spec, const struct engine_wishes *wishes, struct making *making,
	struct result *result, struct report *report, struct engine_rest *rest, struct err *err)
{
	struct guard_report guard = { 0 };
	bool is_guarded = making->language->is_guarded && spec->profile != PROFILE_TRUSTED;
	bool is_told = making->language->is_guarded && !guard_is_default(spec);
	auto_free char *policy = is_told ? guard_policy(spec) : NULL;
	struct hearing hearing = { .channel = { .result = result },
		.report = is_guarded ? &guard : NULL,
		.outlet = &wishes->outlet };
	struct waiting waiting = {
		.spec = spec, .wishes = wishes, .making = making, .result = result
	};
	const struct task task = {
		.spec = spec,
		.argv = &making->argv,
		.own_argv = &making->own_argv,
		.form = making->stand.form,
		.standing = &making->stand.argv,
		.program = making->program,
		.code = buf_text(&making->code),
		.code_len = making->code.len,
		.needs_full_proc = needs_full_proc(spec, making->language),
		.outlet = wishes->outlet,
		.policy = policy,
		.ear = { .hear = making->language->has_channel ? hear : NULL, .context = &hearing },
		.ahead = memory_ahead(wishes->memory),
		.interrupt_fd = wishes->interrupt_fd,
		.build = making->build_fd >= 0 ? &making->build_fd : NULL,
		.meanwhile = draft_record,
		.meanwhile_context = &waiting,
	};
	if (spec->commands.count > 0 && spec->exec.count == 0)
		spec->interpreter = making->argv.items[0];
	TRY(provider_find(spec->provider, &rest->provider, err));
	TRY(rest->provider->open(spec, making->runtime, &rest->handle, err));
	int r = rest->provider->run(rest->handle, &task, result, report, err);
	if (r == 0 && is_guarded)
		guard_apply_run(&guard, spec, result);
	guard_report_done(&guard);
	TRY(r);
	channel_end(&hearing.channel);
	if (result->status == STATUS_OK)
		failure_done(&result->error); /* a runner's word against its own exit status */
	return 0;
}

static struct compiling compiling_of(
	const struct spec *spec, const struct engine_wishes *wishes, const struct making *making)
{
	return (struct compiling){ .spec = spec,
		.language = making->language,
		.runtime = making->runtime,
		.program = making->program,
		.file = making->file,
		.code = buf_text(&making->code),
		.code_len = making->code.len,
		.wishes = wishes };
}

/* Where the runner does not look at the code itself, and the policy can refuse it, it is looked at
 * first. True in *ret_is_over: it must not run. */
static int check_first(struct spec *spec, const struct engine_wishes *wishes,
	const struct making *making, struct result *result, bool *ret_is_over, struct err *err)
{
	struct guard_report guard = { 0 };
	const struct compiling checking = compiling_of(spec, wishes, making);
	if (!guard_is_binding(spec) || making->language->is_guarded)
		return 0;
	if (making->language->check.count == 0) {
		if (spec->profile != PROFILE_STRICT)
			return 0;
		auto_free char *what = xasprintf("%s is not analysed", making->language->title);
		guard_refuse(result, what);
		*ret_is_over = true;
		return 0;
	}
	struct result looked;
	result_init(&looked);
	int r = check(&checking, &guard, &looked, err);
	if (r == 0)
		guard_apply(&guard, spec, result);
	*ret_is_over = result->status == STATUS_REFUSED;
	if (*ret_is_over)
		result_take_cell(result, &looked);
	result_done(&looked);
	guard_report_done(&guard);
	return r;
}

/* Compiles first where the language wants it. True in *ret_is_over: the compiler had the last
 * word. */
static int make_binary(const struct spec *spec, const struct engine_wishes *wishes,
	struct making *making, struct result *result, struct report *report,
	struct engine_rest *rest, bool *ret_is_over, struct err *err)
{
	TRY(find_runtime(spec, wishes, making, err));
	TRY(stand_choose(making->language, spec, making->runtime, buf_text(&making->code),
		making->code.len, &making->stand, err));
	if (making->language->compile.count == 0)
		return 0;
	const struct compiling compiling = compiling_of(spec, wishes, making);
	TRY(compile(&compiling, result, report, &making->build_fd, &rest->fresh, err));
	*ret_is_over = making->build_fd < 0;
	hide_runtime(making);
	return 0;
}

static void explain_made(
	const struct spec *spec, const struct making *making, struct result *result)
{
	const struct analysis_input input = {
		.language = making->language->name,
		.program = making->program ? making->program : "",
		.code = buf_text(&making->code),
		.code_len = making->code.len,
		.spec = spec,
	};
	explain(&input, result);
}

static void making_done(struct making *making)
{
	language_done(&making->loaded);
	strings_done(&making->argv);
	strings_done(&making->own_argv);
	stand_done(&making->stand);
	buf_done(&making->code);
	free(making->program);
	free(making->file);
	free(making->runtime);
	own_close(&making->build_fd);
	engine_draft_free(making->draft);
}

static void tell_failure(struct result *result, const struct err *err)
{
	result->status = err->code == ERR_INTERRUPTED ? STATUS_INTERRUPTED : STATUS_SETUP_ERROR;
	result->exit_code = EXIT_COULD_NOT_RUN;
	result_set_error(result, "setup", "%s", err->text);
}

/* Whatever became of a run, it is recorded before anybody hears of it. */
static int record_made(struct spec *spec, const struct engine_wishes *wishes,
	const struct making *making, struct result *result, struct engine_rest *rest,
	struct err *err)
{
	const struct engine_code code = code_of(wishes, making);
	return engine_record(spec, &code, result, &rest->unrecorded, err);
}

int engine_run(struct spec *spec, const struct engine_wishes *wishes, struct result *result,
	struct report *report, struct engine_rest *rest, struct err *err)
{
	struct making making = { .language = &making.loaded, .build_fd = -1 };
	bool is_over = false;
	bool is_exec = spec->exec.count > 0;
	if (!spec->cold)
		memory_rouse(wishes->memory);
	int r = spec_check(spec, err);
	if (r == 0)
		r = audit_prepare(spec, err);
	bool is_recorded = r == 0; /* settings that make no sense are no run, as a bad option */
	if (r == 0)
		r = check_root(spec, err);
	if (r == 0)
		r = is_exec ? make_from_exec(spec, &making)
			    : make_from_language(spec, wishes, &making, result, err);
	if (r == 0) {
		const struct engine_code code = code_of(wishes, &making);
		r = engine_record_beginning(spec, &code, result, err);
		is_recorded = r == 0; /* one that did not even begin to be is over */
	}
	if (r == 0 && is_exec && spec->profile == PROFILE_STRICT) {
		guard_refuse(result, "a program of the cell is not analysed");
		is_over = true;
	}
	if (r == 0 && !is_exec)
		r = check_first(spec, wishes, &making, result, &is_over, err);
	if (r == 0 && !is_exec && !is_over)
		r = make_binary(spec, wishes, &making, result, report, rest, &is_over, err);
	if (r == 0 && !is_over)
		r = run_made(spec, wishes, &making, result, report, rest, err);
	if (r < 0) {
		tell_failure(result, err);
	} else {
		if (!is_over && result->status != STATUS_REFUSED)
			explain_made(spec, &making, result);
		if (!is_exec && wishes->wants_version)
			(void)engine_version(making.language, spec, result->language_version,
				sizeof(result->language_version));
	}
	if (is_recorded && record_made(spec, wishes, &making, result, rest, err) < 0) {
		tell_failure(result, err);
		r = -1;
	}
	making_done(&making);
	return r;
}

int engine_check(struct spec *spec, int interrupt_fd, struct guard_report *report,
	struct result *result, struct err *err)
{
	const struct engine_wishes wishes = { .interrupt_fd = interrupt_fd,
		.outlet = { .fds = { -1, -1 } } };
	struct making making = { .language = &making.loaded, .build_fd = -1 };
	int r = spec_check(spec, err);
	if (r == 0)
		r = check_root(spec, err);
	if (r == 0)
		r = make_from_language(spec, &wishes, &making, result, err);
	const struct compiling checking = compiling_of(spec, &wishes, &making);
	if (r == 0 && making.language->check.count > 0 && spec->profile != PROFILE_TRUSTED)
		r = check(&checking, report, result, err);
	making_done(&making);
	return r;
}

int engine_policy(struct spec *spec, char **ret_text, struct err *err)
{
	const struct engine_wishes wishes = { .interrupt_fd = -1, .outlet = { .fds = { -1, -1 } } };
	struct making making = { .language = &making.loaded, .build_fd = -1 };
	struct result result;
	result_init(&result);
	int r = make_from_language(spec, &wishes, &making, &result, err);
	if (r == 0)
		r = find_runtime(spec, &wishes, &making, err);
	if (r == 0)
		r = stand_choose(making.language, spec, making.runtime, buf_text(&making.code),
			making.code.len, &making.stand, err);
	hide_runtime(&making);
	if (r == 0) {
		const struct policy policy = { .spec = *spec,
			.runtime = making.runtime,
			.form = making.stand.form,
			.standing = making.stand.argv,
			.has_full_proc = needs_full_proc(spec, making.language) };
		*ret_text = policy_to_json(&policy);
		if (!*ret_text)
			r = err_set(err, ERR_INVALID, "a path of the policy is not UTF-8");
	}
	making_done(&making);
	result_done(&result);
	return r;
}

/* Who looks at the code of a session's turns: its runner, where that does so for runs; else, where
 * the policy can refuse any, whoever takes a turn. */
static int guard_session(const struct spec *spec, const struct language *language,
	struct engine_session *session, struct err *err)
{
	bool has_check = language->check.count > 0;
	if (spec->profile == PROFILE_STRICT && !language->is_guarded && !has_check)
		return err_set(err, ERR_INVALID,
			"--profile strict: %s is not analysed, so there are no such sessions of it",
			language->title);
	session->guard = guard_policy(spec);
	session->is_told = language->is_guarded;
	session->wants_check = !language->is_guarded && has_check && guard_is_binding(spec);
	return 0;
}

/* A guest is a session's as well; a runner that was started to wait for a run is not. */
static int make_session(
	struct spec *spec, struct making *making, struct engine_session *session, struct err *err)
{
	const struct engine_wishes wishes = { .interrupt_fd = -1, .outlet = { .fds = { -1, -1 } } };
	struct result result;
	const struct places places = { .runtime = RUNTIME_DIR };
	const struct language *language = making->language; /* without a memory it stays there */
	result_init(&result);
	int r = make_language(spec, &wishes, making, &result, err);
	result_done(&result);
	TRY(r);
	if (language->session.count == 0)
		return err_set(err, ERR_INVALID,
			"there are no sessions for %s; hotcell run executes it", language->name);
	TRY(guard_session(spec, language, session, err));
	if (language->dir)
		making->runtime = xstrdup(language->dir);
	TRY(stand_choose(language, spec, making->runtime, "", 0, &making->stand, err));
	if (making->stand.form == FORM_STARTED)
		stand_done(&making->stand);
	(void)snprintf(session->language, sizeof(session->language), "%.31s", language->name);
	session->points = language->points ? xstrdup(language->points) : NULL;
	language_fill(&language->session, &places, &session->argv);
	if (spec->commands.count > 0 &&
		strncmp(session->argv.items[0], RUNTIME_DIR, strlen(RUNTIME_DIR)) == 0)
		return err_set(err, ERR_INVALID,
			"--commands: has no meaning for a session of %s, which a program of ours "
			"starts",
			language->name);
	const struct policy policy = { .spec = *spec,
		.runtime = making->runtime,
		.form = making->stand.form,
		.standing = making->stand.argv,
		.interpreter = spec->commands.count > 0 ? session->argv.items[0] : NULL,
		.has_full_proc = needs_full_proc(spec, language) };
	session->policy = policy_to_json(&policy);
	return session->policy ? 0 : err_set(err, ERR_INVALID, "a path of the policy is not UTF-8");
}

int engine_session(struct spec *spec, struct engine_session *ret_session, struct err *err)
{
	struct making making = { .language = &making.loaded, .build_fd = -1 };
	*ret_session = (struct engine_session){ 0 };
	int r = check_root(spec, err);
	if (r == 0)
		r = make_session(spec, &making, ret_session, err);
	making_done(&making);
	if (r < 0)
		engine_session_done(ret_session);
	return r;
}

void engine_session_done(struct engine_session *session)
{
	free(session->policy);
	free(session->points);
	free(session->guard);
	strings_done(&session->argv);
	*session = (struct engine_session){ 0 };
}

void engine_explain(const struct spec *spec, const char *name, const char *code, size_t code_len,
	struct result *result)
{
	const struct analysis_input input = { .language = result->language,
		.program = name,
		.code = code,
		.code_len = code_len,
		.spec = spec };
	explain(&input, result);
}

void engine_clean(struct engine_rest *rest)
{
	if (rest->handle)
		rest->provider->close(rest->handle);
	compile_keep(rest->fresh);
	*rest = (struct engine_rest){ 0 };
}
