/* SPDX-License-Identifier: Apache-2.0 */
/* What ran here before: the records of the audit log, and what is kept of one run. A tenant sees
 * what was asked for with its token; our user's own sees all of it. */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "store/store.h"
#include "wire/json.h"
#include "wire/utf8.h"
#include "worker/parts.h"

enum { LIMIT_DEFAULT = 100 };

static int list(const struct order *order, const struct asked *asked,
	struct json_object **ret_answer, struct err *err)
{
	struct store_filter filter = { .status = asked->status,
		.before = asked->before,
		.token = order_tenant(order),
		.limit = asked->limit > 0 ? (size_t)asked->limit : LIMIT_DEFAULT };
	auto_json struct json_object *array = NULL;
	char quote[48];
	if (asked->since && !store_since(asked->since, filter.since))
		return err_set(err, ERR_INVALID,
			"since: '%s' is neither a time ago (90s, 10m, 2h, 3d) nor a date, for "
			"example 2h or 2026-11-15",
			utf8_line(asked->since, quote, sizeof(quote)));
	TRY(audit_list(&filter, &array, err));
	struct json_object *newest = json_object_new_array();
	for (size_t i = json_object_array_length(array); i-- > 0;)
		(void)json_object_array_add(
			newest, json_object_get(json_object_array_get_idx(array, i)));
	*ret_answer = json_object_new_object();
	json_put(*ret_answer, "executions", newest);
	return 0;
}

/* NULL: nothing of it is kept. */
static struct json_object *find_artifact(const char *id)
{
	struct err err = { 0 };
	char name[ARTIFACT_NAME_MAX];
	auto_json struct json_object *artifact = NULL;
	if (artifact_find(id, NULL, name, &err) < 0 || artifact_read(name, &artifact, &err) < 0)
		return NULL;
	const char *found = json_object_get_string(json_object_object_get(artifact, "id"));
	return found && strcmp(found, id) == 0 ? take_ptr(&artifact) : NULL;
}

static int show(const struct order *order, const struct asked *asked,
	struct json_object **ret_answer, struct err *err)
{
	const struct store_filter filter = {
		.id = asked->id, .token = order_tenant(order), .limit = 2
	};
	auto_json struct json_object *array = NULL;
	TRY(audit_list(&filter, &array, err));
	size_t count = json_object_array_length(array);
	if (count == 0)
		return err_set(
			err, ERR_MISSING, "there is no record of an execution '%s'", asked->id);
	if (count > 1)
		return err_set(err, ERR_INVALID,
			"id: more than one begins with '%s'; give more of it", asked->id);
	struct json_object *record = json_object_get(json_object_array_get_idx(array, 0));
	const char *id = json_object_get_string(json_object_object_get(record, "id"));
	json_put(record, "artifact", find_artifact(id));
	*ret_answer = record;
	return 0;
}

int do_records(const struct order *order)
{
	struct err err = { 0 };
	struct asked asked;
	auto_json struct json_object *answer = NULL;
	int r = asked_read(&asked, WORK_RECORDS, order->text, order->head.len, &err);
	if (r == 0)
		r = (asked.id ? show : list)(order, &asked, &answer, &err);
	asked_done(&asked);
	if (r < 0)
		return tell_refusal(&err);
	auto_free char *text = json_print(answer, false);
	return tell_answer(text);
}
