/* SPDX-License-Identifier: Apache-2.0 */
/* How a denied call is named and answered. Answers follow what a kernel without the feature would
 * say, because programs know how to live with that. */
#include "jail/filter.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static int compare_nr(const void *key, const void *member)
{
	int nr = *(const int *)key;
	int other = ((const struct denied_call *)member)->nr;
	return (nr > other) - (nr < other);
}

const struct denied_call *filter_denied_call(int nr)
{
	return bsearch(&nr, filter_denied_calls, filter_denied_count,
		sizeof(filter_denied_calls[0]), compare_nr);
}

static int answer_inet(int type, int protocol)
{
	bool is_plain_type = type == SOCK_STREAM || type == SOCK_DGRAM;
	bool is_plain_protocol =
		protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
	return is_plain_type && is_plain_protocol ? ENETUNREACH : EPROTONOSUPPORT;
}

static int answer_socket(int domain, int type, int protocol)
{
	switch (domain) {
	case AF_INET:
	case AF_INET6:
		return answer_inet(type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC), protocol);
	case AF_UNIX:
		return ESOCKTNOSUPPORT;
	case AF_NETLINK:
		return EPROTONOSUPPORT;
	default:
		return EAFNOSUPPORT;
	}
}

int filter_answer(const struct seccomp_data *data)
{
	if (data->nr == SYS_socket)
		return answer_socket((int)data->args[0], (int)data->args[1], (int)data->args[2]);
	const struct denied_call *call = filter_denied_call(data->nr);
	return call ? call->answer_errno : EPERM;
}

const char *filter_call_name(int nr)
{
	return nr >= 0 && (size_t)nr < filter_call_count ? filter_call_names[nr] : NULL;
}
