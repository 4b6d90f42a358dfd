/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/own.h"
#include "keeper/kit.h"

static int lowest_free_fd(void)
{
	int fd = dup(STDIN_FILENO);
	(void)close(fd);
	return fd;
}

static void check_pair(const int fds[2])
{
	char byte = 'x';
	ASSERT_EQ(write(fds[0], &byte, 1), 1);
	ASSERT_EQ(read(fds[1], &byte, 1), 1);
	ASSERT_EQ(fcntl(fds[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ASSERT_EQ(fcntl(fds[1], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(a_kit_has_a_page_and_a_gate)
{
	struct err err = { 0 };
	struct kit kit = KIT_NONE;
	ASSERT_EQ(kit_make(&kit, &err), 0);
	ASSERT(kit.page);
	ASSERT_EQ(kit.page->plan.magic, 0);
	ASSERT_EQ(kit.page->report.failed, STEP_NONE);
	ASSERT(kit.page_fd >= 0);
	check_pair(kit.gate_fds);
	kit_done(&kit);
}

TEST(what_nobody_took_out_of_a_kit_goes_with_it)
{
	struct err err = { 0 };
	struct kit kit = KIT_NONE;
	int before = lowest_free_fd();
	ASSERT_EQ(kit_make(&kit, &err), 0);
	int taken = take_fd(&kit.gate_fds[0]);
	kit_done(&kit);
	ASSERT(!kit.page);
	ASSERT_EQ(kit.page_fd, -1);
	ASSERT(fcntl(taken, F_GETFD) >= 0); /* ours to close */
	(void)close(taken);
	ASSERT_EQ(lowest_free_fd(), before);
	kit_done(&kit); /* there is none any more */
}
