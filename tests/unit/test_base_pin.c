/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/own.h"
#include "base/pin.h"

enum { PAGE = 4096, PAGES = 64, FEW = 16 };

static unsigned char *map(void)
{
	unsigned char *at = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(at != MAP_FAILED);
	(void)madvise(at, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		at[i * PAGE] = (unsigned char)(i + 1);
	return at;
}

static long faults(void)
{
	struct rusage usage;
	(void)getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

/* Writes to every page in a copy of this process; returns whether that took less than FEW faults.
 */
static bool writes_freely(unsigned char *at)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) {
		long before = faults();
		for (size_t i = 0; i < PAGES; i++)
			if (at[i * PAGE]++ != (unsigned char)(i + 1))
				_exit(2);
		_exit(faults() - before >= FEW);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	for (size_t i = 0; i < PAGES; i++)
		ASSERT_EQ(at[i * PAGE], (unsigned char)(i + 1));
	return WEXITSTATUS(status) == 0;
}

TEST(a_fork_copies_what_is_held_and_shares_the_rest)
{
	unsigned char *held = map();
	unsigned char *shared = map();
	const struct iovec all = { held, (size_t)PAGES * PAGE };
	int fd = pin_open();
	int r = fd < 0 ? fd : pin_pages(fd, &all, 1);
	if (r == -ENOSYS || r == -EPERM || r == -ENOMEM)
		SKIP("this kernel has no io_uring for us, or no memory that may be held");
	ASSERT_EQ(r, 0);
	ASSERT(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	ASSERT(writes_freely(held));
	ASSERT(!writes_freely(shared));
	(void)close(fd);
}

TEST(what_is_not_there_is_not_held)
{
	unsigned char *at = map();
	const struct iovec nowhere = { at, PAGE };
	ASSERT_EQ(munmap(at, (size_t)PAGES * PAGE), 0);
	auto_fd int fd = pin_open();
	if (fd < 0)
		SKIP("this kernel has no io_uring for us");
	ASSERT_EQ(pin_pages(fd, &nowhere, 1), -EFAULT);
}
