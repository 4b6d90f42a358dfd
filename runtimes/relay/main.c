/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotcell-relay [--shell] -- PROGRAM ARG… [--session]   serves the line of a session for a program
 * that cannot do so itself; see relay.h.
 * hotcell-relay --beside SERVANT ARG… -- PROGRAM ARG…   becomes a program that has another at its
 * service; see beside.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "relay/beside.h"
#include "relay/start.h"
#include "relay/talk.h"

static int refuse(const char *name)
{
	(void)fprintf(stderr,
		"usage: %s [--shell] -- PROGRAM ARG…\n       %s --beside SERVANT ARG… -- PROGRAM "
		"ARG…\n",
		name, name);
	return 2;
}

static int serve_beside(char **argv)
{
	char **end = argv + 2;
	while (*end && strcmp(*end, "--") != 0)
		end++;
	if (end == argv + 2 || !*end || !end[1])
		return refuse(argv[0]);
	*end = NULL;
	int r = beside_execute(argv + 2, end + 1);
	(void)fprintf(stderr, "%s: cannot execute %s: %s\n", argv[0], end[1], strerror(-r));
	return 1;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--beside") == 0)
		return serve_beside(argv);
	struct relay relay = { .line_fd = order_open_line(), .talk = &talk_framed };
	int first = 1;
	if (first < argc && strcmp(argv[first], "--shell") == 0) {
		relay.talk = &talk_shell;
		first++;
	}
	if (first + 1 >= argc || strcmp(argv[first], "--") != 0)
		return refuse(argv[0]);
	if (relay.line_fd < 0) {
		(void)fprintf(stderr, "%s: descriptor 3 is no line of a keeper\n", argv[0]);
		return 2;
	}
	if (start_child(&relay, &argv[first + 1]) < 0) {
		order_say_ended(relay.line_fd, relay.why);
		return 1;
	}
	return relay_serve(&relay);
}
