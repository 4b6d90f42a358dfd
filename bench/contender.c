/* SPDX-License-Identifier: Apache-2.0 */
/* One way of running a program. Only the run itself is timed, nothing of our own preparations. */
#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "bench.h"
#include "engine/engine.h"

enum {
	WARM_UP_MS = 10000, /* an interpreter with large modules takes its time */
	WARM_UP_PAUSE_NS = 20000000,
	HOLD_MS = 1000, /* until then a cell that was asked for ahead is there, or there is none */
	STANDING = 2,   /* cells that should always stand ready for a contender */
};

/* Where no daemon ever is: who has no lender must not find somebody else's. */
#define NO_SOCKET "/dev/null/hotcelld.sock"

struct kind {
	const char *name;
	size_t least_words;
	int (*open)(struct contender *contender, struct err *err);
	int (*run)(struct bench *bench, struct contender *contender, struct sample *ret_sample,
		struct err *err);
	enum cell_form form; /* of a cell of our own */
	bool is_parked;      /* and the next one is raised before it is needed */
	bool is_exec;        /* a program, not code */
	bool is_until_gone;  /* timed until the cell is cleared away */
	bool is_held;        /* the next cell is lent before it is needed */
};

static char *fill_word(struct bench *bench, const char *word)
{
	const char *mark = strstr(word, "{n}");
	if (!mark)
		return xstrdup(word);
	return xasprintf("%.*s%ld%s", (int)(mark - word), word, bench->next_number++, mark + 3);
}

int contender_check(const struct result *result, struct err *err)
{
	if (result->status == STATUS_OK)
		return 0;
	return err_set(err, ERR_BROKEN, "ended as '%s': %.200s", run_status_names[result->status],
		result->err.text ? result->err.text : "");
}

/* ---- a child ----------------------------------------------------------------------------------
 */

static int wait_for(pid_t pid, struct err *err)
{
	int status = 0;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, errno, "wait");
	if (status != 0)
		return err_set(err, ERR_BROKEN, "ended with wait status 0x%x", (unsigned)status);
	return 0;
}

/* As a program does it that is not prepared to have its memory shared. */
static int run_forked(struct bench *bench, struct contender *contender, struct sample *ret_sample,
	struct err *err)
{
	int64_t began = clock_us();
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(err, errno, "fork");
	if (pid == 0) {
		(void)dup2(bench->null_fd, STDIN_FILENO);
		(void)dup2(bench->null_fd, STDOUT_FILENO);
		(void)execv(contender->words[0], contender->words);
		_exit(127);
	}
	int r = wait_for(pid, err);
	ret_sample->us = clock_us() - began;
	return r;
}

static int run_spawned(struct bench *bench, struct contender *contender, struct sample *ret_sample,
	struct err *err)
{
	char *words[WORDS_MAX + 1] = { NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	if (contender->word_count == 0)
		return err_set(err, ERR_INVALID, "there is no program");
	for (size_t i = 0; i < contender->word_count; i++)
		words[i] = fill_word(bench, contender->words[i]);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, bench->null_fd, STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, bench->null_fd, STDOUT_FILENO);
	int64_t began = clock_us();
	int r = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
	r = r ? err_sys(err, r, "start '%s'", words[0]) : wait_for(pid, err);
	ret_sample->us = clock_us() - began;
	(void)posix_spawn_file_actions_destroy(&actions);
	for (size_t i = 0; i < contender->word_count; i++)
		free(words[i]);
	return r;
}

/* ---- a cell of our own ------------------------------------------------------------------------
 */

static const char *take_word(struct contender *contender)
{
	const char *word = contender->words[0];
	contender->word_count--;
	memmove(contender->words, contender->words + 1,
		(contender->word_count + 1) * sizeof(contender->words[0]));
	return word;
}

static int open_guest(struct contender *contender, struct err *err)
{
	const char *runtime = take_word(contender);
	auto_free char *boot = xasprintf("%s/boot.py", runtime);
	TRY(keeper_open(&contender->spec, runtime, KEEPER_RESIDENT, &contender->keeper, err));
	struct strings argv = { 0 };
	strings_add(&argv, "/usr/bin/python3");
	strings_add(&argv, boot);
	while (contender->word_count > 1)
		strings_add(&argv, take_word(contender));
	int r = keeper_host(contender->keeper, &argv, err);
	strings_done(&argv);
	return r < 0 ? r : keeper_await_host(contender->keeper, err);
}

static int open_resident(struct contender *contender, struct err *err)
{
	const char *rootfs = take_word(contender);
	TRY(spec_set(&contender->spec, spec_field("rootfs"), rootfs, err));
	for (size_t i = 0; i < contender->word_count; i++)
		strings_add(&contender->spec.exec, contender->words[i]);
	TRY(spec_check(&contender->spec, err));
	return keeper_open(&contender->spec, NULL, KEEPER_RESIDENT, &contender->keeper, err);
}

