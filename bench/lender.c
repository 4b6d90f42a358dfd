/* SPDX-License-Identifier: Apache-2.0 */
/* A keeper that lends, as the benchmark sees it. */
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "bench.h"
#include "loan/loan.h"
#include "model/limits.h"
#include "wire/json.h"

enum {
	ANSWER_MS = 20000,
	REST_MS = 1000,    /* who has work for longer is left at it, */
	REST_LESS_MS = 20, /* and who had so more than PATIENCE times is not waited for */
	PATIENCE = 3,
	RETURN_MS = 2000, /* a cell that is not cleared away by then is a failure */
	LOOK_NS = 1000000,
	STUCK_MS = 5000, /* nothing more will stand ready */
};

int lender_find(
	struct bench *bench, const char *socket, struct lender **ret_lender, struct err *err)
{
	char path[PATH_MAX];
	for (size_t i = 0; i < bench->lender_count; i++) {
		*ret_lender = &bench->lenders[i];
		if (strcmp(bench->lenders[i].socket, socket) == 0)
			return 0;
	}
	if (bench->lender_count == LENDERS_MAX)
		return err_set(err, ERR_LIMIT, "over %d lenders", LENDERS_MAX);
	loan_keeper_path(socket, path, sizeof(path));
	int fd = loan_connect(path);
	if (fd < 0)
		return err_sys(err, -fd, "connect to the keeper at '%s'", path);
	*ret_lender = &bench->lenders[bench->lender_count++];
	**ret_lender = (struct lender){ .socket = socket, .fd = fd };
	return 0;
}

void lender_close(struct lender *lender)
{
	own_close(&lender->fd);
}

static size_t get_count(struct json_object *json, const char *key)
{
	int64_t count = json_object_get_int64(json_object_object_get(json, key));
	return count > 0 ? (size_t)count : 0;
}

static int read_state(
	const struct loan_message *answer, struct lender_state *ret_state, struct err *err)
{
	auto_json struct json_object *json = NULL;
	TRY(json_read(answer->text, answer->len, LOAN_TEXT_MAX, LIMIT_FRAME_DEPTH, &json, err));
	*ret_state = (struct lender_state){ .parked = get_count(json, "parked"),
		.lent = get_count(json, "lent") };
	struct json_object *pools = json_object_object_get(json, "pools");
	size_t count =
		json_object_is_type(pools, json_type_array) ? json_object_array_length(pools) : 0;
	for (size_t i = 0; i < count; i++) {
		struct json_object *pool = json_object_array_get_idx(pools, i);
		size_t whole = get_count(pool, "whole");
		size_t wanted = get_count(pool, "wanted");
		ret_state->missing += wanted > whole ? wanted - whole : 0;
	}
	return 0;
}

/* How many sessions are held is told unasked. */
static int await_info(const struct lender *lender, struct loan_message *ret_answer)
{
	struct pollfd said = { .fd = lender->fd, .events = POLLIN };
	for (;;) {
		if (poll(&said, 1, ANSWER_MS) != 1 || loan_receive(lender->fd, ret_answer) <= 0)
			return -1;
		if (ret_answer->kind != LOAN_SESSION)
			return 0;
		loan_message_done(ret_answer);
	}
}

int lender_ask(const struct lender *lender, struct lender_state *ret_state, struct err *err)
{
	struct loan_message answer = { 0 };
	if (loan_send(lender->fd, LOAN_INFO, 0, NULL, 0, NULL, 0) < 0 ||
		await_info(lender, &answer) < 0)
		return err_set(
			err, ERR_BROKEN, "the keeper of '%s' does not answer", lender->socket);
	int r = answer.kind == LOAN_INFO
			? read_state(&answer, ret_state, err)
			: err_set(err, ERR_BROKEN, "the keeper's answer makes no sense");
	loan_message_done(&answer);
	return r;
}

static void pause_shortly(void)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	(void)nanosleep(&pause, NULL);
}

int lender_await_rest(struct lender *lender, struct err *err)
{
	bool is_patient = lender->restless_count < PATIENCE;
	int64_t deadline_us = clock_us() + (is_patient ? REST_MS : REST_LESS_MS) * 1000;
	struct lender_state state = { 0 };
	bool has_work = true;
	while (has_work && clock_us() < deadline_us) {
		pause_shortly();
		TRY(lender_ask(lender, &state, err));
		has_work = state.lent > 0 || state.missing > 0;
	}
	lender->restless_count += has_work;
	pause_shortly(); /* its zygotes have heard of the next cell and are at it */
	return 0;
}

int lender_await_return(const struct lender *lender, struct err *err)
{
	int64_t deadline_us = clock_us() + RETURN_MS * 1000;
	struct lender_state state = { 0 };
	do {
		TRY(lender_ask(lender, &state, err));
		if (clock_us() > deadline_us)
			return err_set(err, ERR_BROKEN, "a cell is still there after its end");
	} while (state.lent > 0);
	return 0;
}

int lender_wish(const struct lender *lender, const char *policy, long count, struct err *err)
{
	int r = loan_send(lender->fd, LOAN_WARM, (uint32_t)count, policy, strlen(policy), NULL, 0);
	return r < 0 ? err_sys(err, -r, "ask the keeper of '%s'", lender->socket) : 0;
}

int lender_park(const struct lender *lender, const char *policy, long count, long seconds,
	struct lender_state *ret_state, struct err *err)
{
	int64_t deadline_us = clock_us() + seconds * 1000000;
	int64_t grew_us = clock_us();
	size_t seen = 0;
	TRY(lender_wish(lender, policy, count, err));
	for (;;) {
		TRY(lender_ask(lender, ret_state, err));
		int64_t now_us = clock_us();
		if (ret_state->parked != seen)
			grew_us = now_us;
		seen = ret_state->parked;
		if ((seen >= (size_t)count && ret_state->missing == 0) || now_us > deadline_us ||
			now_us - grew_us > STUCK_MS * 1000)
			return 0;
		pause_shortly();
	}
}
