/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotcell batch: many runs, several at once, their results as JSON lines in the order of the jobs.
 * A job that cannot be run is a result like any other. What is written is a beginning of the whole
 * at any moment, so a batch that was stopped goes on where it stood.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/loop.h"
#include "base/own.h"
#include "cli/cli.h"
#include "cli/term.h"
#include "model/result.h"
#include "model/units.h"
#include "wire/json.h"
#include "worker/worker.h"

enum {
	CONCURRENCY_MAX = 256,
	AHEAD = 4, /* results that may wait for an earlier one, for each that runs at once */
	DRAW_EVERY_MS = 200,
	BAR_WIDTH = 24,
};

static const struct cli_option options[] = {
	{ .flag = "concurrency",
		.short_flag = 'j',
		.metavar = "N",
		.help = "how many run at once, 1 to 256 [as many as processors]" },
	{ .flag = "output",
		.short_flag = 'o',
		.metavar = "FILE",
		.help = "write the results there, not to stdout" },
	{ .flag = "resume", .help = "with --output: go on behind the results that are there" },
	{ .flag = "quiet", .short_flag = 'q', .help = "no progress and no summary on stderr" },
	CLI_CONFIG_OPTIONS,
};

static const char examples[] =
	"  hotcell batch jobs.jsonl\n"
	"  hotcell batch -j 8 -o results.jsonl jobs.jsonl\n"
	"  hotcell batch -j 8 -o results.jsonl --resume jobs.jsonl\n"
	"  printf '%s\\n' '{\"code\":\"print(1)\"}' '{\"code\":\"1/0\"}' | hotcell batch -\n\n"
	"Each line of the file is one job, with the fields of hotcell run --spec.\n";

/* A job that was handed out, until its result is written. */
struct slot {
	struct batch *batch;
	struct work *work; /* while it runs */
	size_t line;       /* of the input */
	char *result;      /* owned; what is written for it */
};

struct batch {
	/* as asked for */
	int64_t concurrency;
	const char *output;
	bool wants_resume, is_quiet;
	struct config_wish wish;

	FILE *jobs;
	int out_fd;
	struct loop loop;
	struct workers *workers;
	struct watch signal_watch;
	struct slot *slots; /* a ring, by the number of the job */
	size_t slot_count;
	size_t line;                        /* of the input */
	size_t handed, written;             /* jobs */
	size_t skipped;                     /* of those, written by an earlier batch */
	size_t total;                       /* 0: not known */
	size_t by_status[RUN_STATUS_COUNT]; /* none: not known */
	bool is_at_end, is_interrupted;
	bool draws;
	int64_t started_us, drawn_us;
	struct err err;
	int failed; /* -errno of the output */
};

static int take(void *context, const char *flag, const char *value, struct err *err)
{
	struct batch *batch = context;
	if (cli_take_config(&batch->wish, flag, value))
		return 0;
	if (strcmp(flag, "output") == 0)
		batch->output = value;
	else if (strcmp(flag, "resume") == 0)
		batch->wants_resume = true;
	else if (strcmp(flag, "quiet") == 0)
		batch->is_quiet = true;
	else if (units_parse_count(value, &batch->concurrency) < 0 || batch->concurrency < 1 ||
		 batch->concurrency > CONCURRENCY_MAX)
		return err_set(err, ERR_INVALID,
			"--concurrency: '%.40s' is not a whole number from 1 to %d, for example "
			"--concurrency 8",
			value, CONCURRENCY_MAX);
	return 0;
}

/* ---- progress -----------------------------------------------------------------------------------
 */

static void erase(const struct batch *batch)
{
	if (batch->draws)
		(void)fputs("\r\033[K", stderr);
}

static void draw(struct batch *batch)
{
	int64_t now_us = clock_us();
	size_t done = batch->written - batch->skipped;
	size_t failed = done - batch->by_status[STATUS_OK];
	if (!batch->draws || now_us - batch->drawn_us < DRAW_EVERY_MS * 1000)
		return;
	batch->drawn_us = now_us;
	erase(batch);
	if (batch->total > 0) {
		size_t filled = batch->written * BAR_WIDTH / batch->total;
		(void)fprintf(stderr, "[%.*s%*s] %zu of %zu", (int)filled,
			"########################", (int)(BAR_WIDTH - filled), "", batch->written,
			batch->total);
	} else {
		(void)fprintf(stderr, "%zu done", batch->written);
	}
	double seconds = (double)(now_us - batch->started_us) / 1e6;
	(void)fprintf(stderr, "  %.0f/s%s", (double)done / seconds, failed > 0 ? "  " : "");
	if (failed > 0)
		(void)fprintf(stderr, "%zu not ok", failed);
}

