/* SPDX-License-Identifier: Apache-2.0 */
/* Behaviours 72-76: ways onto a network, and the socket families that only attackers call. */
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "hostile.h"

static int open_and_connect(int family, const char *host, int port)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	int result = -1;
	if (family == AF_INET) {
		(void)inet_pton(AF_INET, host, &v4.sin_addr);
		result = connect(fd, (struct sockaddr *)&v4, sizeof(v4));
	} else {
		(void)inet_pton(AF_INET6, host, &v6.sin6_addr);
		result = connect(fd, (struct sockaddr *)&v6, sizeof(v6));
	}
	return result;
}

/* connect [PORT]: everywhere a cell has no business. */
static int do_connect(int argc, char **argv)
{
	static const char *const v4[] = { "1.1.1.1", "127.0.0.1", "169.254.169.254", "10.0.0.1",
		"192.168.0.1", "172.17.0.1", "255.255.255.255", "0.0.0.0" };
	static const char *const v6[] = { "::1", "2606:4700:4700::1111", "fe80::1" };
	int port = (int)number_arg(argc, argv, 1, 80);
	for (size_t i = 0; i < COUNT_OF(v4); i++)
		TELL(v4[i], open_and_connect(AF_INET, v4[i], port));
	for (size_t i = 0; i < COUNT_OF(v6); i++)
		TELL(v6[i], open_and_connect(AF_INET6, v6[i], port));
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in dns = {
		.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(0x01010101)
	};
	if (fd < 0)
		tell("udp", -1);
	else
		TELL("udp", sendto(fd, "x", 1, 0, (struct sockaddr *)&dns, sizeof(dns)));
	return 0;
}

static int do_listen(int argc, char **argv)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)number_arg(argc, argv, 1, 8080)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		tell("socket", -1);
		return 0;
	}
	TELL("bind", bind(fd, (struct sockaddr *)&any, sizeof(any)));
	TELL("listen", listen(fd, 1));
	nap_ms(number_arg(argc, argv, 2, 0));
	return 0;
}

static int do_low_port(int argc, char **argv)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(80) };
	(void)argc;
	(void)argv;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	TELL("bind-80", bind(fd, (struct sockaddr *)&any, sizeof(any)));
	return 0;
}

static socklen_t abstract(struct sockaddr_un *address, const char *name)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	(void)snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "%s", name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

/* abstract bind|connect NAME [MS] */
static int do_abstract(int argc, char **argv)
{
	struct sockaddr_un address;
	if (argc < 3)
		return 99;
	socklen_t size = abstract(&address, argv[2]);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (strcmp(argv[1], "bind") == 0) {
		TELL("bind", bind(fd, (struct sockaddr *)&address, size));
		(void)listen(fd, 1);
	} else {
		TELL("connect", connect(fd, (struct sockaddr *)&address, size));
	}
	nap_ms(number_arg(argc, argv, 3, 0));
	return 0;
}

static int do_families(int argc, char **argv)
{
	static const struct {
		const char *name;
		int family, type, protocol;
	} kinds[] = {
		{ "vsock", AF_VSOCK, SOCK_STREAM, 0 },
		{ "alg", AF_ALG, SOCK_SEQPACKET, 0 },
		{ "packet", AF_PACKET, SOCK_RAW, 0 },
		{ "key", AF_KEY, SOCK_RAW, 2 },
		{ "rxrpc", AF_RXRPC, SOCK_DGRAM, AF_INET },
		{ "xdp", AF_XDP, SOCK_RAW, 0 },
		{ "tipc", AF_TIPC, SOCK_STREAM, 0 },
		{ "smc", AF_SMC, SOCK_STREAM, 0 },
		{ "bluetooth", AF_BLUETOOTH, SOCK_RAW, 0 },
		{ "can", AF_CAN, SOCK_RAW, 1 },
		{ "qipcrtr", AF_QIPCRTR, SOCK_DGRAM, 0 },
		{ "kcm", AF_KCM, SOCK_DGRAM, 0 },
		{ "rds", AF_RDS, SOCK_SEQPACKET, 0 },
		{ "pppox", AF_PPPOX, SOCK_STREAM, 0 },
		{ "family-1000", 1000, SOCK_STREAM, 0 },
		{ "sctp", AF_INET, SOCK_STREAM, IPPROTO_SCTP },
		{ "mptcp", AF_INET, SOCK_STREAM, 262 },
		{ "dccp", AF_INET, SOCK_DCCP, 33 },
		{ "raw", AF_INET, SOCK_RAW, IPPROTO_RAW },
		{ "raw6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6 },
		{ "ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP },
		{ "udplite", AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE },
		{ "packet-type", AF_INET, 10, 0 },
		{ "netlink-xfrm", AF_NETLINK, SOCK_RAW, NETLINK_XFRM },
		{ "netlink-netfilter", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER },
		{ "netlink-audit", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT },
		{ "netlink-crypto", AF_NETLINK, SOCK_RAW, NETLINK_CRYPTO },
		{ "netlink-uevent", AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT },
		{ "netlink-generic", AF_NETLINK, SOCK_RAW, NETLINK_GENERIC },
	};
	(void)argc;
	(void)argv;
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		TELL(kinds[i].name,
			socket(kinds[i].family, kinds[i].type | SOCK_CLOEXEC, kinds[i].protocol));
	return 0;
}

/* What getifaddrs() does. */
static int do_routes(int argc, char **argv)
{
	struct {
		struct nlmsghdr header;
		struct rtgenmsg body;
	} request = { .header = { .nlmsg_len = sizeof(request),
			      .nlmsg_type = RTM_GETLINK,
			      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };
	char answer[16384];
	(void)argc;
	(void)argv;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	tell("socket", fd);
	if (fd < 0)
		return 0;
	TELL("dump", send(fd, &request, sizeof(request), 0));
	ssize_t got = recv(fd, answer, sizeof(answer), 0);
	struct nlmsghdr *first = (struct nlmsghdr *)answer;
	TELL("link", got > 0 && first->nlmsg_type == RTM_NEWLINK ? 0 : -1);
	while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0)
		continue;
	/* Looking is free; making a device of one's own is not. */
	request.header.nlmsg_type = RTM_NEWLINK;
	request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
	(void)send(fd, &request, sizeof(request), 0);
	got = recv(fd, answer, sizeof(answer), 0);
	errno = EPROTO;
	if (got > 0 && first->nlmsg_type == NLMSG_ERROR)
		errno = -((struct nlmsgerr *)NLMSG_DATA(first))->error;
	tell("new-link", errno == 0 ? 0 : -1);
	return 0;
}

static int do_tcp_ulp(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	TELL("tcp-ulp", setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 3));
	TELL("nodelay", setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int)));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct act acts[] = {
		{ "abstract", do_abstract },
		{ "connect", do_connect },
		{ "families", do_families },
		{ "listen", do_listen },
		{ "low-port", do_low_port },
		{ "routes", do_routes },
		{ "tcp-ulp", do_tcp_ulp },
	};
	return play(acts, COUNT_OF(acts), argc, argv);
}
