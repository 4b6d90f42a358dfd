/* SPDX-License-Identifier: Apache-2.0 */
/* What ran here before, over HTTP. */
#include <string.h>

#include "base/own.h"
#include "model/units.h"
#include "server/routes.h"
#include "wire/json.h"

/* A parameter of the address as JSON: numbers are numbers. */
static struct json_object *value_of(const struct field *field, const char *text)
{
	int64_t number = 0;
	if (field->type == FIELD_COUNT && units_parse_count(text, &number) == 0)
		return json_object_new_int64(number);
	return json_new_string(text);
}

static struct json_object *read_query(const struct request *request)
{
	struct json_object *json = json_object_new_object();
	const struct field *field = NULL;
	for (size_t i = 0; (field = form_field(request->route->query, i)) != NULL; i++) {
		const char *text = request_query(request, field->name);
		if (text)
			(void)json_object_object_add(json, field->name, value_of(field, text));
	}
	return json;
}

/* Takes `json`. */
static void look_up(struct request *request, struct json_object *json)
{
	auto_json struct json_object *own = json;
	struct err err = { 0 };
	struct asked asked = { 0 };
	auto_free char *job = json_print(own, false);
	if (asked_read(&asked, WORK_RECORDS, job, strlen(job), &err) < 0)
		answer_err(request, MHD_HTTP_BAD_REQUEST, &err);
	else
		run_begin(
			request, &(struct run_wish){ .kind = WORK_RECORDS, .job = take_ptr(&job) });
	asked_done(&asked);
}

void route_history(struct request *request)
{
	look_up(request, read_query(request));
}

void route_execution(struct request *request)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "id", json_new_string(request->params[0]));
	look_up(request, json);
}