static void summarise(const struct batch *batch)
{
	erase(batch);
	if (batch->is_quiet)
		return;
	(void)fprintf(stderr, "hotcell: %zu runs", batch->written - batch->skipped);
	for (size_t i = STATUS_OK; i < RUN_STATUS_COUNT; i++)
		if (batch->by_status[i] > 0)
			(void)fprintf(stderr, ", %zu %s", batch->by_status[i], run_status_names[i]);
	if (batch->skipped > 0)
		(void)fprintf(stderr, "; %zu were done before", batch->skipped);
	(void)fprintf(stderr, "%s\n", batch->is_interrupted ? "; interrupted" : "");
}

/* ---- results ------------------------------------------------------------------------------------
 */

static struct slot *slot_of(const struct batch *batch, size_t number)
{
	return &batch->slots[number % batch->slot_count];
}

/* All that are next in order. */
static void write_results(struct batch *batch)
{
	while (batch->written < batch->handed && slot_of(batch, batch->written)->result &&
		batch->failed == 0) {
		struct slot *slot = slot_of(batch, batch->written);
		auto_free char *result = take_ptr(&slot->result);
		auto_free char *line = xasprintf("%s\n", result);
		batch->failed = io_write(batch->out_fd, line, strlen(line));
		batch->by_status[work_status(result, strlen(result))]++;
		batch->written++;
	}
	draw(batch);
}

static char *refuse(size_t line, const char *why)
{
	char place[32];
	(void)snprintf(place, sizeof(place), "line %zu", line);
	return work_refuse(place, why);
}

static void hear(void *context, const char *line, size_t len, bool is_last)
{
	struct slot *slot = context;
	size_t result_len = 0;
	if (!is_last)
		return;
	const char *result = line ? work_result(line, len, &result_len) : NULL;
	slot->work = NULL;
	slot->result = result ? xstrndup(result, result_len)
			      : refuse(slot->line, "the worker that ran it died");
	write_results(slot->batch);
}

/* ---- jobs ---------------------------------------------------------------------------------------
 */

static bool is_blank(const char *line)
{
	return line[strspn(line, " \t\r\n")] == '\0';
}

/* The next line with something on it; NULL: there is none. */
static char *read_job(struct batch *batch, char **buffer, size_t *size, size_t *ret_len)
{
	ssize_t len = 0;
	while (!batch->is_at_end && (len = getline(buffer, size, batch->jobs)) >= 0) {
		batch->line++;
		if (is_blank(*buffer))
			continue;
		*ret_len = (size_t)len;
		return *buffer;
	}
	batch->is_at_end = true;
	return NULL;
}

static void hand_out(struct batch *batch, const char *job, size_t len)
{
	struct slot *slot = slot_of(batch, batch->handed++);
	*slot = (struct slot){ .batch = batch, .line = batch->line };
	const struct listener listener = { .hear = hear, .context = slot };
	struct err err = { 0 };
	char place[32];
	(void)snprintf(place, sizeof(place), "line %zu", batch->line);
	const struct work_wish wish = { .kind = WORK_RUN, .text = job, .len = len, .place = place };
	if (workers_submit(batch->workers, &wish, &listener, &slot->work, &err) < 0) {
		slot->result = refuse(slot->line, err.text);
		write_results(batch);
	}
}

/* As many as may run, and no more than can wait for their turn to be written. */
static void hand_out_some(struct batch *batch)
{
	auto_free char *buffer = NULL;
	size_t size = 0;
	size_t len = 0;
	while (batch->handed - batch->written < batch->slot_count) {
		const char *job = read_job(batch, &buffer, &size, &len);
		if (!job)
			break;
		hand_out(batch, job, len);
	}
}

/* ---- beginning and end --------------------------------------------------------------------------
 */

static void hear_signal(void *context, uint32_t events)
{
	struct batch *batch = context;
	(void)events;
	cli_forget_interrupts(batch->signal_watch.fd);
	batch->is_interrupted = true;
}

/* How many results are there. What a batch that was killed wrote halfway is cut off. */
static int count_results(int fd, size_t *ret_count)
{
	char chunk[65536];
	off_t at = 0;
	off_t end = 0; /* of the last whole line */
	for (;;) {
		ssize_t n = pread(fd, chunk, sizeof(chunk), at);
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		for (ssize_t i = 0; i < n; i++) {
			if (chunk[i] != '\n')
				continue;
			end = at + i + 1;
			(*ret_count)++;
		}
		at += n;
	}
	return ftruncate(fd, end) < 0 || lseek(fd, end, SEEK_SET) < 0 ? -errno : 0;
}

static int open_output(struct batch *batch, struct err *err)
{
	batch->out_fd = STDOUT_FILENO;
	if (!batch->output)
		return batch->wants_resume ? err_set(err, ERR_INVALID,
						     "--resume: needs --output, where the results "
						     "of the first part are")
					   : 0;
	int flags = O_RDWR | O_CREAT | O_CLOEXEC | (batch->wants_resume ? 0 : O_EXCL);
	batch->out_fd = open(batch->output, flags, 0644);
	if (batch->out_fd < 0 && errno == EEXIST)
		return err_set(err, ERR_INVALID,
			"--output: '%.200s' is there already; --resume goes on with it",
			batch->output);
	if (batch->out_fd < 0)
		return err_sys(err, errno, "--output: open '%.200s'", batch->output);
	int r = count_results(batch->out_fd, &batch->skipped);
	return r < 0 ? err_sys(err, -r, "--output: read '%.200s'", batch->output) : 0;
}

