/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreters that guests are forked from. Guests of one share its hash seed and the layout of
 * its memory, so it is replaced after a number of them, and after a while. The next one loads while
 * the last one serves; without any, cells execute their interpreter themselves.
 */
#include "keeper/host.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "keeper/cell.h"

enum {
	GUESTS_MAX = 10000,
	AGE_MAX_US = 15 * 60 * 1000000,
	LOAD_WAIT_US = 60 * 1000000,
	RETRY_US = 10 * 1000000, /* before another one is started when the last one failed */
	RETIRE_MS = 1000,
};

/* Without privilege, an interpreter must be in the zygote's user namespace to reach its cells. */
static int open_owner(const struct keeper *keeper, int *ret_pidfd, struct err *err)
{
	const struct raising zygote = { .page = &keeper->template->base };
	if (keeper->mode == MODE_ROOT)
		return 0;
	if (jail_await(&zygote, STEP_USER_NAMESPACE, err) < 0)
		return page_failure(zygote.page, err);
	*ret_pidfd = pidfd_open(keeper->zygote.pid, 0);
	return *ret_pidfd < 0 ? err_sys(err, errno, "open the zygote's pidfd") : 0;
}

static int start(
	struct host *host, const struct keeper *keeper, const struct strings *argv, struct err *err)
{
	auto_fd int page_fd = -1;
	auto_fd int owner_pidfd = -1;
	void *page = NULL;
	host->started_us = clock_us();
	host->guest_count = 0;
	TRY(zygote_host(&host->zygote, argv, err));
	/* a page of its own: two raise the same walls, each reports */
	TRY(page_make(sizeof(*host->page), &page, &page_fd, err));
	host->page = page;
	memcpy(host->page, keeper->template, sizeof(*host->page));
	host->page->base.report = (struct report){ 0 };
	TRY(open_owner(keeper, &owner_pidfd, err));
	return zygote_template(&host->zygote, page_fd, owner_pidfd, err);
}

void host_init(struct host *host)
{
	*host = (struct host){ .zygote = { .sock = -1, .pid = -1, .pidfd = -1 } };
}

void host_stop(struct host *host)
{
	if (host->zygote.pid > 0)
		(void)kill(host->zygote.pid, SIGKILL);
	zygote_stop(&host->zygote);
	page_free(host->page, sizeof(*host->page));
	host->page = NULL;
}

/* One that is killed takes the guests along that it was asked for, and where it was just bearing
 * one, its helper may be left to somebody who does not bury it: then that cell never ends. When
 * nobody asks any more it has all of them come and leaves by itself. */
static void retire(struct host *host)
{
	struct pollfd end = { .fd = -1, .events = POLLIN };
	if (host->zygote.pid > 0)
		end.fd = pidfd_open(host->zygote.pid, 0);
	own_close(&host->zygote.sock);
	while (end.fd >= 0 && poll(&end, 1, RETIRE_MS) < 0 && errno == EINTR)
		;
	own_close(&end.fd);
	host_stop(host);
}

bool host_is_ready(const struct host *host)
{
	struct pollfd life = { .fd = host->zygote.sock };
	return host->page && poll(&life, 1, 0) == 0 &&
	       __atomic_load_n(&host->page->base.report.started_us, __ATOMIC_ACQUIRE) != 0;
}

int keeper_host(struct keeper *keeper, const struct strings *argv, struct err *err)
{
	if (start(&keeper->host, keeper, argv, err) == 0)
		return 0;
	host_stop(&keeper->host);
	return -1;
}

bool keeper_is_host(const struct keeper *keeper)
{
	return host_is_ready(&keeper->host);
}

int keeper_await_host(const struct keeper *keeper, struct err *err)
{
	const struct host *host = &keeper->host;
	int64_t deadline = clock_us() + LOAD_WAIT_US;
	while (!host_is_ready(host)) {
		struct pollfd life = { .fd = host->zygote.sock };
		if (!host->page || poll(&life, 1, 1) != 0)
			return err_set(err, ERR_BROKEN, "the interpreter ended: %.255s",
				host->page ? host->page->base.report.failed_text : "");
		if (clock_us() > deadline)
			return err_set(err, ERR_BROKEN, "the interpreter was not ready in time");
	}
	return 0;
}

static bool is_dead(const struct host *host)
{
	siginfo_t info = { 0 };
	return host->zygote.pid > 0 &&
	       waitid(P_PID, (id_t)host->zygote.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid != 0;
}

static bool is_worn(const struct host *host, int64_t now_us)
{
	return host_is_ready(host) &&
	       (host->guest_count >= GUESTS_MAX || now_us - host->started_us >= AGE_MAX_US);
}

void keeper_renew_host(struct keeper *keeper, const struct strings *argv)
{
	struct err err = { 0 };
	int64_t now_us = clock_us();
	if (is_dead(&keeper->host))
		host_stop(&keeper->host);
	if (is_dead(&keeper->next_host))
		host_stop(&keeper->next_host);
	if (host_is_ready(&keeper->next_host)) {
		retire(&keeper->host);
		keeper->host = keeper->next_host;
		host_init(&keeper->next_host);
	}
	bool is_needed = !keeper->host.page || is_worn(&keeper->host, now_us);
	int64_t last_us = keeper->next_host.started_us > keeper->host.started_us
				  ? keeper->next_host.started_us
				  : keeper->host.started_us;
	if (!is_needed || keeper->next_host.page || now_us - last_us < RETRY_US)
		return;
	if (start(&keeper->next_host, keeper, argv, &err) < 0)
		host_stop(&keeper->next_host);
}
