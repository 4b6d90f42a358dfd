/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotcell-bench, the stopwatch: how long it takes from asking for a program until it has ended, for
 * several ways of running it. bench/run says who takes part and what the numbers mean.
 *
 *   hotcell-bench rounds COUNT PLAN       each contender once in each round; prints their samples
 *   hotcell-bench load MILLISECONDS PLAN  says "ready", waits for the end of its input, then runs
 *                                         the first contender over and over (0: once); prints how
 *                                         long that took before the samples. Half as long before
 *                                         that nothing counts: what stood ready is used up
 *   hotcell-bench park COUNT SECONDS PLAN has cells of the first contender stand ready, prints how
 *                                         many do and how long that took
 *
 * A line of the plan is one contender, its words separated by tabs: NAME, EVERY (1: it takes part
 * in each round, 10: in each tenth), SOCKET (the daemon it finds; -: none), KIND and
 *
 *   spawn PROGRAM ARG…            executed as a child
 *   fork PROGRAM ARG…             the same, and we are copied for it
 *   resident ROOTFS PROGRAM ARG…  a cell from a zygote that stands ready in this process
 *   parked ROOTFS PROGRAM ARG…    the same, and the cell stands ready too
 *   guest RUNTIME MODULE… CODE    Python code in a cell whose interpreter was forked for it, with
 *                                 these modules loaded
 *   parked-guest RUNTIME MODULE… CODE   the same, and the cell stands ready too
 *   lent LANGUAGE CODE            a cell borrowed from the daemon, until the result is here
 *   lent-gone LANGUAGE CODE       the same, until the cell is cleared away
 *   lent-exec ROOTFS PROGRAM ARG… a program in a cell borrowed from the daemon
 *   held LANGUAGE CODE            in a cell that was lent before it was needed; held-exec likewise
 *   http LANGUAGE CODE            lent to a worker of the daemon, on a connection that is kept
 *
 *   exec LANGUAGE FIRST CODE      a turn with CODE in a session that began with FIRST
 *   checkpoint LANGUAGE FIRST CODE  a point, after a turn with CODE
 *   rollback LANGUAGE FIRST CODE  back to where the session began, and the next turn
 *   branch LANGUAGE FIRST CODE    a branch, after a turn with CODE
 *   generation LANGUAGE FIRST CODE  back to a point that was just made, and the next turn: each
 *                                 time the session's process is a copy of the copy before
 *
 * "{n}" in a word becomes a number that was never there before. Every round has an order of its
 * own, so that a noisy moment of the machine hits all alike and nobody always runs behind the same
 * neighbour; whoever lends is left to clean up and refill before the next one's turn. A contender
 * that cannot run is told in place of its samples and does not disturb the others.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "bench.h"
#include "engine/engine.h"

enum {
	WARM_UP_ROUNDS = 3,
	QUIET_LOOPS = 400000,
	QUIET_TRIES = 40,
	QUIET_PAUSE_NS = 25000000,
};

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
static void await_quiet(int64_t *best_us)
{
	const struct timespec pause = { .tv_nsec = QUIET_PAUSE_NS };
	for (int i = 0; i < QUIET_TRIES; i++) {
		int64_t us = time_fixed_work();
		if (*best_us == 0 || us < *best_us)
			*best_us = us;
		if (us <= *best_us * 5 / 4)
			return;
		(void)nanosleep(&pause, NULL);
	}
}

/* An order of its own for each round, and the same ones each time. */
static void shuffle(size_t *order, size_t count, uint32_t *seed)
{
	for (size_t left = count; left > 1; left--) {
		*seed ^= *seed << 13;
		*seed ^= *seed >> 17;
		*seed ^= *seed << 5;
		size_t other = *seed % left;
		size_t last = order[left - 1];
		order[left - 1] = order[other];
		order[other] = last;
	}
}

/* Who takes long warms up once. */
static bool takes_part(const struct contender *contender, long round)
{
	if (round < 0)
		return round == -1 || contender->every == 1;
	return round % contender->every == 0;
}

static void run_rounds(struct bench *bench, long rounds)
{
	bool wants_quiet = getenv("BENCH_QUIET") != NULL;
	size_t order[CONTENDERS_MAX] = { 0 };
	uint32_t seed = 0x68634c6f;
	int64_t quiet_us = 0;
	struct sample sample = { 0 };
	for (size_t i = 0; i < bench->count; i++)
		order[i] = i;
	for (long round = -WARM_UP_ROUNDS; round < rounds; round++) {
		if (wants_quiet)
			await_quiet(&quiet_us);
		shuffle(order, bench->count, &seed);
		for (size_t i = 0; i < bench->count; i++) {
			struct contender *contender = &bench->contenders[order[i]];
			if (!takes_part(contender, round))
				continue;
			if (!contender_run(bench, contender, &sample))
				continue;
			if (round >= 0)
				contender_keep(contender, &sample);
			if (contender->lender)
				(void)lender_await_rest(contender->lender, &contender->failure);
		}
	}
}

