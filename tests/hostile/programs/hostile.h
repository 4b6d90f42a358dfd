/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hostile programs share. Each program is a table of acts, chosen by the first argument.
 * An act tells what happened in lines of `WHAT OUTCOME`, where the outcome is `ok`, a number or
 * the name of an errno; the driver compares these lines with what a cell must answer.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct act {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the act's name */
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Evaluates the call once and tells its outcome. */
#define TELL(what, call)                    \
	do {                                \
		errno = 0;                  \
		tell((what), (long)(call)); \
	} while (0)

static inline void tell(const char *what, long result)
{
	int sys = errno;
	const char *name = sys != 0 ? strerrorname_np(sys) : NULL;
	if (result >= 0)
		printf("%s ok\n", what);
	else
		printf("%s %s\n", what, name != NULL ? name : "failed");
	(void)fflush(stdout);
}

static inline void tell_number(const char *what, long number)
{
	printf("%s %ld\n", what, number);
	(void)fflush(stdout);
}

static inline long number_arg(int argc, char **argv, int index, long fallback)
{
	return index < argc ? strtol(argv[index], NULL, 0) : fallback;
}

static inline void nap_ms(long ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		continue;
}

static inline void wait_forever(void)
{
	for (;;)
		(void)pause();
}

static inline void spin_forever(void)
{
	for (volatile unsigned long i = 0;; i++)
		continue;
}

/* Burns this much processor time of the calling process. */
static inline void burn_ms(long ms)
{
	struct timespec now;
	do {
		for (volatile unsigned long i = 0; i < 100000; i++)
			continue;
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms);
}

static inline int play(const struct act *acts, size_t count, int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < count; i++)
		if (strcmp(acts[i].name, argv[1]) == 0)
			return acts[i].run(argc - 1, argv + 1);
	(void)fprintf(stderr, "usage: %s ACT [ARG…]; acts:", argv[0]);
	for (size_t i = 0; i < count; i++)
		(void)fprintf(stderr, " %s", acts[i].name);
	(void)fprintf(stderr, "\n");
	return 99;
}
