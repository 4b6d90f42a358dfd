/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rare forbidden calls are not refused by the filter itself but handed to us: we refuse them, and
 * know which they were. Nothing is ever allowed here, so that it does not matter what the caller
 * changes in its memory meanwhile; only the call's own registers are looked at.
 *
 * A cell that makes forbidden calls for a living would make us work; after LIMIT_DENIED_CALLS the
 * supervisor closes the listener, and the kernel answers the rest with ENOSYS by itself.
 */
#include "keeper/watch.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/own.h"
#include "jail/jail.h"

static const struct {
	int number;
	const char *name;
} families[] = {
	{ AF_INET, "AF_INET" },
	{ AF_INET6, "AF_INET6" },
	{ AF_NETLINK, "AF_NETLINK" },
	{ AF_PACKET, "AF_PACKET" },
	{ AF_VSOCK, "AF_VSOCK" },
	{ AF_ALG, "AF_ALG" },
	{ AF_KEY, "AF_KEY" },
	{ AF_RXRPC, "AF_RXRPC" },
	{ AF_XDP, "AF_XDP" },
	{ AF_TIPC, "AF_TIPC" },
	{ AF_BLUETOOTH, "AF_BLUETOOTH" },
	{ AF_CAN, "AF_CAN" },
};

static void describe_socket(const struct seccomp_data *data, struct denial *denial)
{
	static const char *const types[] = { "", "stream", "datagram", "raw", "rdm", "seqpacket" };
	int family = (int)data->args[0];
	size_t type = data->args[1] & 0xf;
	const char *name = NULL;
	for (size_t i = 0; i < COUNT_OF(families); i++)
		if (families[i].number == family)
			name = families[i].name;
	(void)snprintf(denial->target, sizeof(denial->target), "%s%.0d %s", name ? name : "family ",
		name ? 0 : family, type < COUNT_OF(types) ? types[type] : "");
	if (family == AF_INET || family == AF_INET6)
		(void)snprintf(denial->option, sizeof(denial->option), "--net loopback");
}

static void remember(const struct seccomp_data *data, struct result *result)
{
	const struct denied_call *call = filter_denied_call(data->nr);
	const char *name = filter_call_name(data->nr);
	struct denial denial = { .evidence = "kernel", .count = 1 };
	(void)snprintf(denial.layer, sizeof(denial.layer), "%s", call ? call->layer : "seccomp");
	(void)snprintf(denial.operation, sizeof(denial.operation), "%s", name ? name : "?");
	if (call && call->note)
		(void)snprintf(denial.target, sizeof(denial.target), "%s", call->note);
	if (data->nr == SYS_socket)
		describe_socket(data, &denial);
	result_add_denial(result, &denial);
}

int watch_answer(int listener_fd, struct result *result)
{
	/* the kernel's structures may be larger than those of our headers */
	union {
		struct seccomp_notif request;
		char room[512];
	} in;
	union {
		struct seccomp_notif_resp answer;
		char room[512];
	} out;
	int count = 0;
	struct pollfd waiting = { .fd = listener_fd, .events = POLLIN };
	while (count < LIMIT_DENIED_CALLS && poll(&waiting, 1, 0) == 1) {
		if (!(waiting.revents & POLLIN))
			return -1;
		memset(&in, 0, sizeof(in));
		if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0) {
			if (errno == ENOENT || errno == EINTR)
				continue;
			return -1;
		}
		memset(&out, 0, sizeof(out));
		out.answer.id = in.request.id;
		out.answer.error = -filter_answer(&in.request.data);
		(void)ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &out);
		remember(&in.request.data, result);
		count++;
	}
	return count;
}