/* ---- one alone --------------------------------------------------------------------------------
 */

/* Many of us begin at once: when whoever holds the other end lets go. */
static void await_start(void)
{
	char byte = 0;
	(void)printf("ready\n");
	(void)fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

static void run_load(struct bench *bench, long milliseconds)
{
	struct contender *contender = &bench->contenders[0];
	await_start();
	int64_t counts_us = clock_us() + milliseconds * 1000 / 2;
	struct sample sample = { 0 };
	while (clock_us() < counts_us)
		if (!contender_run(bench, contender, &sample))
			return;
	int64_t began = clock_us();
	int64_t deadline_us = began + milliseconds * 1000;
	do {
		if (!contender_run(bench, contender, &sample))
			return;
		contender_keep(contender, &sample);
	} while (clock_us() < deadline_us);
	(void)printf("%lld\n", (long long)(clock_us() - began));
}

static int park(struct bench *bench, long count, long seconds, struct err *err)
{
	struct contender *contender = &bench->contenders[0];
	struct lender_state state = { 0 };
	auto_free char *policy = NULL;
	if (contender->failure.code != ERR_NONE) {
		*err = contender->failure;
		return -1;
	}
	if (!contender->lender)
		return err_set(err, ERR_INVALID, "plan: '%s' has no lender", contender->name);
	TRY(contender_policy(contender, &policy, err));
	int64_t began = clock_us();
	TRY(lender_park(contender->lender, policy, count, seconds, &state, err));
	(void)printf("%zu\t%lld\n", state.parked, (long long)(clock_us() - began));
	return 0;
}

/* ---- the rest ---------------------------------------------------------------------------------
 */

static void print_contender(const struct contender *contender)
{
	size_t warm_count = 0;
	if (contender->failure.code != ERR_NONE) {
		(void)printf("%s\tfailed: %s\n", contender->name, contender->failure.text);
		return;
	}
	for (size_t i = 0; i < contender->sample_count; i++)
		warm_count += contender->samples[i].is_warm;
	(void)printf("%s\t%zu", contender->name, warm_count);
	for (size_t i = 0; i < contender->sample_count; i++)
		(void)printf("\t%lld", (long long)contender->samples[i].us);
	(void)printf("\n");
}

static long read_count(const char *text)
{
	char *end = NULL;
	long count = strtol(text, &end, 10);
	return *text == '\0' || *end != '\0' || count > 1000000 ? -1 : count;
}

static int run(struct bench *bench, int argc, char **argv, struct err *err)
{
	const char *what = argc > 3 ? argv[1] : "";
	bool is_park = strcmp(what, "park") == 0;
	long first = argc > 3 ? read_count(argv[2]) : -1;
	long second = is_park && argc == 5 ? read_count(argv[3]) : 0;
	if (first < 0 || second < 0 || argc != (is_park ? 5 : 4))
		return err_set(err, ERR_INVALID,
			"usage: hotcell-bench rounds COUNT PLAN, load MILLISECONDS PLAN or park "
			"COUNT SECONDS PLAN");
	bench->is_crowd = strcmp(what, "load") == 0;
	TRY(plan_read(bench, argv[argc - 1], err));
	if (is_park)
		return park(bench, first, second, err);
	if (strcmp(what, "rounds") == 0)
		run_rounds(bench, first);
	else if (bench->is_crowd)
		run_load(bench, first);
	else
		return err_set(err, ERR_INVALID, "'%s': rounds, load or park", what);
	for (size_t i = 0; i < bench->count; i++)
		print_contender(&bench->contenders[i]);
	return 0;
}

int main(int argc, char **argv)
{
	static struct bench bench;
	struct err err = { 0 };
	bench.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* a number that no earlier benchmark had: what one compiled may be remembered */
	bench.next_number = (long)time(NULL) * 10000;
	bench.memory = engine_memory_new();
	int r = run(&bench, argc, argv, &err);
	plan_done(&bench);
	engine_memory_free(bench.memory);
	own_close(&bench.null_fd);
	if (r < 0)
		(void)fprintf(stderr, "hotcell-bench: %s\n", err.text);
	return r < 0 ? 1 : 0;
}
