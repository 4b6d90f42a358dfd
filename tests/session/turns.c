/* SPDX-License-Identifier: Apache-2.0 */
/* How long turns take, client to client: prints the median of COUNT turns in microseconds.
 * usage: turns SESSION COUNT CODE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "session/session.h"

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static int64_t time_turn(const char *session, const char *code)
{
	struct err err = { 0 };
	struct result result;
	const struct session_turn turn = { .session = session,
		.code = code,
		.code_len = strlen(code),
		.outlet = { .fds = { -1, -1 } },
		.interrupt_fd = -1 };
	result_init(&result);
	int64_t before_us = clock_us();
	int r = session_exec(&turn, &result, &err);
	int64_t took_us = clock_us() - before_us;
	if (r < 0 || result.status != STATUS_OK)
		(void)fprintf(stderr, "turns: %s %s\n", run_status_names[result.status], err.text);
	result_done(&result);
	return r < 0 ? -1 : took_us;
}

int main(int argc, char **argv)
{
	size_t count = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	if (count == 0)
		return 2;
	auto_free int64_t *times = xcalloc(count, sizeof(*times));
	for (size_t i = 0; i < count; i++)
		times[i] = time_turn(argv[1], argv[3]);
	qsort(times, count, sizeof(*times), compare);
	(void)printf("%lld\n", (long long)times[count / 2]);
	return times[0] < 0;
}
