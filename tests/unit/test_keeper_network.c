/* SPDX-License-Identifier: Apache-2.0 */
/* Real networks, each of a child that waits in it as an init does for its cell. */
#include "unit/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/own.h"
#include "keeper/network.h"

static struct networks networks;

/* Somebody in a network of its own, who does what it is told by one letter and says when it is
 * done. */
struct dweller {
	pid_t pid;
	int pidfd;
	int network_fd;
	int sock;
};

static void bring_up_and_send(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	(void)ioctl(fd, SIOCSIFFLAGS, &request);
	(void)sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to));
	request.ifr_flags = 0;
	(void)ioctl(fd, SIOCSIFFLAGS, &request);
	(void)close(fd);
}

/* No way leads anywhere: that is counted, and nothing else changes. */
static void send_in_vain(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	(void)sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to));
	(void)close(fd);
}

static int listen_by_name(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0left" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	(void)bind(fd, (struct sockaddr *)&name, sizeof(name));
	(void)listen(fd, 1);
	return fd;
}

static void ask_for_routes(void)
{
	(void)socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
}

static _Noreturn void dwell(int sock)
{
	char what = 0;
	while (read(sock, &what, 1) == 1) {
		if (what == 'p')
			bring_up_and_send();
		else if (what == 'v')
			send_in_vain();
		else if (what == 'l')
			(void)listen_by_name();
		else if (what == 't')
			(void)close(listen_by_name());
		else if (what == 'n')
			ask_for_routes();
		(void)!write(sock, &what, 1);
	}
	_exit(0);
}

static struct dweller settle(void)
{
	struct dweller dweller;
	int pair[2];
	char path[64];
	char ready = 0;
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	dweller.pid = fork();
	if (dweller.pid == 0) {
		(void)close(pair[0]);
		char word = unshare(CLONE_NEWNET) == 0 ? 'y' : 'n';
		(void)!write(pair[1], &word, 1);
		dwell(pair[1]);
	}
	(void)close(pair[1]);
	dweller.sock = pair[0];
	ASSERT_EQ(read(dweller.sock, &ready, 1), 1);
	dweller.pidfd = pidfd_open(dweller.pid, 0);
	ASSERT(dweller.pidfd >= 0);
	if (ready == 'n')
		SKIP("no network of our own can be made here");
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)dweller.pid);
	dweller.network_fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT(dweller.network_fd >= 0);
	return dweller;
}

static void tell(const struct dweller *dweller, char what)
{
	ASSERT_EQ(write(dweller->sock, &what, 1), 1);
	ASSERT_EQ(read(dweller->sock, &what, 1), 1);
}

static void leave(struct dweller *dweller)
{
	own_close(&dweller->sock);
	ASSERT_EQ(waitpid(dweller->pid, NULL, 0), dweller->pid);
	own_close(&dweller->pidfd);
}

static ino_t number_of(int fd)
{
	struct stat st;
	ASSERT_EQ(fstat(fd, &st), 0);
	return st.st_ino;
}

static struct network *watch(struct dweller *dweller)
{
	return networks_watch(
		&networks, take_fd(&dweller->network_fd), dweller->pid, dweller->pidfd);
}

/* Whether the network is there for the next, after somebody who did `what` in it. */
static bool is_kept_after(const char *what)
{
	networks_allow(&networks, true);
	struct dweller dweller = settle();
	ino_t number = number_of(dweller.network_fd);
	struct network *network = watch(&dweller);
	ASSERT(network);
	for (; *what; what++)
		tell(&dweller, *what);
	leave(&dweller);
	networks_give(&networks, network, true);
	struct network *next = networks_take(&networks);
	if (next)
		ASSERT_EQ(number_of(network_fd(next)), number);
	networks_give(&networks, next, false);
	ASSERT_EQ(networks.count, 0);
	networks_done(&networks);
	return next;
}

TEST(a_network_that_nobody_touched_serves_again)
{
	ASSERT(is_kept_after(""));
}

TEST(a_socket_that_is_gone_leaves_no_trace)
{
	ASSERT(is_kept_after("t"));
}

TEST(a_network_whose_counters_moved_is_let_go)
{
	ASSERT(!is_kept_after("p"));
}

