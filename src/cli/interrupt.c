/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/cli.h"

int cli_open_interrupts(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t signals;
	(void)sigemptyset(&signals);
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		struct sigaction action;
		if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			(void)sigaddset(&signals, numbers[i]);
	}
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

void cli_forget_interrupts(int interrupt_fd)
{
	struct signalfd_siginfo info;
	while (read(interrupt_fd, &info, sizeof(info)) > 0)
		;
}
