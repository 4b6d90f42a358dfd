/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cell's network: a namespace of its own, with nothing in it but a loopback that is down.
 * Making one is the longest single thing a cell needs, and the only one that does not depend on
 * what the cell is for. So a resident zygote goes into a fresh one ahead of time, the next cell
 * inherits it, and the zygote moves on. For a single cell it is made before the supervisor's main()
 * (early.c), else by a privileged supervisor while the zygote is busy with the mounts. No two cells
 * are ever in one at the same time, and one after the other only where the first left no trace in
 * it (keeper/network.h).
 */
#include "jail/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/own.h"
#include "jail/early.h"

int jail_spare_network(void)
{
	return unshare(CLONE_NEWNET) < 0 ? -errno : 0;
}

int jail_open_network(void)
{
	auto_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int network_fd = fd < 0 ? -1 : ioctl(fd, SIOCGSKNS);
	return network_fd < 0 ? -errno : network_fd;
}

int jail_return_to_network(int network_fd)
{
	return setns(network_fd, CLONE_NEWNET) < 0 ? -errno : 0;
}

int jail_early_network(void)
{
	int status = W_EXITCODE(MAKER_FAILED, 0);
	pid_t maker = jail_maker;
	jail_maker = 0;
	while (maker > 0 && waitpid(maker, &status, __WALL) < 0 && errno == EINTR)
		;
	bool has_made = WIFEXITED(status) && WEXITSTATUS(status) != MAKER_FAILED;
	return has_made ? WEXITSTATUS(status) : -1;
}

int jail_make_network(int *ret_fd)
{
	static const char own[] = "/proc/thread-self/ns/net";
	*ret_fd = jail_early_network();
	if (*ret_fd >= 0)
		return 0;
	auto_fd int ours = open(own, O_RDONLY | O_CLOEXEC);
	if (ours < 0 || unshare(CLONE_NEWNET) < 0)
		return -errno;
	auto_fd int fd = open(own, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : 0;
	if (setns(ours, CLONE_NEWNET) < 0)
		r = -errno;
	*ret_fd = r < 0 ? -1 : take_fd(&fd);
	return r;
}

int jail_enter_network(int network_fd)
{
	auto_fd int user_fd = ioctl(network_fd, NS_GET_USERNS);
	if (user_fd < 0 || setns(user_fd, CLONE_NEWUSER) < 0 || setns(network_fd, CLONE_NEWNET) < 0)
		return -errno;
	return 0;
}

/* The network comes from the zygote, from the supervisor, or is made now. */
static int enter_network(const struct raising *raising)
{
	if (raising->has_spare_network)
		return 0;
	if (!raising->page->plan.has_network)
		return jail_spare_network();
	return jail_return_to_network(raising->fds[CELL_FD_NETWORK]);
}

int raise_network(struct raising *raising, struct err *err)
{
	int r = enter_network(raising);
	if (r < 0)
		return err_sys(err, -r, "unshare the network namespace");
	raising->has_spare_network = true;
	step_value(raising, STEP_NETWORK, raising->is_used_network);
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
