/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's side. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "wire/json.h"
#include "worker/parts.h"

int order_read(void *data, size_t len)
{
	char *at = data;
	while (len > 0) {
		ssize_t n = read(WORKER_JOBS_FD, at, len);
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
bool order_is_cancelled(const struct order *order)
{
	uint64_t cancelled = 0;
	bool is_this = false;
	while (read(WORKER_CANCEL_FD, &cancelled, sizeof(cancelled)) == sizeof(cancelled))
		is_this |= cancelled == order->head.number;
	return is_this;
}

const char *order_tenant(const struct order *order)
{
	return order->head.tenant[0] ? order->head.tenant : NULL;
}

const char *order_token(const struct order *order)
{
	return order->head.token[0] ? order->head.token : NULL;
}

int order_configure(const struct order *order, struct spec *spec, struct err *err)
{
	*err = order->post->err;
	spec->memory_most = order->head.memory_most;
	spec->cpu_most_ms = order->head.cpu_most_ms;
	return err->code != ERR_NONE ? -1 : engine_configure(spec, &order->post->config, err);
}

int tell_answer(const char *answer)
{
	struct events events = {
		.id = "", .fd = WORKER_JOBS_FD, .interrupt_fd = -1, .has_begun = true
	};
	return events_finish(&events, answer);
}

int tell_refusal(const struct err *err)
{
	auto_buf struct buf text;
	buf_init(&text, sizeof(err->text) * 8);
	(void)buf_printf(&text, WORK_REFUSAL "%d,\"message\":", (int)err->code);
	(void)json_quote(&text, err->text, strlen(err->text));
	(void)buf_printf(&text, "}}");
	return tell_answer(buf_text(&text));
}

static int do_languages(void)
{
	struct err err = { 0 };
	auto_json struct json_object *list = NULL;
	if (engine_languages(true, &list, &err) < 0)
		return tell_refusal(&err);
	auto_free char *text = json_print(list, false);
	return tell_answer(text);
}

/* ---- runs ---------------------------------------------------------------------------------------
 */

static void refuse(struct result *result, enum run_status status, const char *why)
{
	result->status = status;
	result_set_error(result, "setup", "%s", why);
}

static int read_spec(const struct order *order, struct spec *spec, struct err *err)
{
	const char *place = order->head.place;
	int r = spec_from_json(spec, order->text, order->head.len, err);
	if (r < 0 && place[0])
		return err_wrap(err, "%s", place);
	return r < 0 ? -1 : order_configure(order, spec, err);
}

static int do_run(const struct order *order)
{
	struct err err = { 0 };
	struct spec spec;
	struct result result;
	struct engine_rest rest = { 0 };
	struct engine_wishes wishes = { .interrupt_fd = WORKER_CANCEL_FD,
		.wants_version = true,
		.token = order_token(order),
		.memory = order->post->memory };
	spec_init(&spec);
	result_init(&result);
	struct events events = {
		.id = result.id, .fd = WORKER_JOBS_FD, .interrupt_fd = -1, .may_be_torn = true
	};
	events_follow(&events, &wishes.outlet);
	if (read_spec(order, &spec, &err) < 0)
		refuse(&result, STATUS_SETUP_ERROR, err.text);
	else if (order_is_cancelled(order))
		refuse(&result, STATUS_INTERRUPTED, "interrupted before it began");
	else
		(void)engine_run(&spec, &wishes, &result, NULL, &rest, &err);
	auto_free char *json = result_to_json(&result, &spec, false);
	int r = events_finish(&events, json);
	engine_clean(&rest);
	engine_look_ahead(order->post->memory);
	result_done(&result);
	spec_done(&spec);
	return r;
}

/* ---- one job after the other --------------------------------------------------------------------
 */

static int do_work(const struct order *order)
{
	switch (order->head.kind) {
	case WORK_RUN:
		return do_run(order);
	case WORK_LANGUAGES:
		return do_languages();
	case WORK_SESSION:
		return do_session(order);
	case WORK_TURN:
		return do_turn(order);
	case WORK_CHECK:
		return do_check(order);
	case WORK_RECORDS:
		return do_records(order);
	case WORK_INPUT:
	case WORK_INPUT_END:
		return 0; /* for a job that ended before it came */
	default:
		return -1;
	}
}

/* Who is idle takes the next cell when it comes, and gives it back when others want it. */
static void await_order(const struct post *post)
{
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = WORKER_JOBS_FD, .events = POLLIN },
			{ .fd = engine_ahead_fd(post->memory), .events = POLLIN | POLLRDHUP },
		};
		if (fds[1].fd < 0)
			return;
		int n = poll(fds, COUNT_OF(fds), -1);
		if (fds[0].revents || (n < 0 && errno != EINTR))
			return;
		if (n > 0)
			engine_hear_ahead(post->memory);
	}
}

static int serve_jobs(const struct post *post)
{
	struct order order = { .post = post };
	await_order(post);
	while (order_read(&order.head, sizeof(order.head)) == 1) {
		if (order.head.len > LIMIT_SPEC_BYTES)
			return 1;
		auto_free char *text = xcalloc(1, order.head.len + 1);
		order.text = text;
		if (order_read(text, order.head.len) != 1 || do_work(&order) < 0)
			return 1;
		await_order(post);
	}
	return 0;
}

int worker_serve(void)
{
	struct post post = { .memory = engine_memory_new() };
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN); /* a terminal's ^C is the owner's to handle */
	(void)fcntl(WORKER_CANCEL_FD, F_SETFL, O_RDONLY | O_NONBLOCK);
	(void)fcntl(WORKER_CANCEL_FD, F_SETFD, FD_CLOEXEC);
	(void)fcntl(WORKER_JOBS_FD, F_SETFD, FD_CLOEXEC);
	config_init(&post.config);
	(void)config_load(&post.config, &(struct config_wish){ 0 }, &post.err);
	config_pass_on(&post.config);
	int r = serve_jobs(&post);
	config_done(&post.config);
	engine_memory_free(post.memory);
	return r;
}
