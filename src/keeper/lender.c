/* SPDX-License-Identifier: Apache-2.0 */
/* The lender's account of itself. */
#include "keeper/lender.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/weight.h"
#include "keeper/terms.h"
#include "wire/json.h"

size_t lender_parked(const struct lender *lender)
{
	size_t count = 0;
	for (const struct pool *pool = lender->pools; pool; pool = pool->next)
		count += pool->parked_count;
	return count;
}

/* How many stand, and are of the form that was asked for, none lesser. */
static size_t whole_count(const struct pool *pool)
{
	size_t count = 0;
	for (size_t i = 0; i < pool->parked_count; i++)
		count += cell_stands(pool->parked[i]) &&
			 pool->parked[i]->walls.form == pool->policy.form;
	return count;
}

static struct json_object *describe_pool(const struct pool *pool)
{
	struct json_object *json = json_object_new_object();
	const char *runtime = pool->policy.runtime ? strrchr(pool->policy.runtime, '/') : NULL;
	json_put(json, "runtime", json_new_string(runtime ? runtime + 1 : NULL));
	json_put(json, "form", json_new_string(cell_form_names[pool->policy.form]));
	json_put(json, "parked", json_object_new_int64((int64_t)pool->parked_count));
	json_put(json, "whole", json_object_new_int64((int64_t)whole_count(pool)));
	json_put(json, "wanted", json_object_new_int64((int64_t)pool->wanted));
	json_put(json, "lent", json_object_new_int64((int64_t)pool->lent));
	json_put(json, "served", json_object_new_int64((int64_t)pool->served));
	json_put(json, "missed", json_object_new_int64((int64_t)pool->missed));
	return json;
}

static struct json_object *describe_loan(const struct source *loan)
{
	struct json_object *json = json_object_new_object();
	const char *path = loan->pool->policy.runtime;
	const char *runtime = path ? strrchr(path, '/') : NULL;
	bool is_dying = loan->kind != SOURCE_LOAN;
	bool is_weighed = !is_dying && loan->cell->has_group;
	int64_t memory = is_weighed ? cgroup_memory(&loan->cell->group) : -1;
	uid_t uid = 0;
	pid_t pid = 0;
	if (!is_dying)
		(void)loan_is_trusted(loan->fd, &uid, &pid);
	json_put(json, "runtime", json_new_string(runtime ? runtime + 1 : NULL));
	json_put(json, "state",
		json_new_string(is_dying         ? "ending"
				: loan->ahead_us ? "held"
						 : "lent"));
	json_put(json, "seconds", json_object_new_int64((clock_us() - loan->begun_us) / 1000000));
	json_put(json, "memory_kb", memory < 0 ? NULL : json_object_new_int64(memory / 1024));
	json_put(json, "client", json_object_new_int64(pid));
	return json;
}

/* Of many the newest: the answer is one message. */
static struct json_object *describe_loans(const struct lender *lender)
{
	enum { TOLD_MAX = 200 };
	struct json_object *list = json_object_new_array();
	const struct source *loan = lender->loans;
	for (size_t told = 0; loan && told < TOLD_MAX; loan = loan->next) {
		if (loan->cell)
			(void)json_object_array_add(list, describe_loan(loan));
		told += loan->cell != NULL;
	}
	return list;
}

void lender_tell(const struct lender *lender, int fd, bool is_whole)
{
	auto_json struct json_object *json = json_object_new_object();
	struct json_object *pools = json_object_new_array();
	json_put(json, "pid", json_object_new_int64(getpid()));
	json_put(json, "parked", json_object_new_int64((int64_t)lender_parked(lender)));
	size_t held = lender->ahead_count + lender->seat_count;
	json_put(json, "lent", json_object_new_int64((int64_t)(lender->loan_count - held)));
	json_put(json, "ahead", json_object_new_int64((int64_t)lender->ahead_count));
	json_put(json, "seats", json_object_new_int64((int64_t)lender->seat_count));
	json_put(json, "again", json_object_new_uint64(lender->again));
	json_put(
		json, "sessions", json_object_new_int64((int64_t)sessions_count(lender->sessions)));
	uint64_t served = lender->served;
	uint64_t missed = lender->missed;
	for (const struct pool *pool = lender->pools; pool; pool = pool->next) {
		served += pool->served;
		missed += pool->missed;
	}
	json_put(json, "served", json_object_new_uint64(served));
	json_put(json, "missed", json_object_new_uint64(missed));
	json_put(json, "memory_kb", json_object_new_int64(weight_kb()));
	json_put(json, "most_parked", json_object_new_int64(lender->options.most_parked));
	json_put(json, "most_sessions", json_object_new_int64(lender->options.most_sessions));
	json_put(json, "pools", pools);
	if (is_whole)
		json_put(json, "loans", describe_loans(lender));
	for (const struct pool *pool = lender->pools; pool; pool = pool->next)
		(void)json_object_array_add(pools, describe_pool(pool));
	auto_free char *text = json_print(json, false);
	(void)loan_send(fd, LOAN_INFO, 0, text, strlen(text), NULL, 0);
}
