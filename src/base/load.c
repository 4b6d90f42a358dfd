/* SPDX-License-Identifier: Apache-2.0 */
#include "base/load.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"

enum { TEXT_MAX = 128, FIELDS_BEFORE = 3 };

void load_open(struct load *load)
{
	cpu_set_t set;
	*load = (struct load){ .fd = -1 };
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return; /* more processors than a set has room for */
	load->processors = CPU_COUNT(&set);
	load->fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
}

void load_close(struct load *load)
{
	own_close(&load->fd);
}

/* "0.20 0.18 0.12 1/80 11206": the fourth tells how many run or could, of how many. */
int load_spare(const struct load *load)
{
	char text[TEXT_MAX];
	char *end = NULL;
	ssize_t n = load->fd < 0 ? -1 : pread(load->fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return INT_MIN;
	text[n] = '\0';
	const char *at = text;
	for (int i = 0; i < FIELDS_BEFORE && at; i++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	long running = at ? strtol(at, &end, 10) : 0;
	if (!end || end == at || *end != '/' || running < 1 || running > INT_MAX)
		return INT_MIN;
	return load->processors - (int)running;
}
