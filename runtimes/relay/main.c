/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotcell-relay [--shell] -- PROGRAM ARG… [--session]   serves the line of a session for a program
 * that cannot do so itself; see relay.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "relay/start.h"
#include "relay/talk.h"

int main(int argc, char **argv)
{
	struct relay relay = { .line_fd = order_open_line(), .talk = &talk_framed };
	int first = 1;
	if (first < argc && strcmp(argv[first], "--shell") == 0) {
		relay.talk = &talk_shell;
		first++;
	}
	if (first + 1 >= argc || strcmp(argv[first], "--") != 0) {
		(void)fprintf(stderr, "usage: %s [--shell] -- PROGRAM ARG…\n", argv[0]);
		return 2;
	}
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
