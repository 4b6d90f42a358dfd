/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mman.h>

#include "base/load.h"
#include "base/own.h"

static struct load load_of(const char *text)
{
	struct load load = { .fd = memfd_create("load", MFD_CLOEXEC), .processors = 4 };
	ASSERT_EQ(write(load.fd, text, strlen(text)), (ssize_t)strlen(text));
	return load;
}

static void must_spare(const char *text, int wanted)
{
	struct load load = load_of(text);
	ASSERT_EQ(load_spare(&load), wanted);
	ASSERT_EQ(load_spare(&load), wanted); /* also when it was read before */
	load_close(&load);
	ASSERT_EQ(load.fd, -1);
}

TEST(who_runs_has_a_processor_and_who_waits_wants_one)
{
	must_spare("0.20 0.18 0.12 1/80 11206\n", 3);
	must_spare("0.20 0.18 0.12 4/80 11206\n", 0);
	must_spare("12.00 6.71 6.68 12/144 22650\n", -8);
}

TEST(what_does_not_tell_it_spares_none)
{
	must_spare("", INT_MIN);
	must_spare("0.20 0.18 0.12", INT_MIN);
	must_spare("0.20 0.18 0.12 x/80 1\n", INT_MIN);
	must_spare("0.20 0.18 0.12 0/80 1\n", INT_MIN);
	must_spare("0.20 0.18 0.12 -1/80 1\n", INT_MIN);
	must_spare("0.20 0.18 0.12 99999999999999999999/80 1\n", INT_MIN);
	const struct load closed = { .fd = -1, .processors = 4 };
	ASSERT_EQ(load_spare(&closed), INT_MIN);
}

TEST(this_machine_tells_it_and_we_are_one_of_those_who_run)
{
	struct load load;
	cpu_set_t set;
	load_open(&load);
	ASSERT(load.fd >= 0);
	ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	ASSERT_EQ(load.processors, CPU_COUNT(&set));
	ASSERT(load_spare(&load) < load.processors);
	ASSERT(fcntl(load.fd, F_GETFD) & FD_CLOEXEC);
	load_close(&load);
}
