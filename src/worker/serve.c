/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's side. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "engine/engine.h"
#include "worker/protocol.h"
#include "worker/worker.h"

/* 1: all of it is there; 0: the owner is gone. */
static int read_whole(int fd, void *data, size_t len)
{
	char *at = data;
	while (len > 0) {
		ssize_t n = read(fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		at += n;
		len -= (size_t)n;
	}
	return 1;
}

/* Takes what is said about earlier jobs out of the way: their ends have crossed it. */
static bool is_cancelled(uint64_t number)
{
	uint64_t cancelled = 0;
	bool is_this = false;
	while (read(WORKER_CANCEL_FD, &cancelled, sizeof(cancelled)) == sizeof(cancelled))
		is_this |= cancelled == number;
	return is_this;
}

static void refuse(struct result *result, enum run_status status, const char *why)
{
	result->status = status;
	result_set_error(result, "setup", "%s", why);
}

/* A request counts more than the settings. They are read when the worker starts; what is wrong with
 * them every job hears. */
struct settings {
	struct config config;
	struct err err; /* ERR_NONE: they are right */
};

static int read_spec(const struct settings *settings, const char *text, size_t len,
	struct spec *spec, struct err *err)
{
	TRY(spec_from_json(spec, text, len, err));
	*err = settings->err;
	return err->code != ERR_NONE ? -1 : engine_configure(spec, &settings->config, err);
}

static int run_job(const struct settings *settings, const char *text, size_t len, uint64_t number)
{
	struct err err = { 0 };
	struct spec spec;
	struct result result;
	struct report report = { 0 };
	struct engine_rest rest = { 0 };
	struct engine_wishes wishes = { .interrupt_fd = WORKER_CANCEL_FD, .wants_version = true };
	spec_init(&spec);
	result_init(&result);
	struct events events = { .id = result.id, .fd = WORKER_JOBS_FD, .interrupt_fd = -1 };
	events_follow(&events, &wishes.outlet);
	if (read_spec(settings, text, len, &spec, &err) < 0)
		refuse(&result, STATUS_SETUP_ERROR, err.text);
	else if (is_cancelled(number))
		refuse(&result, STATUS_INTERRUPTED, "interrupted before it began");
	else
		(void)engine_run(&spec, &wishes, &result, &report, &rest, &err);
	auto_free char *json = result_to_json(&result, &spec, false);
	int r = events_finish(&events, json);
	engine_clean(&rest);
	result_done(&result);
	spec_done(&spec);
	return r;
}

static int serve_jobs(const struct settings *settings)
{
	struct work_head head;
	while (read_whole(WORKER_JOBS_FD, &head, sizeof(head)) == 1) {
		if (head.len > LIMIT_SPEC_BYTES)
			return 1;
		auto_free char *text = xcalloc(1, head.len + 1);
		if (read_whole(WORKER_JOBS_FD, text, head.len) != 1 ||
			run_job(settings, text, head.len, head.number) < 0)
			return 1;
	}
	return 0;
}

int worker_serve(void)
{
	struct settings settings = { 0 };
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN); /* a terminal's ^C is the owner's to handle */
	(void)fcntl(WORKER_CANCEL_FD, F_SETFL, O_RDONLY | O_NONBLOCK);
	(void)fcntl(WORKER_CANCEL_FD, F_SETFD, FD_CLOEXEC);
	(void)fcntl(WORKER_JOBS_FD, F_SETFD, FD_CLOEXEC);
	config_init(&settings.config);
	(void)config_load(&settings.config, &(struct config_wish){ 0 }, &settings.err);
	config_pass_on(&settings.config);
	int r = serve_jobs(&settings);
	config_done(&settings.config);
	return r;
}
