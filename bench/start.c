/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long it takes from asking for a program until it has ended, for several ways of running it.
 *
 *   start ROUNDS PLAN   read contenders from the file PLAN, print their samples in microseconds
 *
 * A line of the plan is one contender, its words separated by tabs:
 *
 *   NAME spawn PROGRAM ARG…           executed as a child; "{n}" in a word becomes a fresh number
 *   NAME resident ROOTFS PROGRAM ARG… a cell from a zygote that stands ready in this process
 *   NAME parked ROOTFS PROGRAM ARG…   the same, and the cell stands ready too
 *   NAME guest RUNTIME MODULE… CODE   Python code in a cell whose interpreter was forked for it,
 *                                     with these modules loaded
 *   NAME parked-guest RUNTIME MODULE… CODE   the same, and the cell stands ready too
 *
 * One round runs every contender once, and each round begins with the next one, so that a noisy
 * moment of the machine hits all alike and nobody always runs behind the same neighbour. A
 * contender that cannot run is told in place of its samples and does not disturb the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "keeper/keeper.h"

enum {
	CONTENDERS_MAX = 32,
	WORDS_MAX = 96,
	PLAN_MAX = 1 << 20,
	WARM_UP_ROUNDS = 3,
	QUIET_LOOPS = 400000,
	QUIET_TRIES = 40,
	QUIET_PAUSE_NS = 25000000,
};

struct contender {
	const char *name;
	bool is_resident;
	bool is_parked;         /* and the next cell is raised before it is needed */
	bool is_guest;          /* its program is forked from an interpreter */
	char *words[WORDS_MAX]; /* program and arguments, NULL-terminated */
	size_t word_count;
	struct spec spec;
	struct keeper *keeper; /* owned */
	int64_t *samples;      /* owned */
	struct err failure;
};

struct bench {
	struct contender contenders[CONTENDERS_MAX];
	size_t count;
	long rounds;
	long next_number; /* for "{n}" */
	int null_fd;
	int64_t quiet_us; /* the best time of a fixed piece of work so far */
};

extern char **environ;

/* ---- one run ----------------------------------------------------------------------------------
 */

static char *fill_word(struct bench *bench, const char *word)
{
	const char *mark = strstr(word, "{n}");
	if (!mark)
		return xstrdup(word);
	return xasprintf("%.*s%ld%s", (int)(mark - word), word, bench->next_number++, mark + 3);
}

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

