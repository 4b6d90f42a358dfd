/* SPDX-License-Identifier: Apache-2.0 */
/* What is told about a session. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "keeper/session.h"
#include "wire/json.h"

/* What a process has for itself alone, which is what ending it would give back. */
static struct json_object *private_kb(const struct runner *runner)
{
	char path[64];
	char text[4096];
	int64_t sum = 0;
	if (!runner || runner->pid <= 0)
		return NULL;
	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)runner->pid);
	if (io_read_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return NULL;
	static const char *const keys[] = { "\nPrivate_Clean:", "\nPrivate_Dirty:" };
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		const char *at = strstr(text, keys[i]);
		sum += at ? strtoll(at + strlen(keys[i]), NULL, 10) : 0;
	}
	return json_object_new_int64(sum);
}

struct json_object *point_describe(const struct point *point, bool is_whole)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "id", json_object_new_int64(point->id));
	json_put(json, "name", json_new_string(point->name[0] ? point->name : NULL));
	json_put(json, "parent", point->parent ? json_object_new_int64(point->parent) : NULL);
	json_put(json, "execution", json_object_new_uint64(point->execution));
	json_put(json, "created", json_object_new_int64(point->created));
	json_put(json, "is_automatic", json_object_new_boolean(point->is_automatic));
	json_put(json, "is_lost", json_object_new_boolean(point->is_lost));
	if (is_whole)
		json_put(json, "private_kb", private_kb(point->runner));
	return json;
}

static const struct errand *turn_of(const struct session *session)
{
	const struct errand *errand = session->family->errand;
	return errand && errand->session == session ? errand : NULL;
}

static struct json_object *describe_running(const struct session *session)
{
	const struct errand *errand = turn_of(session);
	if (!errand || errand->kind != ERRAND_TURN)
		return NULL;
	struct json_object *json = json_object_new_object();
	int64_t age_us = clock_us() - errand->since_us;
	json_put(json, "turn", json_object_new_int64(errand->number));
	json_put(json, "since", json_object_new_int64(time(NULL) - age_us / 1000000));
	json_put(json, "client", json_object_new_int64(errand->client));
	json_put(json, "is_attended", json_object_new_boolean(errand->caller != NULL));
	return json;
}

/* In a list of many sessions only their numbers. */
static struct json_object *list_points(const struct session *session, bool is_whole)
{
	struct json_object *array = json_object_new_array();
	for (const struct point *point = session->points; point; point = point->next)
		(void)json_object_array_add(array,
			is_whole ? point_describe(point, true) : json_object_new_int64(point->id));
	return array;
}

static struct json_object *list_family(const struct session *session)
{
	struct json_object *array = json_object_new_array();
	for (const struct session *other = session->family->members; other; other = other->sibling)
		if (other != session)
			(void)json_object_array_add(array, json_new_string(other->name));
	return array;
}

static struct json_object *memory_kb(const struct family *family)
{
	int64_t bytes = family->cell->has_group ? cgroup_memory(&family->cell->group) : -1;
	return bytes >= 0 ? json_object_new_int64(bytes / 1024) : NULL;
}

struct json_object *session_describe_check(const struct session *session)
{
	struct json_object *json = json_object_new_object();
	json_put(json, "check", json_tokener_parse(session->guard ? session->guard : "{}"));
	json_put(json, "id", json_new_string(session->id));
	json_put(json, "session", json_new_string(session->name));
	json_put(json, "language", json_new_string(session->language));
	return json;
}

struct json_object *session_describe(const struct session *session, enum detail detail)
{
	bool is_whole = detail == DETAIL_WHOLE;
	struct json_object *json = json_object_new_object();
	json_put(json, "name", json_new_string(session->name));
	json_put(json, "id", json_new_string(session->id));
	json_put(json, "language", json_new_string(session->language));
	const struct errand *errand = turn_of(session);
	/* one that has just started is told of while that is still under way */
	bool is_busy = errand && (errand->kind != ERRAND_START || !session->is_started);
	json_put(json, "status", json_new_string(is_busy ? "busy" : "idle"));
	json_put(json, "created", json_object_new_int64(session->created));
	json_put(json, "last_used", json_object_new_int64(session->last_used));
	json_put(json, "executions", json_object_new_uint64(session->executions));
	json_put(json, "idle", json_object_new_int64(session->idle_s));
	json_put(json, "lifetime", json_object_new_int64(session->lifetime_s));
	json_put(json, "undo", json_object_new_uint64(session->undo));
	json_put(json, "warm", json_object_new_boolean(session->is_warm));
	json_put(json, "memory_kb", memory_kb(session->family));
	json_put(json, "points", list_points(session, is_whole));
	json_put(json, "running", describe_running(session));
	json_put(json, "died", NULL);
	if (detail == DETAIL_LIST)
		return json;
	json_put(json, "limits", session->limits ? json_tokener_parse(session->limits) : NULL);
	json_put(json, "guard", session->guard ? json_tokener_parse(session->guard) : NULL);
	json_put(json, "private_kb", is_whole ? private_kb(session->live) : NULL);
	json_put(json, "covers", json_new_string(session_memory_names[session->memory]));
	json_put(json, "family", list_family(session));
	json_put(
		json, "current", session->current ? json_object_new_int64(session->current) : NULL);
	return json;
}
