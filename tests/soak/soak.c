/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many cells, one after the other, through one keeper.
 *
 *   soak COUNT STEP [RUNTIME]   run COUNT cells; after every STEP of them print `NUMBER MEDIAN_US`
 *                               and wait for a line on standard input, so that somebody can look
 *                               at us; with RUNTIME, the directory of Python's, they run code in
 *                               a Python that was forked for them
 *
 * The chores are mixed: most end at once, some fail, write, leave children behind, are denied
 * something, run into the deadline or out of memory. Each must end as its row says.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "keeper/keeper.h"

enum { RARE_EVERY = 250 };

struct chore {
	const char *argv[4];
	enum run_status want;
	const char *field, *value; /* one setting of the spec, or NULL */
};

/* argv[0] is the code. A guest that does not end by itself, and one that leaves children, must not
 * keep its init from leaving. */
static const struct chore guest_chores[] = {
	{ { "pass" }, STATUS_OK, NULL, NULL },
	{ { "raise SystemExit(3)" }, STATUS_ERROR, NULL, NULL },
	{ { "import os; os.kill(os.getpid(), 9)" }, STATUS_SIGNAL, NULL, NULL },
	{ { "while True: pass" }, STATUS_TIMEOUT, "timeout", "0.05" },
	{ { "import os, time\nif os.fork() == 0: time.sleep(100)" }, STATUS_OK, NULL, NULL },
	{ { "x = bytearray(100 << 20)" }, STATUS_OOM, "memory", "32M" },
};

static const struct chore usual_chores[] = {
	{ { "/bin/true" }, STATUS_OK, NULL, NULL },
	{ { "/bin/true" }, STATUS_OK, NULL, NULL },
	{ { "/bin/false" }, STATUS_ERROR, NULL, NULL },
	{ { "/bin/true" }, STATUS_OK, NULL, NULL },
	{ { "/bin/sh", "-c", "echo out; echo err >&2; exit 3" }, STATUS_ERROR, NULL, NULL },
	{ { "/bin/true" }, STATUS_OK, NULL, NULL },
	{ { "/bin/sh", "-c", "sleep 100 & sleep 100 & kill -9 $$" }, STATUS_SIGNAL, NULL, NULL },
	{ { "/bin/true" }, STATUS_OK, NULL, NULL },
	{ { "/bin/sh", "-c", "head -c 100000 /dev/zero >file" }, STATUS_OK, NULL, NULL },
	{ { "/bin/true" }, STATUS_OK, NULL, NULL },
};

static const struct chore rare_chores[] = {
	{ { "/bin/sleep", "100" }, STATUS_TIMEOUT, "timeout", "0.05" },
	{ { "/bin/sh", "-c", "head -c 64M /dev/zero | tail" }, STATUS_OOM, "memory", "16M" },
	{ { "/usr/bin/unshare", "-U", "true" }, STATUS_ERROR, NULL, NULL },
	{ { "/bin/sh", "-c", "yes" }, STATUS_OUTPUT_LIMIT, "output_limit", "100K" },
};

static const struct chore *chore_of(long number, bool is_guest)
{
	if (is_guest)
		return &guest_chores[number % (long)COUNT_OF(guest_chores)];
	if (number % RARE_EVERY == RARE_EVERY / 2)
		return &rare_chores[number / RARE_EVERY % (long)COUNT_OF(rare_chores)];
	return &usual_chores[number % (long)COUNT_OF(usual_chores)];
}

static int fill_spec(struct spec *spec, const struct chore *chore, struct err *err)
{
	spec_init(spec);
	for (size_t i = 0; i < COUNT_OF(chore->argv) && chore->argv[i]; i++)
		strings_add(&spec->exec, chore->argv[i]);
	return chore->field ? spec_set(spec, spec_field(chore->field), chore->value, err) : 0;
}

/* Every third cell was parked first. */
static int run_chore(struct keeper *keeper, long number, bool is_guest, struct err *err)
{
	const struct chore *chore = chore_of(number, is_guest);
	bool is_parked = number % 3 == 0;
	char *const file[] = { (char *)"main.py" };
	const struct strings guest_argv = { (char **)file, 1 };
	struct spec spec;
	struct result result;
	result_init(&result);
	int r = fill_spec(&spec, chore, err);
	const struct task task = {
		.spec = &spec,
		.argv = &spec.exec,
		.own_argv = &guest_argv,
		.program = is_guest ? file[0] : NULL,
		.code = chore->argv[0],
		.code_len = strlen(chore->argv[0]),
		.form = is_guest ? FORM_GUEST : FORM_GATE,
		.needs_full_proc = true,
		.outlet = { .fds = { -1, -1 } },
		.interrupt_fd = -1,
	};
	if (r == 0 && is_parked)
		r = keeper_park(keeper, &spec, true, task.form, err);
	r = r < 0 ? r : keeper_run(keeper, &task, &result, NULL, err);
	if (r == 0 && result.status != chore->want)
		r = err_set(err, ERR_BROKEN, "'%s %s' ended as '%s', not as '%s'", chore->argv[0],
			chore->argv[2] ? chore->argv[2] : "", run_status_names[result.status],
			run_status_names[chore->want]);
	if (r == 0 && result.is_warm != is_parked)
		r = err_set(err, ERR_BROKEN, "the parked cell was not taken");
	result_done(&result);
	spec_done(&spec);
	return r;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Tells how far we are and waits to be looked at. */
static void pause_at(long number, int64_t *samples, size_t count)
{
	char line[16];
	qsort(samples, count, sizeof(samples[0]), by_size);
	(void)printf("%ld %lld\n", number, (long long)(count ? samples[count / 2] : 0));
	(void)fflush(stdout);
	(void)fgets(line, sizeof(line), stdin);
}

static int soak(struct keeper *keeper, long count, long step, bool is_guest, struct err *err)
{
	auto_free int64_t *samples = xcalloc((size_t)step, sizeof(*samples));
	for (long number = 1; number <= count; number++) {
		int64_t began = clock_us();
		if (run_chore(keeper, number, is_guest, err) < 0)
			return err_wrap(err, "cell %ld", number);
		samples[(number - 1) % step] = clock_us() - began;
		if (number % step == 0) {
			keeper_tidy(keeper); /* what the last cell holds depends on its chore */
			pause_at(number, samples, (size_t)step);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct keeper *keeper = NULL;
	struct err err = { 0 };
	struct spec spec;
	const char *runtime = argc == 4 ? argv[3] : NULL;
	long count = argc >= 3 ? strtol(argv[1], NULL, 10) : 0;
	long step = argc >= 3 ? strtol(argv[2], NULL, 10) : 0;
	if (count < 1 || step < 1 || step > count) {
		(void)fprintf(stderr, "usage: soak COUNT STEP [RUNTIME]\n");
		return 2;
	}
	spec_init(&spec);
	int r = keeper_open(&spec, runtime, KEEPER_RESIDENT, &keeper, &err);
	if (r == 0 && runtime) {
		auto_free char *boot = xasprintf("%s/boot.py", runtime);
		char *const words[] = { (char *)"/usr/bin/python3", boot, NULL };
		const struct strings host = { (char **)words, 2 };
		r = keeper_host(keeper, &host, &err);
		r = r < 0 ? r : keeper_await_host(keeper, &err);
	}
	r = r < 0 ? r : soak(keeper, count, step, runtime != NULL, &err);
	if (r < 0)
		(void)fprintf(stderr, "soak: %s\n", err.text);
	keeper_close(keeper);
	spec_done(&spec);
	return r < 0 ? 1 : 0;
}
