/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page that a device may write to at any time cannot be shared with a copy of the process, for
 * whoever wrote to it first would take it away from the device: so the kernel copies it right at
 * the fork. That is half the work of sharing it and copying it at the first write, which is a fault
 * besides. A ring of io_uring that knows buffers counts as such a device, whether it is ever used
 * or not. The copy stays on the account of the process that was copied.
 */
#include "base/pin.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

int pin_open(void)
{
	struct io_uring_params params = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 1, &params); /* closed on exec, always */
	return fd < 0 ? -errno : fd;
}

int pin_pages(int fd, const struct iovec *stretches, size_t count)
{
	long r = syscall(SYS_io_uring_register, fd, IORING_REGISTER_BUFFERS, stretches, count);
	return r < 0 ? -errno : 0;
}