/* Only the start and the end of the child are timed, nothing of our own preparations. */
static int run_spawned(
	struct bench *bench, struct contender *contender, int64_t *ret_us, struct err *err)
{
	char *words[WORDS_MAX + 1] = { NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	for (size_t i = 0; i < contender->word_count; i++)
		words[i] = fill_word(bench, contender->words[i]);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, bench->null_fd, STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, bench->null_fd, STDOUT_FILENO);
	int64_t began = clock_us();
	int r = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
	r = r ? err_sys(err, r, "start '%s'", words[0]) : wait_for(pid, err);
	*ret_us = clock_us() - began;
	(void)posix_spawn_file_actions_destroy(&actions);
	for (size_t i = 0; i < contender->word_count; i++)
		free(words[i]);
	return r;
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

static int run_resident(struct contender *contender, int64_t *ret_us, struct err *err)
{
	char *const file[] = { (char *)"main.py" };
	const struct strings words = { contender->words, contender->word_count };
	const struct strings guest = { (char **)file, 1 };
	const struct task task = {
		.spec = &contender->spec,
		.argv = &words,
		.own_argv = &guest,
		.program = contender->is_guest ? file[0] : NULL,
		.code = contender->is_guest ? contender->words[0] : "",
		.code_len = contender->is_guest ? strlen(contender->words[0]) : 0,
		.form = contender->is_guest ? FORM_GUEST : FORM_GATE,
		.outlet = { .fds = { -1, -1 } },
		.ear = { .hear = contender->is_guest ? hear : NULL },
		.interrupt_fd = -1,
	};
	struct result result;
	int64_t began = clock_us();
	result_init(&result);
	int r = keeper_run(contender->keeper, &task, &result, NULL, err);
	if (r == 0 && result.status != STATUS_OK)
		r = err_set(err, ERR_BROKEN, "ended as '%s': %.200s",
			run_status_names[result.status], result.err.text ? result.err.text : "");
	result_done(&result);
	*ret_us = clock_us() - began;
	/* off the answer's path, as a resident supervisor does it */
	keeper_tidy(contender->keeper);
	if (r == 0 && contender->is_parked)
		r = keeper_park(contender->keeper, &contender->spec, false, task.form, err);
	return r;
}

static void run_contender(struct bench *bench, struct contender *contender, long round)
{
	int64_t us = 0;
	if (contender->failure.code != ERR_NONE)
		return;
	if (contender->is_resident)
		(void)run_resident(contender, &us, &contender->failure);
	else
		(void)run_spawned(bench, contender, &us, &contender->failure);
	if (round >= 0)
		contender->samples[round] = us;
}

/* ---- rounds -----------------------------------------------------------------------------------
 */

static int64_t time_fixed_work(void)
{
	int64_t began = clock_us();
	for (volatile int i = 0; i < QUIET_LOOPS; i++)
		;
	return clock_us() - began;
}

/* Waits, within bounds, while somebody else keeps the machine busy. */
static void await_quiet(struct bench *bench)
{
	const struct timespec pause = { .tv_nsec = QUIET_PAUSE_NS };
	for (int i = 0; i < QUIET_TRIES; i++) {
		int64_t us = time_fixed_work();
		if (bench->quiet_us == 0 || us < bench->quiet_us)
			bench->quiet_us = us;
		if (us <= bench->quiet_us * 5 / 4)
			return;
		(void)nanosleep(&pause, NULL);
	}
}

static void run_rounds(struct bench *bench)
{
	bool wants_quiet = getenv("BENCH_QUIET") != NULL;
	for (long round = -WARM_UP_ROUNDS; round < bench->rounds; round++) {
		if (wants_quiet)
			await_quiet(bench);
		for (size_t i = 0; i < bench->count; i++) {
			size_t turn = (i + (size_t)(round + WARM_UP_ROUNDS)) % bench->count;
			run_contender(bench, &bench->contenders[turn], round);
		}
	}
}

/* ---- the plan ---------------------------------------------------------------------------------
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
	spec_init(&contender->spec);
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
	if (contender->is_guest)
		return open_guest(contender, err);
	const char *rootfs = take_word(contender);
	spec_init(&contender->spec);
	TRY(spec_set(&contender->spec, spec_field("rootfs"), rootfs, err));
	for (size_t i = 0; i < contender->word_count; i++)
		strings_add(&contender->spec.exec, contender->words[i]);
	TRY(spec_check(&contender->spec, err));
	return keeper_open(&contender->spec, NULL, KEEPER_RESIDENT, &contender->keeper, err);
}

static int read_contender(struct contender *contender, char *line, struct err *err)
{
	char *rest = line;
	contender->name = strsep(&rest, "\t");
	const char *kind = strsep(&rest, "\t");
	while (rest && contender->word_count + 1 < WORDS_MAX)
		contender->words[contender->word_count++] = strsep(&rest, "\t");
	kind = kind ? kind : "";
	contender->is_parked = strncmp(kind, "parked", 6) == 0;
	contender->is_guest = strcmp(kind, "guest") == 0 || strcmp(kind, "parked-guest") == 0;
	contender->is_resident =
		contender->is_parked || contender->is_guest || strcmp(kind, "resident") == 0;
	if (rest || contender->word_count < (contender->is_resident ? 2 : 1))
		return err_set(err, ERR_INVALID, "plan: bad line for '%s'", contender->name);
	return 0;
}

static int read_plan(struct bench *bench, const char *path, struct buf *text, struct err *err)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	buf_init(text, PLAN_MAX);
	int r = fd < 0 ? -errno : buf_read(text, fd);
	if (r < 0)
		return err_sys(err, -r, "read '%s'", path);
	char *rest = text->data;
	for (char *line = strsep(&rest, "\n"); line && *line; line = strsep(&rest, "\n")) {
		if (bench->count == CONTENDERS_MAX)
			return err_set(err, ERR_LIMIT, "plan: over %d lines", CONTENDERS_MAX);
		struct contender *contender = &bench->contenders[bench->count++];
		TRY(read_contender(contender, line, err));
		contender->samples = xcalloc((size_t)bench->rounds, sizeof(int64_t));
	}
	/* a cell that cannot be raised here is a finding, not the end of the benchmark */
	for (size_t i = 0; i < bench->count; i++)
		if (bench->contenders[i].is_resident)
			(void)open_resident(&bench->contenders[i], &bench->contenders[i].failure);
	return 0;
}

/* ---- the rest ---------------------------------------------------------------------------------
 */

static void print_samples(const struct bench *bench)
{
	for (size_t i = 0; i < bench->count; i++) {
		const struct contender *contender = &bench->contenders[i];
		(void)printf("%s", contender->name);
		if (contender->failure.code != ERR_NONE)
			(void)printf("\tfailed: %s", contender->failure.text);
		else
			for (long round = 0; round < bench->rounds; round++)
				(void)printf("\t%lld", (long long)contender->samples[round]);
		(void)printf("\n");
	}
}

static void bench_done(struct bench *bench)
{
	for (size_t i = 0; i < bench->count; i++) {
		struct contender *contender = &bench->contenders[i];
		keeper_close(contender->keeper);
		if (contender->is_resident)
			spec_done(&contender->spec);
		free(contender->samples);
	}
	own_close(&bench->null_fd);
}

int main(int argc, char **argv)
{
	static struct bench bench;
	auto_buf struct buf plan = { 0 };
	struct err err = { 0 };
	bench.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	bench.rounds = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
	if (bench.rounds < 1 || bench.rounds > 1000000) {
		(void)fprintf(stderr, "usage: start ROUNDS PLAN\n");
		return 2;
	}
	if (read_plan(&bench, argv[2], &plan, &err) < 0) {
		(void)fprintf(stderr, "start: %s\n", err.text);
		return 1;
	}
	run_rounds(&bench);
	print_samples(&bench);
	bench_done(&bench);
	return 0;
}