/* Nobody looks at what a runner says, but for its last word: the answer does not wait longer. */
static struct heard hear(void *context, const char *data, size_t len, struct buf *pending)
{
	struct heard heard = { 0 };
	struct message message = { 0 };
	struct err err = { 0 };
	(void)context;
	(void)pending;
	if (message_read(&message, data, len, &err) < 0)
		return (struct heard){ .is_nonsense = true };
	heard.is_done = message.kind == MESSAGE_DONE;
	heard.exit_code = heard.is_done ? message_exit_code(&message) : 0;
	message_done(&message);
	return heard;
}

static int run_resident(struct bench *bench, struct contender *contender, struct sample *ret_sample,
	struct err *err)
{
	bool is_guest = contender->kind->form == FORM_GUEST;
	char *const file[] = { (char *)"main.py" };
	const struct strings words = { contender->words, contender->word_count };
	const struct strings guest = { (char **)file, 1 };
	const struct task task = {
		.spec = &contender->spec,
		.argv = &words,
		.own_argv = &guest,
		.program = is_guest ? file[0] : NULL,
		.code = is_guest ? contender->words[0] : "",
		.code_len = is_guest ? strlen(contender->words[0]) : 0,
		.form = contender->kind->form,
		.outlet = { .fds = { -1, -1 } },
		.ear = { .hear = is_guest ? hear : NULL },
		.interrupt_fd = -1,
	};
	struct result result;
	(void)bench;
	int64_t began = clock_us();
	result_init(&result);
	int r = keeper_run(contender->keeper, &task, &result, NULL, err);
	ret_sample->us = clock_us() - began;
	if (r == 0)
		r = contender_check(&result, err);
	result_done(&result);
	/* off the answer's path, as a resident supervisor does it */
	keeper_tidy(contender->keeper);
	if (r == 0 && contender->kind->is_parked)
		r = keeper_park(contender->keeper, &contender->spec, false, task.form, err);
	return r;
}

/* ---- a borrowed cell --------------------------------------------------------------------------
 */

static int fill_spec(
	const struct contender *contender, const char *code, struct spec *spec, struct err *err)
{
	const char *first = contender->words[0];
	if (!contender->kind->is_exec) {
		TRY(spec_set(spec, spec_field("language"), first, err));
		return spec_set(spec, spec_field("code"), code, err);
	}
	for (size_t i = 1; i < contender->word_count; i++)
		strings_add(&spec->exec, contender->words[i]);
	return spec_set(spec, spec_field("rootfs"), first, err);
}

/* As a client does that has told its last result and waits for the next request. */
static void hold_next(struct engine_memory *memory)
{
	engine_look_ahead(memory);
	struct pollfd answer = { .fd = engine_ahead_fd(memory), .events = POLLIN | POLLRDHUP };
	if (answer.fd >= 0 && poll(&answer, 1, HOLD_MS) == 1)
		engine_hear_ahead(memory);
}

static int run_lent(struct bench *bench, struct contender *contender, struct sample *ret_sample,
	struct err *err)
{
	const struct engine_wishes wishes = {
		.outlet = { .fds = { -1, -1 } },
		.interrupt_fd = -1,
		.memory = contender->memory ? contender->memory : bench->memory,
	};
	auto_free char *code = fill_word(bench, contender->words[1]);
	struct engine_rest rest = { 0 };
	struct result result;
	struct spec spec;
	if (contender->memory) {
		hold_next(contender->memory);
		TRY(lender_await_rest(contender->lender, err));
	}
	int64_t began = clock_us();
	spec_init(&spec);
	result_init(&result);
	int r = fill_spec(contender, code, &spec, err);
	if (r == 0)
		r = engine_run(&spec, &wishes, &result, NULL, &rest, err);
	ret_sample->us = clock_us() - began;
	engine_clean(&rest);
	if (r == 0 && contender->kind->is_until_gone) {
		r = lender_await_return(contender->lender, err);
		ret_sample->us = clock_us() - began;
	}
	if (r == 0)
		r = contender_check(&result, err);
	ret_sample->is_warm = result.is_warm;
	result_done(&result);
	spec_done(&spec);
	return r;
}

/* Whether the contender's next cell will be what it is meant to be. */
static bool is_warm(struct contender *contender, const struct sample *last)
{
	struct lender_state state = { 0 };
	if (lender_ask(contender->lender, &state, &contender->failure) < 0)
		return false;
	return last->is_warm && state.missing == 0;
}

