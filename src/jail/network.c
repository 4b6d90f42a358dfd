/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cell's network: a namespace of its own, with nothing in it but a loopback that is down.
 * Making one is the longest single thing a cell needs, and the only one that does not depend on
 * what the cell is for. So the zygote goes into a fresh one ahead of time, the next cell inherits
 * it, and the zygote moves on: no two cells ever share one.
 */
#include "jail/steps.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/own.h"

int jail_spare_network(void)
{
	return unshare(CLONE_NEWNET) < 0 ? -errno : 0;
}

int raise_network(struct raising *raising, struct err *err)
{
	int r = raising->has_spare_network ? 0 : jail_spare_network();
	if (r < 0)
		return err_sys(err, -r, "unshare the network namespace");
	raising->has_spare_network = true;
	step_note(raising, STEP_NETWORK, 0, "%s", net_mode_names[raising->page->plan.net]);
	return 0;
}

int raise_loopback(struct raising *raising, struct err *err)
{
	(void)raising;
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return err_sys(err, errno, "bring the loopback up");
	return 0;
}