TEST(numbers_that_no_cell_can_move_are_looked_at_now_and_then)
{
	unsigned int times = 0;
	networks_allow(&networks, true);
	struct dweller dweller = settle();
	struct network *network = watch(&dweller);
	ASSERT(network);
	tell(&dweller, 'v');
	leave(&dweller);
	while (network && times < 100) {
		networks_give(&networks, network, true);
		network = networks_take(&networks);
		times++;
	}
	ASSERT(!network);
	ASSERT(times > 1);
	ASSERT_EQ(networks.count, 0);
	networks_done(&networks);
}

/* Somebody holds a socket in it, of a kind that `what` stands for. */
static void check_living(char what)
{
	networks_allow(&networks, true);
	struct dweller dweller = settle();
	struct network *network = watch(&dweller);
	ASSERT(network);
	tell(&dweller, what);
	networks_give(&networks, network, true); /* it is not, whatever we say */
	ASSERT(!networks_take(&networks));
	ASSERT_EQ(networks.count, 0);
	ASSERT_EQ(networks.changed_in_row, 1);
	leave(&dweller);
	networks_done(&networks);
}

TEST(a_network_with_a_living_socket_is_let_go)
{
	check_living('l');
}

TEST(a_network_with_a_living_netlink_socket_is_let_go)
{
	check_living('n');
}

TEST(a_network_that_may_not_be_empty_is_let_go)
{
	networks_allow(&networks, true);
	struct dweller dweller = settle();
	struct network *network = watch(&dweller);
	ASSERT(network);
	networks_give(&networks, network, false);
	ASSERT_EQ(networks.count, 0);
	leave(&dweller);
	networks_done(&networks);
}

TEST(a_network_serves_a_thousand_times_and_no_more)
{
	networks_allow(&networks, true);
	struct dweller dweller = settle();
	struct network *network = watch(&dweller);
	leave(&dweller);
	int uses = 0;
	for (; network; uses++) {
		networks_give(&networks, network, true);
		network = networks_take(&networks);
	}
	ASSERT_EQ(uses, NETWORK_USES);
	ASSERT_EQ(networks.count, 0);
	networks_done(&networks);
}

TEST(where_owners_differ_no_network_is_kept)
{
	struct dweller dweller = settle();
	ASSERT(!watch(&dweller)); /* nobody has allowed it */
	networks_allow(&networks, true);
	leave(&dweller);
	dweller = settle();
	networks_give(&networks, watch(&dweller), true);
	ASSERT_EQ(networks.idle_count, 1);
	networks_allow(&networks, false);
	ASSERT_EQ(networks.count, 0);
	leave(&dweller);
	networks_done(&networks);
}

TEST(the_network_of_who_is_dead_is_not_watched)
{
	networks_allow(&networks, true);
	struct dweller dweller = settle();
	ASSERT_EQ(pidfd_send_signal(dweller.pidfd, SIGKILL, NULL, 0), 0);
	ASSERT_EQ(waitid(P_PIDFD, (id_t)dweller.pidfd, NULL, WEXITED | WNOWAIT), 0);
	ASSERT(!watch(&dweller));
	leave(&dweller);
	networks_done(&networks);
}

TEST(networks_in_no_use_are_few)
{
	struct network *watched[NETWORKS_IDLE + 2];
	networks_allow(&networks, true);
	for (size_t i = 0; i < COUNT_OF(watched); i++) {
		struct dweller dweller = settle();
		watched[i] = watch(&dweller);
		leave(&dweller);
	}
	for (size_t i = 0; i < COUNT_OF(watched); i++)
		networks_give(&networks, watched[i], true);
	ASSERT_EQ(networks.idle_count, NETWORKS_IDLE);
	ASSERT_EQ(networks.count, NETWORKS_IDLE);
	for (int i = 0; i < NETWORKS_IDLE; i++)
		networks_shrink(&networks);
	ASSERT_EQ(networks.count, NETWORKS_QUIET);
	networks_done(&networks);
}

TEST(where_networks_never_stay_the_same_they_are_not_watched)
{
	networks_allow(&networks, true);
	struct dweller dweller = settle();
	networks.changed_in_row = NETWORKS_CHANGED;
	ASSERT(!watch(&dweller));
	leave(&dweller);
	networks_done(&networks);
}