static void warm_up(struct bench *bench, struct contender *contender)
{
	const struct timespec pause = { .tv_nsec = WARM_UP_PAUSE_NS };
	int64_t deadline_us = clock_us() + WARM_UP_MS * 1000;
	struct sample sample = { 0 };
	/* the cell that was just taken is replaced within the pause */
	do {
		if (!contender_run(bench, contender, &sample))
			return;
		(void)nanosleep(&pause, NULL);
	} while (!is_warm(contender, &sample) && clock_us() < deadline_us);
}

int contender_policy(struct contender *contender, char **ret_text, struct err *err)
{
	struct spec spec;
	spec_init(&spec);
	int r = fill_spec(contender, contender->words[1], &spec, err);
	if (r == 0)
		r = engine_policy(&spec, ret_text, err);
	spec_done(&spec);
	return r;
}

/* Who takes part seldom finds cells ready too, unless none ever are. */
static int open_lent(struct contender *contender, struct err *err)
{
	auto_free char *policy = NULL;
	if (!contender->lender)
		return err_set(err, ERR_INVALID, "plan: '%s' has no lender", contender->name);
	if (contender->kind->is_held)
		contender->memory = engine_memory_new();
	if (contender->kind->is_exec)
		return 0;
	TRY(contender_policy(contender, &policy, err));
	return lender_wish(contender->lender, policy, STANDING, err);
}

/* ---- all of them ------------------------------------------------------------------------------
 */

static const struct kind kinds[] = {
	/* clang-format off */
	{ "spawn",        1, NULL,          run_spawned,  .is_exec = true },
	{ "fork",         1, NULL,          run_forked,   .is_exec = true },
	{ "resident",     2, open_resident, run_resident, .form = FORM_GATE },
	{ "parked",       2, open_resident, run_resident, .form = FORM_GATE,  .is_parked = true },
	{ "guest",        2, open_guest,    run_resident, .form = FORM_GUEST },
	{ "parked-guest", 2, open_guest,    run_resident, .form = FORM_GUEST, .is_parked = true },
	{ "lent",         2, open_lent,     run_lent,     .form = FORM_GATE },
	{ "lent-gone",    2, open_lent,     run_lent,     .is_until_gone = true },
	{ "lent-exec",    2, open_lent,     run_lent,     .is_exec = true },
	{ "held",         2, open_lent,     run_lent,     .is_held = true },
	{ "held-exec",    2, open_lent,     run_lent,     .is_held = true,    .is_exec = true },
	{ "http",         2, open_lent,     run_http,     .form = FORM_GATE },

	{ "exec",         3, session_open,  session_run_exec, .form = FORM_GUEST },
	{ "checkpoint",   3, session_open,  session_run_checkpoint, .form = FORM_GUEST },
	{ "rollback",     3, session_open,  session_run_rollback, .form = FORM_GUEST },
	{ "branch",       3, session_open,  session_run_branch, .form = FORM_GUEST },
	{ "generation",   3, session_open,  session_run_generation, .form = FORM_GUEST },
	/* clang-format on */
};

const struct kind *kind_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (strcmp(name, kinds[i].name) == 0)
			return &kinds[i];
	return NULL;
}

size_t kind_least_words(const struct kind *kind)
{
	return kind->least_words;
}

/* What a command or the engine finds in the environment. */
static void choose_lender(const struct contender *contender)
{
	const struct lender *lender = contender->lender;
	(void)setenv("HOTCELL_SOCKET", lender ? lender->socket : NO_SOCKET, 1);
}

void contender_open(struct bench *bench, struct contender *contender)
{
	spec_init(&contender->spec);
	contender->http_fd = -1;
	if (contender->failure.code != ERR_NONE)
		return;
	choose_lender(contender);
	if (contender->kind->open)
		(void)contender->kind->open(contender, &contender->failure);
	if (contender->kind->open == open_lent && !bench->is_crowd)
		warm_up(bench, contender);
}

void contender_close(struct contender *contender)
{
	choose_lender(contender);
	session_close(contender);
	keeper_close(contender->keeper);
	own_close(&contender->http_fd);
	engine_memory_free(contender->memory);
	spec_done(&contender->spec);
	free(contender->samples);
}

bool contender_run(struct bench *bench, struct contender *contender, struct sample *ret_sample)
{
	*ret_sample = (struct sample){ 0 };
	if (contender->failure.code != ERR_NONE)
		return false;
	choose_lender(contender);
	return contender->kind->run(bench, contender, ret_sample, &contender->failure) == 0;
}

void contender_keep(struct contender *contender, const struct sample *sample)
{
	if (contender->sample_count == contender->sample_room) {
		contender->sample_room = 2 * contender->sample_room + 64;
		contender->samples = xrealloc(
			contender->samples, contender->sample_room, sizeof(contender->samples[0]));
	}
	contender->samples[contender->sample_count++] = *sample;
}