/* How much there is to do, when that can be known before it is done. */
static void count_jobs(struct batch *batch)
{
	struct stat st;
	auto_free char *buffer = NULL;
	size_t size = 0;
	if (fstat(fileno(batch->jobs), &st) < 0 || !S_ISREG(st.st_mode))
		return;
	while (getline(&buffer, &size, batch->jobs) >= 0)
		batch->total += !is_blank(buffer);
	rewind(batch->jobs);
}

/* Passes over the jobs whose results are there. */
static int skip_done(struct batch *batch, struct err *err)
{
	auto_free char *buffer = NULL;
	size_t size = 0;
	size_t len = 0;
	for (size_t i = 0; i < batch->skipped; i++)
		if (!read_job(batch, &buffer, &size, &len))
			return err_set(err, ERR_INVALID,
				"--resume: '%.200s' has %zu results, more than there are jobs",
				batch->output, batch->skipped);
	batch->handed = batch->written = batch->skipped;
	return 0;
}

static int open_jobs(struct batch *batch, const char *path, struct err *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	batch->jobs = is_stdin ? stdin : fopen(path, "re");
	if (!batch->jobs)
		return err_sys(err, errno, "read '%.200s'", path);
	if (batch->draws)
		count_jobs(batch);
	return 0;
}

static int start(struct batch *batch, const char *path, struct err *err)
{
	struct term term;
	term_look(&term, STDERR_FILENO, COLOUR_AUTO);
	batch->draws = !batch->is_quiet && term.is_terminal && !term.is_dumb;
	batch->started_us = clock_us();
	TRY(open_jobs(batch, path, err));
	TRY(open_output(batch, err));
	TRY(skip_done(batch, err));
	batch->slot_count = (size_t)batch->concurrency * AHEAD;
	batch->slots = xcalloc(batch->slot_count, sizeof(*batch->slots));
	int r = loop_init(&batch->loop);
	batch->signal_watch = (struct watch){
		.fd = cli_open_interrupts(), .wake = hear_signal, .context = batch
	};
	if (r == 0)
		r = loop_add(&batch->loop, &batch->signal_watch, EPOLLIN);
	if (r < 0)
		return err_sys(err, -r, "watch for signals");
	batch->workers = workers_open(&batch->loop, (size_t)batch->concurrency);
	return 0;
}

static int work_off(struct batch *batch, struct err *err)
{
	int r = 0;
	hand_out_some(batch);
	while (r >= 0 && batch->failed == 0 && batch->written < batch->handed &&
		!batch->is_interrupted) {
		r = loop_turn(&batch->loop, batch->draws ? DRAW_EVERY_MS : -1);
		draw(batch);
		hand_out_some(batch);
	}
	if (batch->failed < 0)
		return err_sys(err, -batch->failed, "write the results");
	return r < 0 ? err_sys(err, -r, "wait for the workers") : 0;
}

static void stop(struct batch *batch)
{
	workers_close(batch->workers);
	for (size_t i = 0; i < batch->slot_count; i++)
		free(batch->slots[i].result);
	free(batch->slots);
	own_close(&batch->signal_watch.fd);
	loop_done(&batch->loop);
	if (batch->jobs && batch->jobs != stdin)
		(void)fclose(batch->jobs);
	if (batch->output)
		own_close(&batch->out_fd);
}

static int run_batch(struct batch *batch, const char *path, struct err *err)
{
	int r = start(batch, path, err);
	if (r == 0) {
		r = work_off(batch, err);
		summarise(batch);
	}
	stop(batch);
	return r;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct err err = { 0 };
	struct batch batch = { .concurrency = sysconf(_SC_NPROCESSORS_ONLN),
		.out_fd = -1,
		.loop = { .epoll_fd = -1 },
		.signal_watch = { .fd = -1 } };
	struct cli_line line = { .context = &batch, .take = take };
	int r = cli_read(argc, argv, NULL, options, COUNT_OF(options), &line, &err);
	if (r == 0 && line.has_help) {
		cli_help(command, options, COUNT_OF(options), false, examples);
		return 0;
	}
	if (r == 0 && argc - line.rest != 1)
		r = err_set(&err, ERR_INVALID,
			"batch: needs one file with a job on each line, for example hotcell batch "
			"jobs.jsonl; - for stdin");
	if (r == 0)
		r = cli_hand_on(&batch.wish, &err);
	if (r == 0)
		r = run_batch(&batch, argv[line.rest], &err);
	if (r < 0)
		return cli_fail(&err);
	return batch.is_interrupted ? 128 + SIGINT : 0;
}

const struct command cmd_batch = {
	.name = "batch",
	.usage = "[OPTIONS] FILE",
	.help = "many runs, several at once, results as JSON lines in the order of the jobs",
	.run = run,
};
